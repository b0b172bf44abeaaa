/** The figures of a round: medians with spread, ratios within each repetition, and as a table. */
import Table from 'cli-table3';
import { BASELINE, contestants, DIRECT } from './contestants.ts';
import type { Machine } from './machine.ts';
import type { Round, Sample } from './round.ts';
import { type Spread, spreadOf } from './statistics.ts';

/** One line of the table: a contestant with so many requests in flight. */
interface Line {
  case_name: string;
  in_flight: number;
  contestant: string;
  per_second: Spread;
  /** To the baseline of the same repetition; absolute figures move with the machine, this is the result. */
  ratio: Spread;
  p50_ms: Spread;
  p99_ms: Spread;
  /** Minus the direct way of the same repetition. */
  added_p50_ms: Spread;
  added_p99_ms: Spread;
  cpu_us: Spread | null;
}

export function linesOf(samples: readonly Sample[]): Line[] {
  const groups = Map.groupBy(
    samples,
    ({ case_name, in_flight, contestant }) => `${case_name} ${in_flight} ${contestant}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [{ case_name, in_flight, contestant } = none] = group;
    const pairs = group.map((sample) => ({
      sample,
      baseline: partner(samples, sample, BASELINE),
      direct: partner(samples, sample, DIRECT),
    }));
    const cpu = group.flatMap(({ cpu_us }) => (cpu_us === null ? [] : [cpu_us]));
    return {
      case_name,
      in_flight,
      contestant,
      per_second: spreadOf(group.map(({ per_second }) => per_second)),
      ratio: spreadOf(pairs.map(({ sample, baseline }) => sample.per_second / baseline.per_second)),
      p50_ms: spreadOf(group.map(({ p50_ms }) => p50_ms)),
      p99_ms: spreadOf(group.map(({ p99_ms }) => p99_ms)),
      added_p50_ms: spreadOf(pairs.map(({ sample, direct }) => sample.p50_ms - direct.p50_ms)),
      added_p99_ms: spreadOf(pairs.map(({ sample, direct }) => sample.p99_ms - direct.p99_ms)),
      cpu_us: cpu.length === 0 ? null : spreadOf(cpu),
    };
  });
}

/** Every group has a member, so this only satisfies the index check. */
const none = { case_name: '', in_flight: 0, contestant: '' };

/** Another contestant's measurement of the same repetition. */
function partner(samples: readonly Sample[], of: Sample, contestant: string): Sample {
  const found = samples.find(
    (one) =>
      one.contestant === contestant &&
      one.case_name === of.case_name &&
      one.in_flight === of.in_flight &&
      one.repetition === of.repetition,
  );
  if (found === undefined) throw new Error(`There is no measurement of ${contestant} beside ${of.contestant}.`);
  return found;
}

/** A round for people. */
export function renderRound(round: Round): string {
  const table = new Table({
    head: [
      'case',
      'in flight',
      'contestant',
      'req/s (min–max)',
      `ratio to ${BASELINE}`,
      'p50 ms',
      'p99 ms',
      'CPU µs/req',
    ],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'left', 'right', 'right', 'right', 'right', 'right'],
  });
  const lines = linesOf(round.samples);
  for (const line of lines) {
    table.push([
      line.case_name,
      line.in_flight,
      line.contestant,
      withSpread(line.per_second, 0),
      line.contestant === BASELINE ? '1' : withSpread(line.ratio, 2),
      line.p50_ms.median.toFixed(2),
      line.p99_ms.median.toFixed(2),
      line.cpu_us === null ? '–' : line.cpu_us.median.toFixed(0),
    ]);
  }
  const cores =
    round.arrangement === 'one core'
      ? 'each contestant alone on core 1, upstream and load on core 0'
      : 'cores as the system likes';
  return [`Arrangement: ${round.arrangement} (${cores})`, table.toString(), ...addedLatency(lines)].join('\n');
}

function addedLatency(lines: readonly Line[]): string[] {
  return lines
    .filter(({ in_flight, contestant }) => in_flight === 1 && contestant !== DIRECT)
    .map(
      ({ case_name, contestant, added_p50_ms, added_p99_ms }) =>
        `Added latency of one ${case_name} through ${contestant}: p50 ${withSpread(added_p50_ms, 2)} ms, p99 ${withSpread(added_p99_ms, 2)} ms`,
    );
}

function withSpread({ median, min, max }: Spread, decimals: number): string {
  return `${median.toFixed(decimals)} (${min.toFixed(decimals)}–${max.toFixed(decimals)})`;
}

export function renderHead(machine: Machine): string {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Node ${machine.node}, ${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, ${machine.system}; one fsync ${machine.fsync_ms.toFixed(2)} ms`,
    versions.join(', '),
    ...contestants.map(({ name, what }) => `${name}: ${what}`),
    'Absolute figures are noise; the ratios, taken inside each repetition, are the result.',
  ].join('\n');
}

/** What was proved, or what was found wrong. */
export function renderChecks(rounds: readonly Round[]): string {
  return rounds
    .flatMap(({ arrangement, checks, faults }) => [
      ...checks.map(
        ({ what, expected, found }) =>
          `${found === expected ? 'ok   ' : 'WRONG'} ${arrangement}: ${what} ${found} of ${expected} answered`,
      ),
      ...faults.map((fault) => `WRONG ${arrangement}: ${fault}`),
    ])
    .join('\n');
}
