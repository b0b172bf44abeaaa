/** What commands say to who judges a migration: evidence, a sale that is lost, reports, backups; each in a golden file. */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Preview } from '../../../src/ops/moves/preview.ts';
import { ARGENTINA, BRAZIL, clockOf, DEVICE, EVA, eventually, MEXICO, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { LEFT_IN_DOUBT } from '../../proxy/http/till.ts';
import { HOUSE, puente } from '../../run-cli.ts';
import { lines } from '../capture/files.ts';
import { command } from '../moves/command.ts';
import { startMoves } from '../moves/kit.ts';
import { shift as shiftOn } from './golden.ts';

let now = Date.parse('2026-11-18T09:00:00Z');
const clock = { ...clockOf(() => now), monotonic: () => performance.now() };
const bench = openForAll(() => startMoves({ PUENTE_ROUTING_DEFAULT_STAGE: 'shadow' }, { clock }));
/** Its clock is upstream's, as doctor wants it. */
const healthy = openForAll(() => startMoves());
const folder = mkdtempSync(join(tmpdir(), 'puente-records-'));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const shift = (on = bench, run = command) =>
  shiftOn({
    on,
    run,
    turn: () => (now += 1000),
    masks: () => [
      [`${folder}/`, ''],
      [/puente-\w{8}-\d{8}T\d{9}Z\.db/g, 'BACKUP'],
      [/\b[\d.]+ (?:[KMGT]iB|B\b)/g, 'N KiB'],
      [/(?<=N KiB +│ +)\d+/g, 'N'],
      // Said while it takes long.
      [/\nbackup: copying.*/g, ''],
      [/(Puente|Node|SQLite) \d[\d.]+/g, '$1 VERSION'],
      [/(?<=schema (?:\d+ of )?)\d+/g, 'N'],
      [/(?<=replaced-)\w+/g, 'TIME'],
      [/\d+ s (?:ahead of|behind) the upstream/g, 'N s off'],
      [/^(LIM-01 .*\n.*\n.*\n\n)(?:LIM-.*\n.*\n.*\n\n)+/gm, '$1…\n\n'],
      [on.data_dir, 'data'],
      // The revision of a sale counts its look-ups.
      [/(?<=--expected )[1-9]\d*/g, 'N'],
      [/(?<![\w-])[0-9a-f]{12}\b/g, 'REVISION'],
    ],
  });
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
const answered = async <View>(path: string): Promise<View> => (await bench.ops(path)).body as View; // the API's shape

it('evidence: what is lost, covered, unknown, refused, and how a difference is judged', async () => {
  const { ana, ben, golden } = shift();
  for (const line of ['losses', 'coverage 700100200', 'unknowns', 'verdicts', 'differences list']) await ana(line);
  const made = await bench.till(INTENTS, { body: { amount: 1500, tip: 100 }, headers: { 'x-corporation-id': '9' } });
  const { id } = made.body as { id: string }; // it was created
  await bench.till(`${INTENTS}/${id}`, { method: 'DELETE' });
  await bench.till(INTENTS, { merchant: BRAZIL, body: { amount: 100, payment: { type: 'voucher_card' } } });
  await bench.notify(ARGENTINA, { name: 'Café Sur' });
  const { differences } = await eventually(
    () => answered<{ differences: { signature: string }[] }>(`/api/differences?merchant=${BRAZIL}`),
    (found) => found.differences.length > 0,
  );
  await eventually(
    () => answered<{ verdicts: object[] }>('/api/verdicts'),
    ({ verdicts }) => verdicts.length > 1,
  );
  for (const line of ['losses', 'losses --merchant 700100200 --advice', 'unknowns', 'verdicts']) await ana(line);
  await ana('coverage 700100200 --state different');
  await ana('coverage 700100200 --operation point.create_intent');
  await ana('differences list');
  const of = `700100300 ${differences[0]?.signature}`;
  await ana(`differences show ${of}`);
  await ana('differences show 700100300 0a1b2c3d4e5f6071');
  await ana(`differences judge ${of} fixed --note "the till was mended"`);
  await ben(`differences judge ${of} accepted --note "agreed with the shop"`);
  await ben(`differences judge ${of} accepted --until 2026-11-01T00:00:00Z --note "agreed with the shop"`);
  await ben(`differences judge ${of} accepted --until 2027-11-01T00:00:00Z --note "agreed with the shop"`);
  await ben(`differences judge ${of} accepted --until 2026-12-01T00:00:00Z --note "agreed with the shop"`);
  await ben(`differences judge ${of} accepted --until 2026-12-01T00:00:00Z --note "agreed with the shop"`);
  await ben(`differences judge ${of} explained --revision 1 --note "agreed with the shop"`);
  await ana('can-migrate 700100300');
  await golden('evidence');
});

it('a preview counts the refusals of orders that legacy did not make, and names those that it made, too', async () => {
  const voucher = { merchant: BRAZIL, body: { amount: 100, payment: { type: 'voucher_card' } } };
  const of = `merchant=${BRAZIL}`;
  const verdicts = async () =>
    (await answered<{ verdicts?: { count: number }[] }>(`/api/verdicts?${of}`)).verdicts ?? [];
  const callsOf = (rows: { count: number }[]) => rows.reduce((sum, { count }) => sum + count, 0);
  const before = callsOf(await verdicts());
  await bench.till(INTENTS, voucher);
  const refusal = { method: 'POST', path: INTENTS, kind: 'error', status: 422, code: 'bad', times: 1 };
  await bench.control('/faults', { body: refusal });
  expect((await bench.till(INTENTS, voucher)).status).toBe(422);
  // Refused by both alone: a move changes nothing for it.
  expect((await bench.till(INTENTS, { merchant: BRAZIL, body: { amount: 'x' } })).status).toBe(400);
  await eventually(verdicts, (rows) => callsOf(rows) === before + 3);
  const path = `/api/merchants/${BRAZIL}/stage/preview?stage=orders&override=true`;
  const { judgement } = await answered<{ judgement: { preview: Preview } }>(path);
  const operation = 'point.create_intent';
  expect(judgement.preview.predicted_refusals).toMatchObject([{ operation, count: before + 1, refused_on_legacy: 1 }]);
  const ana = { PUENTE_OPS_TOKEN: EVA.token, PUENTE_OPS_URL: bench.app.ops_url };
  const { out } = await command(['stage', BRAZIL, 'orders', '--dry-run'], ana);
  expect(out).toContain('(and 1 that legacy refused, too)');
});

it('a sale that is in doubt until it is lost, and accepted', async () => {
  const { ana, ben, golden } = shift();
  await bench.move({ stage: 'orders', override: true }, EVA, MEXICO);
  await bench.control('/faults', { body: { ...LEFT_IN_DOUBT, times: 'always' } });
  const body = { amount: 2599, additional_info: { external_reference: 'mesa 9' } };
  await bench.till(INTENTS, { merchant: MEXICO, body });
  await ana('trace "mesa 9"');
  const { sales } = await answered<{ sales: { legacy_id: string }[] }>('/api/sales?state=in_doubt');
  const id = sales[0]?.legacy_id;
  await ben(`sales acknowledge ${id} --expected 0 --reason "refunded in cash"`);
  await ana('drain 700100400');
  await eventually(
    () => {
      now += 60_000;
      return answered<{ sales: object[] }>('/api/sales?state=lost');
    },
    (found) => found.sales.length > 0,
  );
  await bench.control('/faults', { method: 'DELETE' });
  await ana('sales --state lost');
  await ana('trace "mesa 9"');
  await ana('can-migrate 700100400');
  const told = await ana(`sales disagreements ${id}`);
  const accept = `sales acknowledge ${id} --expected ${/--expected (\d+)/.exec(told)?.[1]}`;
  await ben(`sales acknowledge ${id} --expected 0 --reason "refunded in cash"`);
  await ben(`${accept} --reason "refunded in cash, case 1234"`);
  await ben(`${accept} --reason "once more"`);
  await ana('sales disagreements nothing');
  await ben('reconcile --merchant 700100400');
  await golden('lost');
});

it('reports: written, compared with an earlier one and with the time before', async () => {
  const { ana, golden } = shift();
  now = Date.parse('2026-11-18T20:00:00Z'); // after all that was waited for
  await ana(`report 700100200 --since 2026-11-18T00:00:00Z --format json --output ${folder}/before.json`);
  now += 3_600_000;
  await bench.till(INTENTS, { body: { amount: 2500 } });
  await bench.notify(ARGENTINA, { safety_stop: 'armed' });
  await eventually(
    () => answered<{ verdicts: { count: number }[] }>('/api/verdicts?merchant=700100200'),
    ({ verdicts }) => verdicts.some(({ count }) => count > 1),
  );
  await ana(`report 700100200 --since 2026-11-18T00:00:00Z --format json --output ${folder}/after.json`);
  await ana(`report diff ${folder}/before.json ${folder}/after.json`);
  const { decisions, left_out, ...after } = JSON.parse(readFileSync(`${folder}/after.json`, 'utf8'));
  const cut = { ...after, decisions: decisions.slice(0, 1), left_out: { ...left_out, decisions: 7 } };
  await ana(`report diff ${folder}/before.json ${file('cut.json', JSON.stringify(cut))}`);
  await ana(`report diff ${folder}/after.json ${folder}/after.json`);
  await ana(`report diff ${folder}/before.json ${file('empty.json', '{}')}`);
  await ana(`report diff ${folder}/before.json ${folder}/nowhere.json`);
  await ana(
    'report compare 700100200 --since 2026-11-18T20:30:00Z --until 2026-11-18T22:00:00Z --before-since 2026-11-18T00:00:00Z',
  );
  await ana('report 700100200 --since 2026-11-19T00:00:00Z --until 2026-11-18T00:00:00Z');
  await golden('reports');
});

it('the store: a backup, merchants from a file, and one that is erased', async () => {
  const { ana, ben, as, golden } = shift();
  const eva = (line: string) => as(EVA, line);
  await ana('backups list');
  await ana('backup --reason "before the upgrade"');
  await eva('backup --reason "before the upgrade"');
  await ana('backups list');
  const made = `${bench.data_dir}/backups/${(await answered<{ backups: { file: string }[] }>('/api/backup')).backups[0]?.file}`;
  const restorer = shift(bench, (argv, env = {}) => puente(argv, { env })); // a process of its own, as it touches files
  for (const more of ['', ' --replace'])
    await restorer.ben(`restore ${made} --into ${folder}/restored --reason "disk failed"${more}`);
  await restorer.ben(`restore ${made} --into ${folder}/restored --reason "disk failed"`);
  await restorer.ben(`restore ${folder}/nowhere.db --into ${folder}/other --reason "disk failed"`);
  await restorer.ben(`restore ${made} --into ${folder}/other --reason "x"`);
  await restorer.golden('restore');
  const shops = file('shops.csv', 'id,name,tags\n700100200,Café Norte,centro\n700109009,Kiosco,\n');
  for (const more of [`${shops} --dry-run`, `${shops} --new`, file('bad.csv', 'merchant;name\n')])
    await ben(`merchants import --file ${more} --reason "names of the shops"`);
  await ben('merchants set 700100200 --sunset 2027-06-30T00:00:00Z --reason "agreed with its till maker"');
  await eva('erase 700100200');
  await eva('erase 700100200 --apply --reason "left us"');
  await eva('erase 700100400 --apply --reason "left us"');
  await eva('erase 700100500');
  await ben('erase 700100400 --apply --reason "left us"');
  await golden('store');
});

it('captures: assessed by the tables, and replayed', async () => {
  const { ana, ben, golden } = shift();
  const path = `${POINT}/devices/${DEVICE}/payment-intents`;
  const call = { method: 'POST', path, status: 200, at: '2026-11-18T09:00:00Z', body: { amount: 100, tip: 5 } };
  const till = file('till.jsonl', lines(call, 'nonsense', { method: 'GET', path: '/x' }));
  await ana(`assess ${till} --merchant 700100200 --site MLA --output ${folder}/till.html`);
  await ana(`assess ${file('notes.txt', 'no capture\n')}`);
  await ana(`assess ${folder}/nowhere.har`);
  await ben('capture on 700100200 --reason "before the move"');
  await bench.till(INTENTS, { body: { amount: 3500, additional_info: { ticket_number: 'S1' } } });
  await eventually(
    () => answered<{ calls: object[] }>('/api/captured'),
    ({ calls }) => calls.length > 0,
  );
  await ana(`capture export --captured --output ${folder}/calls.jsonl`);
  await ana(`replay ${folder}/calls.jsonl --against tables`);
  const next = join(folder, 'next');
  cpSync(join(HOUSE, 'mappings'), next, { recursive: true });
  const table = join(next, 'point', 'create.request.yaml');
  const anew = '    to: body.description\n    sites: [MLA]\n    elsewhere: silent\n';
  writeFileSync(table, readFileSync(table, 'utf8').replace('    to: body.config.point.ticket_number\n', anew));
  await ana(`replay ${folder}/calls.jsonl --against tables --mappings ${next}`);
  await ana(`replay ${till} --against tables`);
  await golden('captures');
});

it('what is known, assumed and wrong of this installation', async () => {
  const { ana, ben, golden } = shift(healthy);
  for (const line of ['limitations', 'assumptions', 'doctor']) await ana(line);
  await healthy.notify(ARGENTINA, { name: 'Café Sur' });
  await ben('doctor');
  await golden('installation');
});
