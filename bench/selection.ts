/** What a run consists of: the short one holds what matters most, `--all` holds everything. */
import { benchCases } from './cases/cases.ts';
import { BASELINE, contestants, DIRECT, isTranslation, PUENTE, PUENTE_BESIDE } from './contestants/contestants.ts';
import { canPin } from './machine.ts';
import type { RoundPlan } from './measures/round.ts';
import type { Arrangement } from './measures/stand.ts';
import { type Extra, extras, type Options } from './options.ts';

/** One round to come. */
export type Chosen = Pick<RoundPlan, 'arrangement' | 'cases' | 'contestants' | 'in_flight' | 'rate' | 'fsync_delay_us'>;

const SHORT_CASES = ['create', 'get-final', 'payment-search', 'carried', 'event'];
const SHORT_EXTRAS: Extra[] = ['arrivals', 'slow-disk', 'notices'];
const ALL_IN_FLIGHT = [1, 16, 64, 256];
/** Connections that arrivals may use; at a rate that a contestant can serve, a few of them are in use. */
const ARRIVALS_IN_FLIGHT = 256;

export function roundsOf(options: Options): Chosen[] {
  const rounds: Chosen[] = [];
  const field = fieldOf(options);
  const cases = casesOf(options);
  for (const arrangement of arrangementsOf(options.pin)) {
    const common = { arrangement, contestants: field, rate: null, fsync_delay_us: null };
    if (options.all || options.concurrency !== null) {
      if (cases.length > 0) rounds.push({ ...common, cases, in_flight: options.concurrency ?? ALL_IN_FLIGHT });
    } else {
      if (cases.includes('create')) rounds.push({ ...common, cases: ['create'], in_flight: [1, 64] });
      const others = cases.filter((name) => name !== 'create');
      if (others.length > 0) rounds.push({ ...common, cases: others, in_flight: [64] });
    }
    if (options.all)
      rounds.push({ ...common, cases: ['create', 'carried'], in_flight: [64], contestants: widest(options) });
    if (extrasOf(options).includes('slow-disk')) {
      const slowed = field.filter((name) => isTranslation(name) || [BASELINE, PUENTE, PUENTE_BESIDE].includes(name));
      for (const fsync_delay_us of options.all ? [...new Set([...options.fsync, 5000])] : options.fsync) {
        const in_flight = options.all ? [64, 256] : [256];
        rounds.push({ ...common, cases: ['create'], contestants: slowed, in_flight, fsync_delay_us });
      }
    }
    if (extrasOf(options).includes('arrivals')) {
      for (const rate of options.rate)
        rounds.push({ ...common, cases: ['create'], in_flight: [ARRIVALS_IN_FLIGHT], rate });
    }
  }
  return rounds;
}

export function extrasOf(options: Options): Extra[] {
  if (options.all) return [...extras];
  if (options.case === null) return SHORT_EXTRAS;
  return extras.filter((name) => options.case?.includes(name));
}

function casesOf(options: Options): string[] {
  if (options.all) return benchCases.map(({ name }) => name);
  const asked = options.case ?? SHORT_CASES;
  return benchCases.map(({ name }) => name).filter((name) => asked.includes(name));
}

/**
 * The bare proxy makes the ratios and the direct way the added latency, so that both always take part; but not where two
 * checkouts are held against each other.
 */
function fieldOf({ contestants: asked, beside }: Options): string[] {
  if (beside !== null)
    return [...everybody().filter((name) => name !== PUENTE && asked?.includes(name)), PUENTE_BESIDE, PUENTE];
  const field = [DIRECT, BASELINE, PUENTE];
  return asked === null ? field : everybody().filter((name) => field.includes(name) || asked.includes(name));
}

/** All that can take part. */
function widest({ beside }: Options): string[] {
  return beside === null ? everybody() : [...everybody(), PUENTE_BESIDE];
}

function everybody(): string[] {
  return contestants.filter(({ missing }) => missing() === null).map(({ name }) => name);
}

/** A machine that can't pin is measured free, and told so. */
function arrangementsOf(pin: Options['pin']): Arrangement[] {
  if (pin === 'free') return ['free'];
  if (canPin()) return pin === 'both' ? ['one core', 'free'] : ['one core'];
  process.stderr.write('Processes can not be bound to cores here (no taskset, or one core only): measured free.\n');
  return ['free'];
}
