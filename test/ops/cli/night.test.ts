/** What commands say at three in the morning, each sentence in a golden file: an empty installation, then one night. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, it } from 'vitest';
import {
  ANA,
  ARGENTINA,
  BEN,
  BRAZIL,
  clockOf,
  DEVICE,
  EVA,
  eventually,
  MEXICO,
  POINT,
  SECOND_DEVICE,
  startReceiver,
  tokenOf,
} from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { FAST, LEFT_IN_DOUBT } from '../../proxy/http/till.ts';
import { type MovesBench, startMoves } from '../moves/kit.ts';
import * as desk from './golden.ts';

let now = Date.parse('2026-11-18T03:00:00Z');
const clock = { ...clockOf(() => now), monotonic: () => performance.now() };
let status = 200;
const receiver = openForAll(() => startReceiver(() => status));
const nothing = openForAll(() => startMoves({}, { clock }));
const RECEIVERS = () => ({ nights: { url: `${receiver.url}/key`, secret: 'a-secret-that-tests-invent' } });
/** Where nothing fails but what is made to. */
const calm = openForAll(() =>
  startMoves(
    { PUENTE_ROUTING_DEFAULT_STAGE: 'orders', PUENTE_ALERTS_RECEIVERS: JSON.stringify(RECEIVERS()) },
    { clock },
  ),
);
const bench = openForAll(() =>
  startMoves(
    {
      ...FAST,
      PUENTE_MOVES_SECOND_APPROVER: 'true',
      PUENTE_MOVES_GATE: 'advise',
      PUENTE_SAFETY_MIN_SAMPLE: '4',
    },
    { clock, random: () => 0.1 },
  ),
);
let revision = '';
const folder = `${mkdtempSync(join(tmpdir(), 'puente-night-'))}/`;
beforeAll(async () => {
  revision = ((await bench.ops('/api/tables')).body as { revision: string }).revision; // the API's shape
});

const shift = (on: MovesBench, env: Record<string, string> = {}) =>
  desk.shift({
    on,
    env,
    turn: () => (now += 1000),
    masks: () => [
      [revision, 'REVISION'],
      [folder, ''],
    ],
  });

async function sell(amount: number, device = DEVICE, on: MovesBench = bench): Promise<void> {
  now += 1000;
  const body = { amount, additional_info: { external_reference: `mesa ${amount}` } };
  await on.till(`${POINT}/devices/${device}/payment-intents`, { body });
}

it('says what there is not, and refuses whom it never saw', async () => {
  const { ana, ben, golden } = shift(nothing);
  for (const line of ['fleet', 'merchants list', 'sales', 'notices list', 'notices receivers', 'incidents list'])
    await ana(line);
  for (const line of [
    'alerts list',
    'safety show',
    'moves list',
    'bulk list',
    'brownout list',
    'audit list',
    'audit verify',
  ])
    await ana(line);
  for (const line of [
    'capture list',
    'notices show nobody',
    'reconcile',
    'can-migrate 70010020',
    'trace nobody-knows-this',
  ])
    await ana(line);
  for (const line of ['alerts test', 'rollback 70010020', 'safety reset 700100200 --kind qr', 'notices test 700100200'])
    await ben(`${line} --reason "nobody is there"`);
  await golden('nothing');
});

it('moves: what a share takes, who approves, and how it goes back', async () => {
  const { ana, ben, as, golden } = shift(bench);
  await bench.till(`${POINT}/devices`);
  await sell(1500);
  await eventually(
    () => bench.ops(`/api/merchants/${ARGENTINA}/readiness`),
    ({ text }) => text.includes('point.create_intent') && text.includes('point.list_devices'),
  );
  await ana('can-migrate 700100200');
  await ben('merchants set 700100200 --name "Café Sur" --tags centro --safety-stop armed --reason "before the move"');
  await ana('can-migrate 70010020');
  await ana('merchants list');
  await ana('merchants list --search nobody');
  await ben('stage 700100200 shadow --dry-run');
  await ben('stage 700100200 shadow --reason "first look"');
  const [first] = await moves();
  await ana(`moves show ${first}`);
  await ben(`moves approve ${first} --reason "my own"`);
  await as(EVA, `moves approve ${first} --reason "looked at it"`);
  await ben('stage 700100200 canary --share 1 --dry-run');
  await ben('stage 700100200 canary --share 99 --dry-run');
  await ben('stage 700100200 canary --share 99 --reason "as fast as can be"');
  const [second] = await moves();
  await ben(`moves decline ${second} --reason "not tonight"`);
  await ana('moves list');
  await ben('rollback 700100200 --reason "tills stand still"');
  await ana('drain 700100200');
  await ana('trace "mesa 1500" --rules');
  await golden('moves');
});

/** The first id that a command has printed. */
const idIn = (out: string): string => /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(out)?.[0] ?? '';

const moves = async (): Promise<string[]> =>
  ((await bench.as(ANA, 'GET', '/api/moves?state=waiting')).body as { moves: { id: string }[] }).moves.map(
    ({ id }) => id,
  ); // the API's shape

it('settings: a credential is tried, and a capture switched', async () => {
  const { ana, golden } = shift(bench);
  const other = shift(bench, { PUENTE_CREDENTIAL: tokenOf(BRAZIL) });
  const own = shift(bench, { PUENTE_CREDENTIAL: tokenOf(ARGENTINA) });
  await other.ben('merchants set 700100200 --credential --reason "for recovery"');
  await own.ben('merchants set 700100200 --credential --reason "for recovery"');
  await own.ben('capture on 700100200 --reason "before the move"');
  await bench.till(`${POINT}/devices?limit=1`);
  const { calls } = (await bench.ops('/api/captured')).body as { calls: { id: string }[] }; // the API's shape
  await ana('capture list');
  await ana(`capture show ${calls[0]?.id}`);
  await ana(`capture export --merchant 700100200 --output ${folder}calls.jsonl`);
  await ana('merchants show 700100200');
  await own.ben('capture off 700100200 --reason "enough"');
  await other.golden('credential-of-another');
  await own.golden('credential');
  await golden('settings');
});

it('the safety stop: how near it is, what tripped it, and its reset', async () => {
  const { ana, ben, golden } = shift(bench);
  await bench.move({ stage: 'orders', override: true });
  const [waiting] = await moves();
  await bench.ops(`/api/moves/${waiting}/approve`, { body: { reason: 'a test moves it' } });
  await bench.control('/faults', { body: { ...LEFT_IN_DOUBT, status: 500, code: 'internal_error', times: 'always' } });
  await sell(2000, 'NEWLAND_N950__LOAD0000001');
  await ana('safety show 700100200');
  for (let nth = 2; nth < 5; nth++) await sell(2000 + nth, `NEWLAND_N950__LOAD000000${nth}`);
  await eventually(
    () => bench.stageOf(),
    ({ in_force }) => in_force.intents?.stage === 'shadow',
  );
  await bench.control('/faults', { method: 'DELETE' });
  await ana('safety show');
  await ana('safety show 700100200');
  await ana('fleet');
  await ana('fleet --attention --stage legacy');
  await ben('safety reset 700100200 --kind intents --reason "upstream works again"');
  await ben('safety reset 700100200 --kind intents --reason "once more"');
  await golden('safety');
});

it('notices: who acknowledged, a test, and redelivery', async () => {
  const { ana, ben, golden } = shift(calm);
  await calm.notify(ARGENTINA, { notice_url: receiver.url, point_payment_notices: 'off' });
  status = 500;
  await sell(3000, DEVICE, calm);
  await calm.atTerminal('pay');
  const refused = await eventually(notices, ([one]) => one?.last_attempt != null);
  status = 200;
  await ana('notices list --limit 1');
  await ana(`notices show ${refused[0]?.id}`);
  await ben('notices test 700100200 --reason "its new address"');
  await ben(
    'notices replay --since 2026-11-18T00:00:00Z --until 2026-11-19T00:00:00Z --dry-run --reason "it was down"',
  );
  await ben(`notices replay ${refused[0]?.id} --reason "it is back"`);
  await eventually(notices, ([one]) => one?.state === 'delivered');
  await ben(
    'notices replay --since 2026-11-18T00:00:00Z --until 2026-11-19T00:00:00Z --dry-run --reason "it was down"',
  );
  await ana('notices receivers');
  await golden('notices');
});

const notices = async () =>
  ((await calm.ops('/api/notices')).body as { notices: { id: string; state: string; last_attempt: unknown }[] })
    .notices; // the API's shape

it('a declined sale on orders', async () => {
  const { ana, golden } = shift(calm);
  await sell(7000, DEVICE, calm);
  await calm.atTerminal('decline');
  await eventually(
    () => calm.ops('/api/trace?id=mesa%207000'),
    ({ text }) => text.includes('"legacy_state":"ERROR"') && text.includes('it is delivered'),
  );
  await ana('trace "mesa 7000"');
  await golden('trace');
});

it('a brown-out tells who was refused', async () => {
  const { ana, as, golden } = shift(bench);
  await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'a test moves it' });
  await as(
    EVA,
    'brownout schedule 700100200 --from 2026-11-18T02:00:00Z --until 2026-11-18T06:00:00Z --reason "drill 1"',
  );
  const [window] = ((await bench.ops('/api/brownouts')).body as { brownouts: { id: string }[] }).brownouts; // the API's shape
  await ana(`brownout show ${window?.id}`);
  await sell(4000);
  await sell(4000);
  await bench.till(`${POINT}/devices`);
  await ana('brownout list');
  await ana('merchants show 700100200');
  await ana(`brownout show ${window?.id}`);
  await as(EVA, `brownout abort ${window?.id} --reason "a shop called"`);
  await as(EVA, `brownout abort ${window?.id} --reason "a shop called"`);
  await golden('brownout');
});

it('many: a bulk move that refuses one, and is aborted', async () => {
  const { ana, ben, golden } = shift(bench);
  await ben('bulk start --where stage=orders --stage legacy --reason "nobody is there"');
  await bench.notify(BRAZIL, { name: 'Padaria Sol' });
  await bench.notify(MEXICO, {});
  await ben('bulk start --where tag=centro --stage canary --share 5 --per-day 1 --reason "wave 1"');
  const [bulk] = ((await bench.ops('/api/bulk')).body as { bulk_moves: { id: string }[] }).bulk_moves; // the API's shape
  await eventually(
    () => bench.ops(`/api/bulk/${bulk?.id}`),
    ({ text }) => !text.includes('"running"'),
  );
  await ana(`bulk show ${bulk?.id}`);
  await ben(`bulk abort ${bulk?.id} --reason "a till was updated"`);
  await ana('bulk list');
  const second = idIn(await ben('bulk start 700100300 700100400 --stage shadow --per-day 1 --reason "wave 2"'));
  await eventually(
    () => bench.ops(`/api/bulk/${second}`),
    ({ text }) => text.includes('moves of today'),
  );
  await ana(`bulk show ${second}`);
  await ben(`bulk abort ${second} --reason "a till was updated"`);
  await golden('bulk');
});

it('a ramp that a second person approves', async () => {
  const { ana, ben, as, golden } = shift(bench);
  await bench.move({ stage: 'shadow' }, BEN, BRAZIL);
  for (const move of await moves())
    await bench.as(EVA, 'POST', `/api/moves/${move}/approve`, { reason: 'a test does it' });
  const id = idIn(await ben('ramp 700100300 --steps 50,100 --soak 1h --min-sales 5 --reason "week 1"'));
  await ana(`ramps show ${id}`);
  await as(EVA, `ramps approve ${id} --reason "looked at the steps with the shop"`);
  await as(EVA, `ramps approve ${id} --reason "once more"`);
  await golden('ramps-approved');
});

it('incidents and alerts: closed by a person, tried, refused', async () => {
  const { ana, ben, golden } = shift(calm);
  await ana('alerts list');
  await ben('alerts test --reason "a new channel"');
  status = 500;
  await ben('alerts test --receiver nights --reason "its new address"');
  status = 200;
  const alter = { method: 'POST', path: '/v1/orders', kind: 'alter', set: { total_amount: '1.00' }, times: 'always' };
  await calm.control('/faults', { body: alter });
  await sell(5000, SECOND_DEVICE, calm);
  const [open] = ((await calm.ops('/api/incidents?kind=mismatch')).body as { incidents: { id: string }[] }).incidents; // the API's shape
  await ana('incidents list --kind mismatch');
  await ben(`incidents close ${open?.id} --reason "compared with the panel"`);
  await ben(`incidents close ${open?.id} --reason "once more"`);
  await ana('incidents list --state closed --limit 1');
  await ana('audit list --subject 700100200 --limit 2');
  await golden('incidents');
});

it('sales are found in pages, and one is compared', async () => {
  const { ana, ben, golden } = shift(calm);
  await sell(6000, DEVICE, calm);
  await ana('sales --limit 1');
  await ana('sales --reference "mesa 6000"');
  await ana('sales --state in_doubt');
  await ana('trace "mesa 6000"');
  await ana('trace "mesa 3000"');
  await ana('sales --state lost');
  await ben('reconcile --merchant 700100300');
  await golden('sales');
});

it('what still needs legacy, unit by unit: on the day of the move, and when its week is over', async () => {
  const { ana, golden } = shift(nothing);
  const intents = (device: string) => `${POINT}/devices/${device}/payment-intents`;
  const { body } = await nothing.till(intents(DEVICE), { body: { amount: 8000 } });
  await nothing.move({ stage: 'orders', override: true });
  await sell(8100, SECOND_DEVICE, nothing);
  for (const line of ['decommission', 'decommission 700100200']) await ana(line);
  const { id } = body as { id: string }; // a created intent has one
  await nothing.till(`${intents(DEVICE)}/${id}`, { method: 'DELETE' });
  await nothing.atTerminal('pay', { device: SECOND_DEVICE });
  await eventually(
    () => nothing.ops('/api/sales'),
    ({ text }) => text.includes('"paid"'),
  );
  now += 8 * 86_400_000;
  for (const line of ['decommission', 'decommission 700100200']) await ana(line);
  await golden('decommission');
});
