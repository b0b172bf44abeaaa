/** Runs a soak: load and trouble for the given time, samples of the server, then the quiet end and the verdict. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../../bench/statistics.ts';
import { readDocuments } from '../../src/mapping/load.ts';
import { seeded } from '../make-capture/chance.ts';
import { isBroken, type Sample, type Trend, trendOf } from './flat.ts';
import type { History } from './history.ts';
import { judge, type Ruling } from './judge.ts';
import { startLoad } from './load.ts';
import { layOpen } from './quiet.ts';
import { MEASURES, startLooking } from './samples.ts';
import { type Stand, startStand } from './stand.ts';
import { isOk, newTillLog, type TillLog } from './till-log.ts';

export interface Asked {
  minutes: number;
  rate: number;
  seed: number;
  /** Called every ten seconds with one line. */
  onProgress(line: string): void;
}

export interface Result {
  seed: number;
  minutes: number;
  rate: number;
  counts: {
    sales: number;
    calls: number;
    upstream_calls: number;
    orders: number;
    notices: number;
    notices_failed: number;
    notices_slow: number;
  };
  /** Answers to tills by status; 0 for no answer. */
  statuses: Record<string, number>;
  faults: Record<string, number>;
  /** Log lines of the server, warnings and errors, by message. */
  log: Record<string, number>;
  trends: Trend[];
  rulings: Ruling[];
  passed: boolean;
  /** Directory of the database and the history, kept when a check failed. */
  kept: string | null;
}

/** Two percent of upstream calls, of webhooks and of deliveries. */
const TROUBLE_SHARE = 0.02;
/** Many creates meet a busy unit and are refused for it. */
const LEAST_TAKEN = 1 / 3;
/** Below this number failures are no share, as in a short run. */
const FEW = 20;
const MAPPINGS = join(import.meta.dirname, '..', '..', 'mappings');
const SAMPLE_EVERY_MS = 2_000;
const PROGRESS_EVERY_MS = 10_000;

export async function soak(asked: Asked): Promise<Result> {
  const stand = await startStand(asked.seed, TROUBLE_SHARE);
  let keeps = false;
  try {
    const { result, history, samples } = await loadAndJudge(stand, asked);
    keeps = !result.passed;
    if (keeps) writeFileSync(join(stand.data_dir, 'history.json'), JSON.stringify({ ...history, samples }));
    return keeps ? { ...result, kept: stand.data_dir } : result;
  } finally {
    await stand.close(keeps);
  }
}

async function loadAndJudge(
  stand: Stand,
  asked: Asked,
): Promise<{ result: Result; history: History; samples: Sample[] }> {
  const { seed, rate, minutes } = asked;
  const started_at = Date.now() - 1_000;
  const log = newTillLog();
  const load = startLoad(log, { ...stand, public_url: stand.child.public_url }, stand.receivers.urls, { rate, seed });
  stand.receivers.onIntent((merchant, id) =>
    load.connectionOf(merchant).call('point.get_intent', 'GET', `/point/integration-api/payment-intents/${id}`),
  );
  const [first = '', ...others] = stand.receivers.urls.keys();
  const looking = stand.operators.lookAround(seeded(seed + 3), [first, ...others]);
  await stand.setTrouble(true);
  const look = lookAt(stand, log);
  const samples = await watch(stand, look, log, load.sales, asked);
  await stand.setTrouble(false);
  const refused = await looking.stop();
  await load.stop();
  asked.onProgress('the load is over; what waits is seen to');
  const statuses = Object.fromEntries(log.statuses);
  const sales = load.sales();
  const { onProgress } = asked;
  const atRest = async () => void samples.push(await look((Date.now() - started_at) / 1000, true));
  const history = await layOpen(stand, load, log, { seed, started_at, onProgress, atRest });
  const rulings = [
    ...judge(history),
    allWorked(log),
    fewFailed(log, history),
    { invariant: 'ops', says: 'every look of an operator was answered', looked_at: 1, violations: refused },
    { invariant: 'errors', says: 'the server logged no error', looked_at: 1, violations: stand.said.errors },
  ];
  const trends = MEASURES.map((measure) => trendOf(measure, samples));
  const { came: notices, failed: notices_failed, slow: notices_slow } = stand.receivers.counts;
  const { orders, calls: upstream_calls, faults } = history.books;
  const counted = { sales, calls: log.calls, upstream_calls, orders: orders.length };
  const result: Result = {
    seed,
    minutes,
    rate,
    counts: { ...counted, notices, notices_failed, notices_slow },
    statuses,
    faults,
    log: Object.fromEntries(stand.said.counts),
    trends,
    rulings,
    passed:
      rulings.every(({ violations }) => violations.length === 0) && !trends.some((trend) => isBroken(trend, minutes)),
    kept: null,
  };
  return { result, history, samples };
}

/** Samples the server until the time is up. @returns all samples, oldest first. */
async function watch(stand: Stand, look: Look, log: TillLog, sales: () => number, asked: Asked): Promise<Sample[]> {
  const began = performance.now();
  const end = began + asked.minutes * 60_000;
  const samples: Sample[] = [];
  let since_progress: number[] = [];
  for (let progress_at = began + PROGRESS_EVERY_MS; performance.now() < end; ) {
    await pause(Math.min(SAMPLE_EVERY_MS, end - performance.now()));
    if (!stand.child.alive()) throw new Error(`the server ended by itself:\n${stand.child.output()}`);
    since_progress.push(...log.durations_ms);
    samples.push(await look((performance.now() - began) / 1000));
    if (performance.now() < progress_at) continue;
    asked.onProgress(progressLine(samples.at(-1), log, sales(), since_progress));
    since_progress = [];
    progress_at += PROGRESS_EVERY_MS;
  }
  return samples;
}

type Look = ReturnType<typeof startLooking>;

function lookAt(stand: Stand, log: TillLog): Look {
  return startLooking({
    pid: stand.child.pid,
    database: stand.database,
    metrics: async () => String(await stand.operators.ask('GET', '/metrics')),
    takeDurations: () => log.durations_ms.splice(0),
  });
}

function progressLine(sample: Sample | undefined, log: TillLog, sales: number, durations: number[]): string {
  const of = (name: string): number => sample?.values[name] ?? Number.NaN;
  const mib = (name: string): string => `${Math.round(of(name) / 2 ** 20)} MiB`;
  const sorted = durations.toSorted((one, other) => one - other);
  const failed = [...log.statuses].reduce(
    (sum, [status, count]) => sum + (status >= 500 || status === 0 ? count : 0),
    0,
  );
  const [minute, second] = [Math.floor((sample?.at_s ?? 0) / 60), Math.floor((sample?.at_s ?? 0) % 60)];
  return [
    `${minute}:${String(second).padStart(2, '0')}`,
    `${sales} sales, ${log.calls} calls, ${failed} failed`,
    `p50 ${percentile(sorted, 0.5).toFixed(0)} ms, p99 ${percentile(sorted, 0.99).toFixed(0)} ms`,
    `rss ${mib('rss')}, heap ${mib('heap')}, wal ${mib('wal')}`,
    `${of('descriptors')} descriptors, ${of('timers')} timers`,
    `waiting ${of('notices waiting')} notices, ${of('events waiting')} events`,
  ].join(' · ');
}

/** Orders refund without the terminal, so a refund intent for an order is always refused (LIM-03). */
const WITHOUT_COUNTERPART: ReadonlyMap<string, number> = new Map([['point.create_refund_intent', 409]]);

/** A load that left an operation out, or had all its calls refused, proves nothing about that operation. */
function allWorked({ operations, answered }: TillLog): Ruling {
  const { documents } = readDocuments(MAPPINGS);
  const names = documents.operations.map(({ name }) => name);
  const hasWorked = (name: string): boolean =>
    [...(answered.get(name) ?? [])].some((status) => isOk(status) || status === WITHOUT_COUNTERPART.get(name));
  const violations = names
    .filter((name) => !hasWorked(name))
    .map((name) => (operations.has(name) ? `${name} was never answered as it should be` : `${name} was never called`));
  return { invariant: 'mix', says: 'every operation of the tables has worked', looked_at: names.length, violations };
}

/** Guards against a server that refuses everything, which breaks no rule about sales. */
export function fewFailed(log: Pick<TillLog, 'statuses' | 'calls'>, { sales }: Pick<History, 'sales'>): Ruling {
  const taken = sales.filter(({ statuses }) => statuses.some((status) => status >= 200 && status < 300)).length;
  const failed = [...log.statuses].reduce((sum, [status, count]) => sum + (isFailure(status) ? count : 0), 0);
  const violations: string[] = [];
  if (taken < sales.length * LEAST_TAKEN) violations.push(`of ${sales.length} sales ${taken} were taken`);
  if (failed > Math.max(FEW, log.calls * TROUBLE_SHARE)) violations.push(`of ${log.calls} calls ${failed} failed`);
  return {
    invariant: 'tills',
    says: 'sales are made, and calls fail no more often than upstream',
    looked_at: log.calls,
    violations,
  };
}

function isFailure(status: number): boolean {
  return status === 0 || status >= 500;
}
