/** The selection of merchants: one schema for every row that takes several, in JSON and as people write it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { opsRoutes } from '../../src/ops/api/api.ts';
import { commandRows } from '../../src/ops/api/rows.ts';
import { bulkItems, withoutNames } from '../../src/ops/moves/typed-lists.ts';
import { ARGENTINA, BRAZIL, CHILE, EVA } from '../kit.ts';
import { openForAll } from '../open.ts';
import { command as run } from './moves/command.ts';
import { messageOf, startMoves } from './moves/kit.ts';

const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));
beforeAll(async () => {
  for (const merchant of [ARGENTINA, BRAZIL, CHILE]) await bench.move({ stage: 'shadow' }, EVA, merchant);
  for (const merchant of [ARGENTINA, BRAZIL]) await bench.notify(merchant, { tags: ['north'] });
});

const reason = 'a test selects';
let day = 0;
/** The rest of a call of each row, and the merchants that its answer is about. */
const ROWS: Record<string, { rest: () => Record<string, unknown>; about: (answer: never) => string[] }> = {
  'POST /api/bulk': {
    rest: () => ({ target: { stage: 'shadow' }, reason }),
    about: ({ items }: { items: { merchant_id: string }[] }) => items.map(({ merchant_id }) => merchant_id),
  },
  'POST /api/ramps/preview': {
    rest: () => ({ steps: [50], soak_ms: 60_000, min_sales: 0 }),
    about: ({ merchants }: { merchants: { merchant_id: string }[] }) => merchants.map((one) => one.merchant_id),
  },
  'POST /api/brownouts': {
    rest: () => {
      const from = Date.now() + ++day * 86_400_000;
      return { from: new Date(from).toISOString(), until: new Date(from + 60_000).toISOString(), reason };
    },
    about: ({ merchants }: { merchants: string[] }) => merchants,
  },
  'GET /api/plan/export': {
    rest: () => ({}),
    about: ({ text }: { text: string }) => [...text.matchAll(/id: "?(\d+)/g)].map(([, id = '']) => id),
  },
};

async function ask(row: string, whom: Record<string, unknown>) {
  const [method = '', path = ''] = row.split(' ');
  const fields = { ...whom, ...ROWS[row]?.rest() };
  if (method === 'POST') return bench.as(EVA, method, path, fields);
  return bench.as(EVA, method, `${path}?${new URLSearchParams(fields as Record<string, string>)}`);
}

it('is the same in every row that takes several merchants', () => {
  const several = commandRows.filter(({ properties: { merchants } }) => merchants?.items?.type === 'string');
  const names = several.map(({ method, path }) => `${method} ${path}`);
  expect(names.toSorted()).toEqual([...Object.keys(ROWS), 'POST /api/ramps', 'POST /api/rollback-by-alert'].toSorted());
  const written = several.map(({ properties: { merchants, where } }) => [
    merchants?.description,
    JSON.stringify(where),
  ]);
  expect(new Set(written.map(String)).size).toBe(1);
  expect(commandRows.filter(({ properties: { where } }) => where !== undefined)).toEqual(several);
  expect(opsRoutes).toHaveLength(commandRows.length);
});

describe.each(Object.keys(ROWS))('%s', (row) => {
  it.each([
    [{ merchants: `${BRAZIL},${CHILE}` }, [BRAZIL, CHILE]],
    [{ merchants: ` ${BRAZIL}  ${CHILE}, ${BRAZIL}\n` }, [BRAZIL, CHILE]],
    [{ where: 'tag=north' }, [ARGENTINA, BRAZIL]],
    [{ where: 'stage=shadow, tag=north' }, [ARGENTINA, BRAZIL]],
    [{ where: 'tag=north', merchants: `${CHILE} ${BRAZIL}` }, [BRAZIL]],
  ])('takes %j', async (whom, chosen) => {
    const answer = await ask(row, whom);
    expect([answer.status, ROWS[row]?.about(answer.body as never)], answer.text).toEqual([200, chosen]);
  });

  it.each([
    [{ merchants: '70010020' }, 404, `The merchant 70010020 was never seen`],
    [{ merchants: '70010020' }, 404, `Near it: ${ARGENTINA}`],
    [{ merchants: 'north' }, 400, 'merchants.0: '],
    [{ merchants: `${BRAZIL} (Café)\n${CHILE} (Sur), ${ARGENTINA}O (Norte)` }, 400, `Line 2 can't be read`],
    [{ merchants: `${BRAZIL} (Café)\n${CHILE}O (Sur)` }, 400, 'merchants.1: '],
    [{ where: 'north' }, 400, 'where: conditions are written stage=shadow'],
    [{ where: '' }, 400, 'where: conditions are written stage=shadow'],
    [{ where: 'colour=red' }, 400, 'where.colour is not a known field; allowed is stage, verdict, site, tag'],
    [{ where: 'stage=shadow,stage=orders' }, 400, 'where.stage'],
    [{ where: 'tag=south' }, 400, 'No merchant matches'],
  ])('refuses %j', async (whom, status, says) => {
    const answer = await ask(row, whom);
    expect([answer.status, messageOf(answer)]).toEqual([status, expect.stringContaining(says)]);
  });

  it('takes JSON as programs send it', async () => {
    if (row.startsWith('GET')) return;
    const answer = await ask(row, { merchants: [BRAZIL, CHILE], where: { tag: 'north' } });
    expect(ROWS[row]?.about(answer.body as never)).toEqual([BRAZIL]);
  });
});

describe('commands', () => {
  const steps = ['--steps', '50', '--soak', '1m', '--min-sales', '0', '--dry-run', '--json'];

  it.each([
    [['bulk', 'start', '--stage', 'shadow', '--reason', reason, '--json']],
    [['ramp', ...steps]],
    [['plan', 'export', '--json']],
  ])('%j takes A,B as A B, and conditions', async (command) => {
    const of = async (...whom: string[]) => {
      const words = command[0] === 'ramp' ? 1 : 2;
      const env = { PUENTE_OPS_TOKEN: EVA.token, PUENTE_OPS_URL: bench.app.ops_url };
      const { out } = await run([...command.slice(0, words), ...whom, ...command.slice(words)], env);
      return new Set(out.match(/7001\d{5}/g));
    };
    expect(await of(`${BRAZIL},${CHILE}`)).toEqual(new Set([BRAZIL, CHILE]));
    expect(await of(BRAZIL, CHILE)).toEqual(new Set([BRAZIL, CHILE]));
    expect(await of(`${BRAZIL} (Padaria "Sol", Centro), ${CHILE} (Café (Sur) 24)`)).toEqual(new Set([BRAZIL, CHILE]));
    expect(await of('--where', 'tag=north', '--where', 'stage=shadow')).toEqual(new Set([ARGENTINA, BRAZIL]));
  });
});

it('a line of a list has one merchant or several, with a target of their own or none', () => {
  expect(bulkItems('1,2 3\n4; 5 canary 2.5 # week 1\n6 orders')).toEqual([
    ...['1', '2', '3'].map((merchant_id) => ({ merchant_id })),
    ...['4', '5'].map((merchant_id) => ({ merchant_id, stage: 'canary', share: 2.5 })),
    { merchant_id: '6', stage: 'orders' },
  ]);
  for (const line of ['1 canary 5 6', 'canary 5', '1 5%'])
    expect(() => bulkItems(line)).toThrow("Line 1 can't be read");
});

it.each([
  'Café Sur',
  'Padaria, Centro; Norte',
  'Café (Sur)',
  'Loja #2 (24 horas) Norte',
  'Café :)',
  'Café :( Sur',
  'Loja 2 (Norte)',
  'Café (Sur) 24 h',
  'Loja (Sul) 2 (Norte)',
  '(700100299), canary',
])('a line of a list may have the name %s beside an id, as commands and pages show it', (name) => {
  expect(bulkItems(`1 (${name}), 2 (${name}) canary 5 # week (1)\n3 (${name}) 4`)).toEqual([
    ...['1', '2'].map((merchant_id) => ({ merchant_id, stage: 'canary', share: 5 })),
    ...['3', '4'].map((merchant_id) => ({ merchant_id })),
  ]);
});

it.each([
  ['1 (Café Sur', 1],
  [`1 (${'a'.repeat(100)})`, 1],
  ['1 (Café) Sur', 1],
  ['1 (Café), 2O (Sur)', 1],
  ['1 (Café), 2O (Sur) canary 5', 1],
  ['1 (Café), 2(Sur)', 1],
  ['1 (Café), (Sur)', 1],
  ['1 (Café\n2 (Sur)', 1],
  ['1 (Café, 2 (Sur)', 1],
  ['1 (Café 2(Sur) canary 5', 1],
  ['1 (Café, 2O (Sur)', 1],
  ['1 (A (b), 2 (C) d)', 1],
  ['1 (A (b), 2, 3 (C))', 1],
  ['1 (Café (Sur), 2O (Norte))', 1],
  ['1 (Café (Sur) 700100300 (Norte))', 1],
  ['1 (Café (Sur) 700100300, (Norte))', 1],
  ['1 (Café (Sur); 2 (Norte))', 1],
  ['1 (Café, 700100300 (Sur :))', 1],
  ['1 (Loja) #2 (24 horas) Norte), 2 (Café)', 1],
  ['3 # (a) 4\n1 (Loja) #2 (b) Norte), 2', 2],
  ['3 (Café), 4\n5 canary 5 # 6 (\n7 (Café), 1 (Sur', 3],
])('a list that may hide a merchant in a name, or can be read in two ways, is refused: %j', (list, line) => {
  for (const read of [bulkItems, withoutNames])
    expect(() => read(list)).toThrow(`Line ${line} can't be read: it is not certain where the name beside 1 ends`);
});

it('a list with a name before its id is refused', () => {
  expect(() => bulkItems('(Café) 1')).toThrow("Line 1 can't be read");
});
