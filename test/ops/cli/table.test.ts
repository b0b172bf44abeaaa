/** Tables: full width in pipes, as narrow as the terminal otherwise, always with all their content. */
import { expect, it, onTestFinished } from 'vitest';
import { hanging, tableOf } from '../../../src/ops/cli/output.ts';
import { ARGENTINA, DEVICE, eventually, MEXICO, OPS_TOKEN, POINT } from '../../kit.ts';
import { startMoves } from '../moves/kit.ts';
import { inTerminal } from './terminal.ts';

const head = ['at', 'what'];
const rows = [
  [
    '2026-11-22T10:16:19.500Z',
    'The till called point.create_intent (stage orders, lane orders) and was answered 200 after 95.6 ms',
  ],
  ['never', `x${'y'.repeat(70)}z\na second line`],
];
const lines = (width: number) => tableOf(head, rows, width).split('\n');

it('is as wide as it has to be where nothing ends', () => {
  expect(lines(Number.POSITIVE_INFINITY)[3]).toContain(' after 95.6 ms ');
});

it.each([200, 80, 60, 40])('fits into %i columns', (width) => {
  for (const line of lines(width)) expect(line.length).toBeLessThanOrEqual(width);
});

it.each([80, 40])('makes a few lines of each row where %i columns have no room for all', (width) => {
  const wide = Array.from({ length: 8 }, (_, nth) => `column-${nth}`);
  const table = tableOf(
    wide,
    [1, 2].map((row) => wide.map((name) => `${name} of row ${row}`)),
    width,
  ).split('\n');
  for (const line of table) expect(line.length).toBeLessThanOrEqual(width);
  for (const row of [1, 2])
    for (const name of wide) expect(table.some((line) => line.includes(`${name} of row ${row}`))).toBe(true);
});

it('loses nothing, also where there is no room at all', () => {
  for (const width of [60, 5]) {
    const letters = lines(width)
      .join('')
      .replace(/[^a-z]/g, '');
    for (const letter of 'xyz') expect(letters.split(letter).length).toBe(rows.join('').split(letter).length);
  }
});

it('keeps words whole where they have room', () => {
  expect(lines(80).join('\n')).toContain('point.create_intent');
});

it('hangs text beside a margin, and leaves it alone where nothing ends', () => {
  expect(hanging('one two three\nfour', '    ', 20)).toBe('one two three\n    four');
  expect(hanging('one two three four', '    ', 18)).toBe('one two three\n    four');
  expect(hanging('one two\nthree', '  ', Number.POSITIVE_INFINITY)).toBe('one two\n  three');
  expect(hanging('one two three four five', '    ', 10)).toBe('one two three four five');
});

it('between two cells alone is more than one space, so that a name imitates none', () => {
  const id = '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10';
  const name = ' Sol   state: paid\n \u00a0 x ';
  expect(tableOf(['merchant', 'sale', 'order'], [[name, id, id]], 80)).toBe(
    `merchant: Sol state: paid x   sale: ${id}\n  order: ${id}\n`,
  );
});

it('keeps an id whole, so that it can be copied, and leaves out what is empty', () => {
  const id = '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10';
  const heads = ['notice', 'merchant', 'made', 'topic', 'about', 'state', 'attempts', 'last'];
  const notice = [id, '700100200\nCafé Sur', '2026-11-18T03:00:00Z', 'point', id, 'pending', 1, ''];
  expect(tableOf(heads, [notice, notice], 80)).toBe(
    Array(2)
      .fill(
        `notice: ${id}   merchant: 700100200 Café Sur
  made: 2026-11-18 03:00:00 UTC   topic: point
  about: ${id}   state: pending   attempts: 1
`,
      )
      .join('\n'),
  );
});

it('fits the tables of the fleet into a terminal of 80 columns, with what needs attention and why', async () => {
  const bench = await startMoves({ PUENTE_MOVES_SECOND_APPROVER: 'true', PUENTE_ROUTING_DEFAULT_STAGE: 'orders' });
  onTestFinished(() => bench.close());
  for (const merchant of [ARGENTINA, MEXICO]) await bench.till(`${POINT}/devices`, { merchant });
  await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { merchant: MEXICO, body: { amount: 1500 } });
  await bench.atTerminal('pay', { merchant: MEXICO });
  const [notice] = await eventually(
    async () => ((await bench.ops('/api/notices')).body as { notices: { id: string }[] }).notices, // the API's shape
    ({ length }) => length > 0,
  );
  await bench.move({ stage: 'legacy' });
  await bench.move({ stage: 'shadow' });
  const env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: bench.app.ops_url };
  const inside = { fleet: ARGENTINA, 'merchants list': ARGENTINA, 'moves list': ARGENTINA, 'notices list': notice?.id };
  for (const [words, part = 'an id'] of Object.entries(inside)) {
    const program = inTerminal([process.execPath, 'bin/puente.js', ...words.split(' ')], env, 80);
    expect(await program.ended()).toBe(0);
    const shown = program.shown().split(/\r?\n/);
    expect([words, shown.filter((line) => line.length > 80)]).toEqual([words, []]);
    expect(shown.some((line) => line.includes(part))).toBe(true);
    if (words === 'fleet') expect(shown.find((line) => line.includes(ARGENTINA))).toContain('waiting move');
  }
});
