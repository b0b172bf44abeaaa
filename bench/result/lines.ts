/** The figures of a round: medians with spread, and ratios taken inside each repetition. */
import { BASELINE, DIRECT, PUENTE, PUENTE_BESIDE } from '../contestants/contestants.ts';
import type { Round, Sample } from '../measures/round.ts';
import { type Spread, spreadOf } from '../statistics.ts';

export interface Line {
  case_name: string;
  arrangement: Round['arrangement'];
  fsync_delay_us: number | null;
  in_flight: number;
  rate: number | null;
  contestant: string;
  generator: Sample['generator'];
  per_second: Spread;
  /** To the bare proxy of the same repetition; absolute figures move with the machine, so this is the result. */
  ratio: Spread | null;
  p50_ms: Spread;
  p99_ms: Spread;
  p999_ms: Spread;
  /** Minus the direct way of the same repetition. */
  added: { p50_ms: Spread; p99_ms: Spread; p999_ms: Spread } | null;
  cpu_us: Spread | null;
  /** To the bare proxy of the same repetition: the steadier ratio on a shared machine. */
  cpu_ratio: Spread | null;
  /** Only for Puente: to the other checkout's Puente of the same repetition. */
  beside: { ratio: Spread; cpu_ratio: Spread | null } | null;
  resident_mb: Spread | null;
  loop_p99_ms: Spread | null;
}

export function linesOf({ arrangement, fsync_delay_us, samples }: Round): Line[] {
  const groups = Map.groupBy(samples, (one) => `${one.case_name} ${one.in_flight} ${one.rate} ${one.contestant}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { case_name, in_flight, rate, contestant, generator } = first;
    const partners = (name: string) =>
      group.flatMap((sample) => {
        const other = partner(samples, sample, name);
        return other === undefined ? [] : [{ sample, other }];
      });
    const [baseline, direct] = [partners(BASELINE), partners(DIRECT)];
    const other = contestant === PUENTE ? partners(PUENTE_BESIDE) : [];
    const over = (pick: (one: Sample) => number): Spread =>
      spreadOf(direct.map(({ sample, other }) => pick(sample) - pick(other)));
    return [
      {
        case_name,
        arrangement,
        fsync_delay_us,
        in_flight,
        rate,
        contestant,
        generator,
        per_second: spreadOf(group.map(({ per_second }) => per_second)),
        ratio: spreadOrNull(baseline.map(rateRatio)),
        p50_ms: spreadOf(group.map(({ p50_ms }) => p50_ms)),
        p99_ms: spreadOf(group.map(({ p99_ms }) => p99_ms)),
        p999_ms: spreadOf(group.map(({ p999_ms }) => p999_ms)),
        added:
          direct.length === 0 || contestant === DIRECT
            ? null
            : {
                p50_ms: over(({ p50_ms }) => p50_ms),
                p99_ms: over(({ p99_ms }) => p99_ms),
                p999_ms: over(({ p999_ms }) => p999_ms),
              },
        cpu_us: spreadOrNull(group.map(({ cpu_us }) => cpu_us)),
        cpu_ratio: spreadOrNull(baseline.map(cpuRatio)),
        beside:
          other.length === 0
            ? null
            : { ratio: spreadOf(other.map(rateRatio)), cpu_ratio: spreadOrNull(other.map(cpuRatio)) },
        resident_mb: spreadOrNull(group.map(({ resident_mb }) => resident_mb)),
        loop_p99_ms: spreadOrNull(group.map(({ loop_p99_ms }) => loop_p99_ms)),
      },
    ];
  });
}

interface Pair {
  sample: Sample;
  other: Sample;
}

function rateRatio({ sample, other }: Pair): number {
  return sample.per_second / other.per_second;
}

function cpuRatio({ sample, other }: Pair): number | null {
  return sample.cpu_us === null || other.cpu_us === null ? null : sample.cpu_us / other.cpu_us;
}

function spreadOrNull(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : spreadOf(known);
}

function partner(samples: readonly Sample[], of: Sample, contestant: string): Sample | undefined {
  return samples.find(
    (one) =>
      one.contestant === contestant &&
      one.case_name === of.case_name &&
      one.in_flight === of.in_flight &&
      one.rate === of.rate &&
      one.repetition === of.repetition,
  );
}
