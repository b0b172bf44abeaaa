/** The goals of Puente's speed, as data, each compared with this run's figures. */
import { PUENTE } from '../contestants/contestants.ts';
import type { Line } from './lines.ts';
import type { Result } from './result.ts';

export interface Goal {
  goal: string;
  measured: string | null;
  /** `undecided`: the repetitions disagree. */
  verdict: 'met' | 'missed' | 'undecided' | 'not measured';
  /** Reason of a verdict other than `met` or `missed`. */
  why: string | null;
}

type Measured = Omit<Result, 'goals'>;

/** The goals are for one process as shipped, with its rows in a file; the last goal is for two on a server. */
export function goalsOf(run: Measured): Goal[] {
  const result = run.engine === 'PostgreSQL' ? { ...run, lines: [] } : run;
  return [
    ratio(result, 'create', 64, 'one core', 0.85),
    ratio(result, 'create', 64, 'free', 1.1),
    ratio(result, 'create', 256, 'one core', 0.7, 1000),
    ratio(result, 'create', 256, 'free', 1, 1000),
    loopDelay(result),
    ratio(result, 'proxied', 64, 'one core', 0.95),
    ratio(result, 'proxied', 64, 'free', 0.95),
    ratio(result, 'upload', 8, 'one core', 1),
    ratio(result, 'download', 8, 'one core', 1),
    flatMemory(result),
    ratio(result, 'get-final', 64, 'one core', 1.8),
    ratio(result, 'get-final', 64, 'free', 1.8),
    ratio(result, 'payment-search', 64, 'one core', 1.8),
    ratio(result, 'payment-search', 64, 'free', 1.8),
    addedLatency(result, 'p50_ms', 0.4),
    addedLatency(result, 'p99_ms', 3),
    ratio(result, 'event', 64, 'one core', 1),
    ratio(result, 'event', 64, 'free', 1),
    sizeCost(result),
    ...memoryGoals(result),
    readyAfter(result),
    twoProcesses(result),
  ];
}

const NOT_ASKED = 'this run was not asked for it';

/** @param delay_us of a delayed fsync; none leaves the disk unchanged. */
function ratio(
  result: Measured,
  case_name: string,
  in_flight: number,
  arrangement: Line['arrangement'],
  least: number,
  delay_us: number | null = null,
): Goal {
  const slow = delay_us === null ? '' : `, fsync +${delay_us / 1000} ms`;
  const goal = `${case_name}, ${in_flight} in flight, ${arrangement}${slow}: ≥ ${least} × the bare proxy`;
  const line = lineOf(result, { case_name, in_flight, arrangement, fsync_delay_us: delay_us });
  if (line?.ratio == null) return notMeasured(goal, whyOf(result, delay_us));
  const { median, min, max } = line.ratio;
  const measured = `${median.toFixed(2)} × (${min.toFixed(2)}–${max.toFixed(2)})`;
  // On a machine that stalled for a moment one ratio may be eighteen times too large.
  if (min < least && max >= least)
    return { goal, measured, verdict: 'undecided', why: 'the repetitions do not agree; measure it again' };
  return judged(goal, measured, median >= least);
}

function loopDelay(result: Measured): Goal {
  const goal = 'create, 256 in flight, free, fsync +1 ms: event loop late by ≤ 5 ms at p99';
  const line = lineOf(result, { case_name: 'create', in_flight: 256, arrangement: 'free', fsync_delay_us: 1000 });
  if (line?.loop_p99_ms == null) return notMeasured(goal, whyOf(result, 1000));
  return judged(goal, `${line.loop_p99_ms.median.toFixed(1)} ms`, line.loop_p99_ms.median <= 5);
}

/** Largest difference of memory over all measurements; held bodies would be 10 MB each. */
const LARGE_GROWTH_MB = 30;
/** Two cases with two numbers in flight. */
const LARGE_LINES = 4;

function flatMemory({ lines }: Measured): Goal {
  const goal = `upload and download of 10 MB, 1 and 8 in flight: memory flat (within ${LARGE_GROWTH_MB} MB)`;
  const spreads = lines
    .filter(({ contestant, arrangement }) => contestant === PUENTE && arrangement === 'one core')
    .filter(({ case_name }) => case_name === 'upload' || case_name === 'download')
    .flatMap(({ resident_mb }) => resident_mb ?? []);
  if (spreads.length < LARGE_LINES) return notMeasured(goal, NOT_ASKED);
  const growth = Math.max(...spreads.map(({ max }) => max)) - Math.min(...spreads.map(({ min }) => min));
  return judged(goal, `${growth.toFixed(0)} MB`, growth <= LARGE_GROWTH_MB);
}

function addedLatency(result: Measured, which: 'p50_ms' | 'p99_ms', most: number): Goal {
  const goal = `create, 1 in flight: added over direct ≤ ${most} ms at ${which.slice(0, 3)}`;
  const found = (['one core', 'free'] as const).flatMap((arrangement) => {
    const line = lineOf(result, { case_name: 'create', in_flight: 1, arrangement, fsync_delay_us: null });
    return line?.added == null ? [] : [{ arrangement, ms: line.added[which].median }];
  });
  if (found.length === 0) return notMeasured(goal, NOT_ASKED);
  const text = found.map(({ arrangement, ms }) => `${arrangement} ${ms.toFixed(2)} ms`).join(', ');
  return judged(goal, text, Math.max(...found.map(({ ms }) => ms)) <= most);
}

function sizeCost({ sizes }: Measured): Goal {
  const goal = 'cost of a create at 10^7 links ≤ 1.2 × that at 10^4';
  const [small, large] = [10_000, 10_000_000].map((links) => sizes?.find((one) => one.links === links));
  const largest = sizes?.at(-1);
  if (small === undefined || largest === undefined) return notMeasured(goal, NOT_ASKED);
  const cost = (largest.create.cpu_us.median / small.create.cpu_us.median).toFixed(2);
  if (large === undefined)
    return notMeasured(goal, `no 10^7 links (--sizes 10000,1000000,10000000); ${cost} × at ${largest.links} links`);
  return judged(goal, `${cost} ×`, Number(cost) <= 1.2);
}

/** Growth counts from this point, as the goal says. */
const SETTLED_REQUESTS = 50_000;
const MANY_REQUESTS = 1_000_000;

function memoryGoals({ memory }: Measured): Goal[] {
  const [grown, small] = ['≤ 1.1 × that after 50,000', 'below 250 MB'].map(
    (words) => `memory after 1,000,000 requests ${words}`,
  ) as [string, string]; // a pair
  const settled = memory?.points.find(({ requests }) => requests >= SETTLED_REQUESTS);
  const last = memory?.points.at(-1);
  if (settled?.resident_mb == null || last?.resident_mb == null)
    return [notMeasured(grown, NOT_ASKED), notMeasured(small, NOT_ASKED)];
  const goal = (name: string, text: string, is_met: boolean): Goal => {
    const measured = `${text} after ${last.requests} requests`;
    if (last.requests < MANY_REQUESTS) return notMeasured(name, `too few requests; ${measured}`);
    return judged(name, measured, is_met);
  };
  const growth = last.resident_mb / settled.resident_mb;
  return [
    goal(grown, `${growth.toFixed(2)} ×`, growth <= 1.1),
    goal(small, `${last.resident_mb.toFixed(0)} MB`, last.resident_mb < 250),
  ];
}

function readyAfter({ sizes }: Measured): Goal {
  const goal = 'ready after a start with 10^6 links, 1,000 of them in doubt: ≤ 2 s';
  const size = sizes?.find(({ links }) => links === 1_000_000);
  if (size === undefined) return notMeasured(goal, NOT_ASKED);
  return judged(goal, `${(size.ready_ms / 1000).toFixed(2)} s with ${size.in_doubt} in doubt`, size.ready_ms <= 2000);
}

function twoProcesses({ workers, not_measured }: Measured): Goal {
  const goal = 'two processes on PostgreSQL, a core each: ≥ 1.8 × one';
  if (workers === null) return notMeasured(goal, not_measured.find((why) => why.startsWith('workers')) ?? NOT_ASKED);
  const { median } = workers.own_cores_ratio;
  return judged(goal, `${median.toFixed(2)} × by processor time`, median >= 1.8);
}

function lineOf(
  { lines }: Measured,
  wanted: Pick<Line, 'case_name' | 'in_flight' | 'arrangement' | 'fsync_delay_us'>,
): Line | undefined {
  const [names, own] = [
    Object.entries(wanted),
    lines.filter((line) => line.contestant === PUENTE && line.rate === null),
  ];
  return own.find((line) => names.every(([name, value]) => line[name as keyof typeof wanted] === value));
}

function whyOf({ not_measured }: Measured, delay_us: number | null): string {
  return (delay_us === null ? undefined : not_measured.find((why) => why.startsWith('slow fsync'))) ?? NOT_ASKED;
}

function judged(goal: string, measured: string, isMet: boolean): Goal {
  return { goal, measured, verdict: isMet ? 'met' : 'missed', why: null };
}

function notMeasured(goal: string, why: string): Goal {
  return { goal, measured: null, verdict: 'not measured', why };
}
