/** PostgreSQL's plans on large tables: the cost of a till's call, an event or a notice does not grow with them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MOST_COUNTED } from '../../../src/proxy/records/incidents.ts';
import { HOUSEKEEPING_ROWS } from '../../../src/store/conditions.ts';
import { ARGENTINA, type Bench, BRAZIL, eventually, POINT, startBench, startReceiver } from '../../kit.ts';
import { FAST } from '../../proxy/http/till.ts';
import { auditOf, DAY_MS } from '../contract/harness.ts';
import { type Plan, rowsRead, scansOf } from './explained.ts';
import { fill, leaveBacklog, leaveUnknownToTills, reopenOnLegacy } from './filled.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

/** Logs every executed plan to a file of the server, with the rows that each node read. */
const EXPLAINED = [
  'session_preload_libraries=auto_explain',
  'auto_explain.log_analyze=on',
  'auto_explain.log_timing=off',
  'auto_explain.log_nested_statements=on',
  'auto_explain.log_format=json',
  'auto_explain.log_parameter_max_length=0',
  'logging_collector=on',
  'log_directory=log',
  'log_filename=plans',
];
/** More than any page of due work has, and far less than the tables. */
const MOST_ROWS = 300;
/** Once a minute or less, with this many rows at a time. */
const UPKEEP = `LIMIT ${HOUSEKEEPING_ROWS}`;
/** For a move, and for each merchant of a sandbox that is new: the sales that it has open on legacy. */
const OPEN_OF_MERCHANT = 'FROM legacy_sales WHERE merchant_id = $1 AND slot IS NOT NULL AND';
/** At a start or stop, for an operator, or at a first use of a unit: all pending work, or all units of a merchant. */
const RARE = [
  OPEN_OF_MERCHANT,
  'SELECT max(moment.at)',
  'WITH clock (now)',
  'DELETE FROM leases WHERE holder',
  'SELECT * FROM seen_units',
  'SELECT DISTINCT slot AS name FROM seen_units',
  'SELECT * FROM traffic WHERE merchant_id = $1 ORDER BY',
  'AS notices_pending',
  // Changes all that wait for a merchant whose receiver has a new address.
  'UPDATE notices SET next_attempt_at = $1 WHERE merchant_id',
  // The newest of them, up to a limit.
  `FROM events WHERE state IN ('parked', 'expired')`,
];
/** Every ten seconds, for incidents: one merchant's rows up to a bound, and two rows of each merchant. */
const COUNTED = [`LIMIT ${MOST_COUNTED}`, 'AS oldest'];
/** For a sale that legacy takes: those of its unit, or each open one of a day once, and not once for each of them. */
const OF_UNIT = 'UPDATE legacy_sales AS earlier';
/** For each sale that its stage assigns to orders, and each look at a point of sale: the one that legacy has on the unit. */
const HELD = 'FROM legacy_sales WHERE merchant_id = $1 AND slot IN ($2, $3)';
const mayBeLong = ({ text }: Plan): boolean => [UPKEEP, ...RARE].some((words) => text.includes(words));
/** PostgreSQL plans a prepared statement five times for its values, and then possibly once for all values. */
const ROUNDS = 7;
const mostRows = ({ text }: Plan): number => {
  if (text.includes(OF_UNIT)) return 2 * ROUNDS;
  return COUNTED.some((words) => text.includes(words)) ? MOST_COUNTED : MOST_ROWS;
};
/** Three days of work and a full database, on a busy machine. */
const FILLED_MS = 240_000;

describe('plans', () => {
  let server: Server;
  let plans: Plan[] = [];
  let counts: number[] = [];
  beforeAll(async () => {
    server = await startServer(EXPLAINED);
    const url = await server.database();
    const settings = { PUENTE_POSTGRES_URL: url, PUENTE_POSTGRES_CONNECTIONS: '2', PUENTE_SECRET_KEY: 'c7'.repeat(32) };
    await workADay(settings, 'Monday', 1);
    await fill(server, url);
    const explain = (is_on: boolean) =>
      server.run(
        url,
        `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET auto_explain.log_min_duration = ${is_on ? 0 : -1}`,
      );
    await explain(true);
    await workADay(settings, 'Tuesday', ROUNDS);
    await explain(false);
    await leaveBacklog(server, url);
    await explain(true);
    await workADay(settings, 'Wednesday', ROUNDS, () => reopenOnLegacy(server, url));
    await explain(false);
    await leaveUnknownToTills(server, url, ARGENTINA);
    await explain(true);
    counts = await countAndAudit(url);
    await server.stop();
    plans = scansOf(readFileSync(join(server.folder, 'log', 'plans'), 'utf8'));
  }, FILLED_MS);
  afterAll(() => server?.remove());

  it('of a day of sales, events, notices, refunds and searches read what they need and no more', () => {
    const long = plans.filter((plan) => rowsRead(plan) > mostRows(plan) && !mayBeLong(plan));
    expect([...new Set(long.map(described))]).toEqual([]);
  });

  it('read of hundreds of open sales on legacy those of the unit, and all of the merchant at the start and for a move', () => {
    const held = plans.filter(({ text }) => text.includes(HELD));
    expect(held.length).toBeGreaterThanOrEqual(6 * ROUNDS);
    expect([...new Set(held.filter((plan) => rowsRead(plan) > 2).map(described))]).toEqual([]);
    const all = plans.filter((plan) => plan.text.includes(OPEN_OF_MERCHANT) && rowsRead(plan) > MOST_ROWS);
    expect(all.length, 'no till has read them').toBeLessThan(ROUNDS);
  });

  it.each([
    'links',
    'events',
    'notices',
    'exchanges',
    'refunds',
    'legacy_sales',
    'tokens',
    'leases',
    'audit',
    'link_states',
  ])('%s was among them', (table) => {
    // Plans contain the names of partitions.
    expect(plans.map((plan) => plan.table.replace(/^exchanges_.+/, 'exchanges'))).toContain(table);
  });

  it('what stands for incidents was counted up to its bound', () => {
    expect(counts.filter((count) => count === MOST_COUNTED)).toHaveLength(2);
    expect(counts.length).toBeGreaterThan(MOST_ROWS);
  });
});

/** The scan, its index and its rows, before the statement that it is part of. */
function described(plan: Plan): string {
  const { node, table, text, facts } = plan;
  return `${node} of ${table} by ${facts['Index Name'] ?? 'no index'}, ${rowsRead(plan)} rows: ${text}`;
}

/** @returns the counts of paid sales and notices that stand, by merchant. */
async function countAndAudit(url: string): Promise<number[]> {
  const store = await openStore(url, { connections: 1 });
  try {
    const now = Date.now();
    const limits = { in_doubt_before: 0, paid_before: now, paid_since: now - DAY_MS, notices_before: now };
    for (let round = 1; round <= ROUNDS; round++) {
      await store.audit.appendAudit(auditOf(`unread ${round}`));
      await store.audit.appendAudit({ ...auditOf('read'), subject: `new ${round}` }, 0);
    }
    return (await store.incidents.conditions({ ...limits, ramps_since: 0, now })).map(({ count }) => count);
  } finally {
    await store.close();
  }
}

/**
 * @param day part of all references: equal sales of two days would be repeats.
 * @param started follows the start, at which a new sandbox ends all sales on legacy.
 */
async function workADay(
  settings: Record<string, string>,
  day: string,
  rounds: number,
  started: () => Promise<void> = async () => undefined,
): Promise<void> {
  const receiver = await startReceiver();
  const bench = await startBench({ ...FAST, ...settings, PUENTE_ROUTING_DEFAULT_STAGE: 'orders' });
  try {
    await started();
    await bench.notify(ARGENTINA, { notice_url: receiver.url });
    await keepOnLegacy(bench, BRAZIL);
    for (let round = 1; round <= rounds; round++) {
      await sellAtTerminals(bench, day, round);
      await sellByQr(bench, day, round);
      await receiver.waitFor(round);
    }
    await eventually(
      async () => bench.sandbox.world.sent_log.list().length,
      (sent) => sent >= rounds,
    );
  } finally {
    await bench.close();
    await receiver.close();
  }
}

async function keepOnLegacy({ ops }: Bench, merchant: string): Promise<void> {
  const { revision } = (await ops(`/api/merchants/${merchant}`)).body as { revision: number }; // every view has one
  const body = { stage: 'legacy', reason: 'a test keeps it there', revision, new: true };
  const { status, text } = await ops(`/api/merchants/${merchant}/stage`, { method: 'PUT', body });
  if (status !== 200) throw new Error(text);
}

async function sellAtTerminals(bench: Bench, day: string, round: number): Promise<void> {
  const device = (nth: number): string => `NEWLAND_N950__LOAD${String(round * 10 + nth).padStart(7, '0')}`;
  const create = (nth: number, merchant = ARGENTINA) =>
    bench.till(`${POINT}/devices/${device(nth)}/payment-intents`, {
      merchant,
      body: { amount: 3000, additional_info: { external_reference: `Venta-${day}-${round}-${nth}` } },
      headers: { 'x-idempotency-key': `${merchant} ${day} ${round} ${nth}` },
    });
  const { id } = (await create(1)).body as { id: string }; // a created intent has one
  await create(1);
  await create(2, BRAZIL);
  await bench.till(`${POINT}/payment-intents/${id}`);
  await bench.atTerminal('pay', { device: device(1) });
  const { body } = await eventually(
    () => bench.till(`${POINT}/payment-intents/${id}`),
    (answer) => (answer.body as { state: string }).state === 'FINISHED',
  );
  const { payment } = body as { payment: { id: number } }; // of a paid intent
  await bench.till(`/v1/payments/${payment.id}`);
  await bench.till(`/v1/payments/${payment.id}/refunds`, { body: { amount: 10 } });
  await bench.till(`${POINT}/payment-intents/${id}/events`);
  const canceled = (await create(3)).body as { id: string };
  await bench.till(`${POINT}/devices/${device(3)}/payment-intents/${canceled.id}`, { method: 'DELETE' });
}

async function sellByQr(bench: Bench, day: string, round: number): Promise<void> {
  await bench.till('/mpmobile/instore/qr/1000001');
  const external_reference = `Factura ${day} ${round}`;
  const item = { title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2 };
  await bench.till(`/mpmobile/instore/qr/${ARGENTINA}/LOAD000000${round}`, {
    body: { external_reference, items: [item] },
  });
  await bench.control(`/pos/${ARGENTINA}/LOAD000000${round}/pay`, { body: {} });
  await eventually(
    () => bench.till(`/merchant_orders/search?external_reference=${encodeURIComponent(external_reference)}`),
    ({ text }) => text.includes('"closed"'),
  );
  await bench.till(`/v1/payments/search?external_reference=${encodeURIComponent(external_reference)}`);
}
