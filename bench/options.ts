/** Options of `npm run bench --`, and the rounds of a run. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { benchCases } from './cases/cases.ts';
import { BASELINE, contestants, DIRECT, isTranslation, PUENTE, PUENTE_BESIDE } from './contestants/contestants.ts';
import { canPin } from './machine.ts';
import type { Engine } from './measures/databases.ts';
import type { RoundPlan } from './measures/round.ts';
import type { Arrangement } from './measures/stand.ts';
import { ROOT } from './processes.ts';

/** Measurements besides the cases, each of its own kind. */
export const extras = ['arrivals', 'slow-disk', 'sizes', 'starts', 'growth', 'retention', 'memory', 'workers'] as const;
export type Extra = (typeof extras)[number];

export interface Options {
  all: boolean;
  /** Names of cases and extras; null is the default choice. */
  case: string[] | null;
  concurrency: number[] | null;
  contestants: string[] | null;
  /** Another checkout of Puente to measure in turn with this one. */
  beside: string | null;
  /** A folder from which the gateway can be resolved; elsewhere it takes no part. */
  gateway: string;
  /** Whether Puente's rows are on a PostgreSQL server instead of in a file. */
  postgres: boolean;
  pin: 'both' | 'one-core' | 'free';
  plain: boolean;
  seconds: number;
  warmUp: number;
  repetitions: number;
  rate: number[];
  fsync: number[];
  sizes: number[];
  sales: number;
  requests: number;
  json: string | null;
  saveBaseline: boolean;
  compare: boolean;
  results: string;
  profile: string | null;
}

/**
 * V8 compiles for this many requests: its compile threads took 150 µs of processor time for each create after the first
 * 8,000; 82, 41 and 46 after the next three times as many; and 2 for each request of the bare proxy from the start.
 */
const WARM_UP = 25_000;

const names = [...benchCases.map(({ name }) => name), ...extras];

export function program(action: (options: Options) => Promise<void>): Command {
  return new Command('npm run bench --')
    .description(
      'Measures Puente against bare proxies on this machine, interleaved, in about a quarter of an hour; --all takes more than an hour. Exit code 1 when an answer or a count is wrong, 3 when --compare finds something worse.',
    )
    .addHelpText('after', `\nCases: ${names.join(', ')}`)
    .option('--all', 'every case, concurrency, contestant and extra', false)
    .option('--case <names>', 'only these, separated by commas', nameList(names), null)
    .option('--concurrency <list>', 'requests under way together; 1 shows the added latency', wholeList, null)
    .option(
      '--contestants <names>',
      'these beside the direct way, the bare proxy and Puente',
      nameList(contestants.map(({ name }) => name)),
      null,
    )
    .option(
      '--beside <checkout>',
      'Puente of another checkout (its `npm ci` done) in turn with this one, and nobody else unless --contestants names them',
      checkout,
      null,
    )
    .addOption(
      new Option(
        '--gateway <folder>',
        'where the contestant gateway is installed: `npm install @portkey-ai/gateway@1.15.2` in an empty folder',
      )
        .env('BENCH_GATEWAY')
        .default(ROOT, 'this checkout'),
    )
    .option('--postgres', "Puente's rows on a PostgreSQL server, whose processor time counts as its own", false)
    .addOption(
      new Option('--pin <how>', 'processes bound to cores with taskset, free, or one after the other')
        .choices(['both', 'one-core', 'free'])
        .default('both'),
    )
    .option('--plain', 'without nginx and wrk even where they are installed, as on a fresh machine', false)
    .option('--seconds <seconds>', 'length of one measurement; wrk takes whole seconds', positive, 2)
    .option('--warm-up <requests>', 'answered by each contestant before it is measured', whole, WARM_UP)
    .option('--repetitions <count>', 'measurements of each contestant, interleaved', whole, 3)
    .option('--rate <list>', 'fixed arrivals a second', wholeList, [200, 1000])
    .option('--fsync <list>', 'µs that an fsync takes longer', wholeList, [1000])
    .option(
      '--sizes <list>',
      'links in the database; 10^7 takes some 20 GB of disk and half an hour',
      wholeList,
      [10_000, 1_000_000],
    )
    .option('--sales <count>', 'whole sales of `growth`, and of one day of `retention`', whole, 3000)
    .option('--requests <count>', 'how many the memory is watched for', whole, 1_000_000)
    .option('--json <file>', 'write the result there, too', (text) => text, null)
    .option('--save-baseline', 'keep the result to compare later ones with', false)
    .option('--compare', 'against the saved one', false)
    .option(
      '--results <directory>',
      'where the JSON files go; the databases lie there meanwhile',
      join(import.meta.dirname, 'results'),
    )
    .option(
      '--profile <directory>',
      'write CPU profiles of the contestants there, and show where their time goes; figures are lower then',
      (text) => text,
      null,
    )
    .action((options: Options) => action(options));
}

export function engineOf({ postgres }: Pick<Options, 'postgres'>): Engine {
  return postgres ? 'PostgreSQL' : 'SQLite';
}

function nameList(known: readonly string[]) {
  return (text: string): string[] => {
    const asked = text.split(',');
    const unknown = asked.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new InvalidArgumentError(`There is no ${unknown}; there are ${known.join(', ')}.`);
    return asked;
  };
}

function checkout(text: string): string {
  const root = resolve(text);
  for (const needed of ['src/main.ts', 'node_modules'])
    if (!existsSync(join(root, needed)))
      throw new InvalidArgumentError(`There is no ${needed} in ${root}: name a clone of Puente where npm ci has run.`);
  return root;
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('Give a number above 0.');
  return value;
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new InvalidArgumentError('Give whole numbers above 0.');
  return Number(text);
}

function wholeList(text: string): number[] {
  return text.split(',').map(whole);
}

export type Chosen = Pick<RoundPlan, 'arrangement' | 'cases' | 'contestants' | 'in_flight' | 'rate' | 'fsync_delay_us'>;

const everybody = contestants.map(({ name }) => name);
const SHORT_CASES = ['create', 'get-final', 'payment-search', 'proxied', 'event'];
const SHORT_EXTRAS: Extra[] = ['arrivals', 'slow-disk'];
const ALL_IN_FLIGHT = [1, 16, 64, 256];
/** Connections for arrivals; at a rate that a contestant can serve, a few are in use. */
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
      rounds.push({
        ...common,
        cases: ['create', 'proxied'],
        in_flight: [64],
        contestants: [...everybody, ...(options.beside === null ? [] : [PUENTE_BESIDE])],
      });
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
 * The bare proxy is the base of the ratios and the direct way that of added latency, so both always take part, except
 * when two checkouts are compared.
 */
function fieldOf({ contestants: asked, beside }: Options): string[] {
  if (beside !== null)
    return [...everybody.filter((name) => name !== PUENTE && asked?.includes(name)), PUENTE_BESIDE, PUENTE];
  const field = [DIRECT, BASELINE, PUENTE];
  return asked === null ? field : everybody.filter((name) => field.includes(name) || asked.includes(name));
}

/** A machine that cannot pin is measured free, with a message. */
function arrangementsOf(pin: Options['pin']): Arrangement[] {
  if (pin === 'free') return ['free'];
  if (canPin()) return pin === 'both' ? ['one core', 'free'] : ['one core'];
  process.stderr.write('Processes can not be bound to cores here (no taskset, or one core only): measured free.\n');
  return ['free'];
}
