/** The end of a soak: faults off, pending work finishes, unpaid orders expire, and all facts are collected. */
import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../make-capture/chance.ts';
import { checkFile, readFacts, readWaiting } from './database.ts';
import type { BookedOrder, Database, History, LastRead, LinkFacts } from './history.ts';
import type { Load } from './load.ts';
import type { Stand } from './stand.ts';
import type { TillLog } from './till-log.ts';

/** Recovery, settlement and polls of open orders take seconds; an event that could not be read waits up to a minute. */
const QUIET_LIMIT_MS = 120_000;
/** Interval at which an operator redelivers failed notices; the contract would wait 15 minutes between attempts. */
const SEE_TO_EVERY_MS = 5_000;
const LOOK_EVERY_MS = 200;
/** Longer than the first resend of webhooks and the lifetime of orders, both 15 minutes of upstream's time. */
const LATER_MS = 16 * 60_000;
/** Sales read again at the end; the database is compared as a whole. */
const MOST_READS = 2_000;
const READS_AT_ONCE = 4;

export interface Ending {
  seed: number;
  started_at: number;
  onProgress(line: string): void;
  /** Called when no work is pending and no calls arrive. */
  atRest(): Promise<void>;
}

export async function layOpen(stand: Stand, load: Load, log: TillLog, ending: Ending): Promise<History> {
  const first = await untilQuiet(stand, ending, (what) => !what.endsWith('live links'));
  await ending.atRest();
  ending.onProgress('quiet; the time of what nobody paid runs out');
  await stand.advance(LATER_MS);
  const over = await untilQuiet(stand, ending);
  ending.onProgress('quiet; every unit sells once more');
  const probes = await load.probe();
  const probed = await untilQuiet(stand, ending);
  ending.onProgress('quiet; the books are laid open');
  const books = await stand.books();
  const database = readFacts(stand.database);
  const last_reads = await readAgain(load, database, books.orders, ending.seed);
  const house = await endServer(stand);
  return {
    sales: [...log.sales.values()],
    reads: log.reads,
    refunds: [...log.refunds.values()],
    canceled: [...log.canceled],
    told: [...stand.receivers.told],
    books,
    database,
    last_reads,
    probes,
    unsettled: [...first, ...over, ...probed],
    house,
  };
}

/** @returns the work that had not ended in time. */
async function untilQuiet(
  stand: Stand,
  { started_at, onProgress }: Ending,
  counts: (what: string) => boolean = () => true,
): Promise<string[]> {
  const began = Date.now();
  for (let next_at = began + SEE_TO_EVERY_MS; ; ) {
    const { waiting, in_doubt } = readWaiting(stand.database);
    const left = waiting.filter(counts);
    if (left.length === 0 && (await areRefused(stand, in_doubt, began))) return [];
    if (Date.now() > began + QUIET_LIMIT_MS)
      return [...left, ...in_doubt.map(({ legacy_id }) => `${legacy_id} in doubt`)];
    if (Date.now() >= next_at) {
      onProgress(`waiting for ${[...left, `${in_doubt.length} creates in doubt`].join(', ')}`);
      if (left.some((what) => what.endsWith('notices'))) await redeliverNotices(stand, started_at);
      next_at = Date.now() + SEE_TO_EVERY_MS;
    }
    await pause(LOOK_EVERY_MS);
  }
}

async function redeliverNotices({ operators }: Stand, started_at: number): Promise<void> {
  const window = { since: new Date(started_at).toISOString(), until: new Date(Date.now() + 1_000).toISOString() };
  await operators.ask('POST', '/api/notices/replay', { ...window, reason: 'receivers work again' });
}

/** Whether each create in doubt was retried since then and upstream still has no order for it. */
async function areRefused(stand: Stand, in_doubt: readonly LinkFacts[], since: number): Promise<boolean> {
  if (in_doubt.some(({ updated_at }) => updated_at < since)) return false;
  if (in_doubt.length === 0) return true;
  const { orders } = await stand.books();
  const made = new Set(orders.map(({ merchant, reference }) => `${merchant} ${reference}`));
  return in_doubt.every(({ merchant_id, reference_sent }) => !made.has(`${merchant_id} ${reference_sent}`));
}

/** Reads a sample of all sales with an order, as tills do. */
async function readAgain(load: Load, { links }: Database, orders: BookedOrder[], seed: number): Promise<LastRead[]> {
  const known = new Set(orders.map(({ id }) => id));
  const chance = seeded(seed + 5);
  const with_order = links.filter(({ order_id }) => order_id !== null && known.has(order_id));
  const chosen = with_order.filter(() => chance.is(MOST_READS / with_order.length));
  const found: LastRead[] = [];
  const queue = chosen.values();
  const read = async (): Promise<void> => {
    for (const link of queue) found.push(await readOne(load, link));
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, read));
  return found;
}

async function readOne(
  load: Load,
  { legacy_id, merchant_id, family, merchant_order_id }: LinkFacts,
): Promise<LastRead> {
  const connection = load.connectionOf(merchant_id);
  if (family === 'point') {
    const target = `/point/integration-api/payment-intents/${legacy_id}`;
    const { status, body } = await connection.call('point.get_intent', 'GET', target);
    return { legacy_id, status, state: (Object(body) as { state?: unknown }).state }; // only compared
  }
  const target = `/merchant_orders/${merchant_order_id}`;
  const { status, body } = await connection.call('merchant_orders.get', 'GET', target);
  return { legacy_id, status, state: (Object(body) as { order_status?: unknown }).order_status }; // only compared
}

/** Checks the audit chain, stops the server, and checks the file. */
async function endServer({ child, database, operators }: Stand): Promise<string[]> {
  const wrong: string[] = [];
  const chain = Object(await operators.ask('GET', '/api/audit/verify')) as { intact?: boolean; broken?: unknown }; // the API's shape
  if (chain.intact !== true) wrong.push(`the audit chain is broken: ${JSON.stringify(chain.broken)}`);
  await child.stop();
  const { exitCode, signalCode } = child.process;
  if (exitCode !== 0) wrong.push(`the server ended with ${exitCode ?? signalCode}`);
  const check = checkFile(database);
  if (check !== 'ok') wrong.push(`the file is damaged: ${check}`);
  return wrong;
}
