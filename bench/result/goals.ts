/** The goals of Puente's speed, as data, each compared with this run's figures. */
import { BARE_TRANSLATION, BASELINE, PUENTE } from '../contestants/contestants.ts';
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

/** The goals are for one process as shipped, with its rows in a file, unless they name PostgreSQL. */
export function goalsOf(run: Measured): Goal[] {
  const result = run.engine === 'PostgreSQL' ? { ...run, lines: [] } : run;
  return [
    tails(result, 'one core'),
    tails(result, 'free'),
    ...aloneBeside(result),
    ratio(result, 'create', 64, 'one core', 0.7),
    ratio(result, 'create', 64, 'free', 1),
    ratio(result, 'create', 256, 'free', 0.8, 1000),
    loopDelay(result),
    ...(['one core', 'free'] as const).flatMap((arrangement) => [
      ratio(result, 'get-final', 64, arrangement, 2),
      ratio(result, 'payment-search', 64, arrangement, 2),
      ratio(result, 'event', 64, arrangement, 1.8),
      ratio(result, 'proxied', 64, arrangement, 1),
      ratio(result, 'upload', 8, arrangement, 1),
      ratio(result, 'download', 8, arrangement, 1),
    ]),
    flatMemory(result),
    firstCalls(result),
    ...memoryGoals(result),
    sizeCost(result),
    readyAfter(result),
    ...saleCosts(result),
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

/** Without one of them the worst may be missing. */
const TAIL_CASES = ['create', 'get-final', 'payment-search', 'proxied', 'event'];

/** Largest p99 of a case over that of the bare proxy; each is the median of its repetitions. */
function tails({ lines }: Measured, arrangement: Line['arrangement']): Goal {
  const goal = `p99 of every case, 64 in flight, ${arrangement}: ≤ 1.5 × the bare proxy's`;
  const here = lines.filter(
    (line) =>
      line.in_flight === 64 && line.arrangement === arrangement && line.fsync_delay_us === null && line.rate === null,
  );
  const found = here
    .filter(({ contestant }) => contestant === PUENTE)
    .flatMap(({ case_name, p99_ms }) => {
      const bare = here.find((line) => line.contestant === BASELINE && line.case_name === case_name);
      return bare === undefined ? [] : [{ case_name, times: p99_ms.median / bare.p99_ms.median }];
    })
    .sort((one, other) => other.times - one.times);
  const [worst] = found;
  const is_whole = TAIL_CASES.every((name) => found.some(({ case_name }) => case_name === name));
  if (worst === undefined || !is_whole) return notMeasured(goal, NOT_ASKED);
  const text = found.map(({ case_name, times }) => `${case_name} ${times.toFixed(2)}`).join(', ');
  return judged(goal, text, worst.times <= 1.5);
}

/** Beside the bare translation, which commits as often and does nothing else. */
function aloneBeside(result: Measured): Goal[] {
  return (['p50_ms', 'p99_ms'] as const).map((which) => {
    const goal = `create, 1 in flight: added over direct at ${which.slice(0, 3)} ≤ 1.25 × that of the ${BARE_TRANSLATION}`;
    const found = (['one core', 'free'] as const).flatMap((arrangement) => {
      const wanted = { case_name: 'create', in_flight: 1, arrangement, fsync_delay_us: null };
      const [own, bare] = [lineOf(result, wanted), lineOf(result, wanted, BARE_TRANSLATION)];
      if (own?.added == null || bare?.added == null) return [];
      return [{ arrangement, ms: own.added[which].median, bare_ms: bare.added[which].median }];
    });
    if (found.length === 0) return notMeasured(goal, NOT_ASKED);
    const text = found.map(
      ({ arrangement, ms, bare_ms }) => `${arrangement} ${ms.toFixed(2)} of ${bare_ms.toFixed(2)} ms`,
    );
    return judged(
      goal,
      text.join(', '),
      found.every(({ ms, bare_ms }) => ms <= 1.25 * bare_ms),
    );
  });
}

function loopDelay(result: Measured): Goal {
  const goal = `create, 256 in flight, free, fsync +1 ms: event loop at p99 no later than 0.6 × the bare proxy's`;
  const wanted = { case_name: 'create', in_flight: 256, arrangement: 'free', fsync_delay_us: 1000 } as const;
  const [own, bare] = [lineOf(result, wanted), lineOf(result, wanted, BASELINE)];
  if (own?.loop_p99_ms == null || bare?.loop_p99_ms == null) return notMeasured(goal, whyOf(result, 1000));
  const [late_ms, bare_ms] = [own.loop_p99_ms.median, bare.loop_p99_ms.median];
  return judged(goal, `${late_ms.toFixed(1)} of ${bare_ms.toFixed(1)} ms`, late_ms <= 0.6 * bare_ms);
}

function firstCalls({ starts }: Measured): Goal {
  const goal = 'first 1,000 calls after a start: ≤ 1.5 × the time of as many when warm';
  if (starts === null) return notMeasured(goal, NOT_ASKED);
  const { median, min, max } = starts.first_calls;
  return judged(goal, `${median.toFixed(2)} × (${min.toFixed(2)}–${max.toFixed(2)})`, median <= 1.5);
}

/** Of a create, its payment, reads and notices. */
function saleCosts({ growth }: Measured): Goal[] {
  const [file, server] = (['SQLite', 'PostgreSQL'] as const).map((engine) =>
    growth?.find((one) => one.engine === engine),
  );
  const goal = (name: string, value: number | null | undefined, unit: string, per_unit: number, most: number): Goal => {
    const text = `${name} ≤ ${most} ${unit}`;
    if (value === null || value === undefined) return notMeasured(text, NOT_ASKED);
    return judged(text, `${(value / per_unit).toFixed(1)} ${unit}`, value / per_unit <= most);
  };
  return [
    goal('bytes written for a sale, SQLite:', file?.written_bytes_per_sale, 'kB', 1000, 60),
    goal('a sale on PostgreSQL, processor time of Puente:', server?.cpu_us_per_sale, 'ms', 1000, 4),
    goal('a sale on PostgreSQL, processor time of the server:', server?.server_cpu_us_per_sale, 'ms', 1000, 5),
  ];
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
  const [grown, small] = ['≤ 1.1 × that after 50,000', 'below 240 MB'].map(
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
    goal(small, `${last.resident_mb.toFixed(0)} MB`, last.resident_mb < 240),
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
  contestant = PUENTE,
): Line | undefined {
  const [names, own] = [
    Object.entries(wanted),
    lines.filter((line) => line.contestant === contestant && line.rate === null),
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
