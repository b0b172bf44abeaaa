/** What `npm run bench --` can be asked for. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { benchCases } from './cases/cases.ts';
import { contestants } from './contestants/contestants.ts';
import type { Engine } from './measures/databases.ts';

/** What is measured beside the cases, each in a way of its own. */
export const extras = [
  'arrivals',
  'slow-disk',
  'notices',
  'sizes',
  'starts',
  'growth',
  'retention',
  'memory',
  'instructions',
  'workers',
] as const;
export type Extra = (typeof extras)[number];

export interface Options {
  all: boolean;
  /** Names of cases and extras; null is the default choice. */
  case: string[] | null;
  concurrency: number[] | null;
  contestants: string[] | null;
  /** Another checkout of Puente to measure in turn with this one. */
  beside: string | null;
  /** Whether Puente's rows lie on a PostgreSQL server instead of in a file. */
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
 * V8 goes on compiling for so long: its compile threads took 150 µs of processor time for each create after the first 8,000,
 * 82, 41 and 46 after the next three times as many, and 2 for each request of the bare proxy from the start.
 */
const WARM_UP = 25_000;

const names = [...benchCases.map(({ name }) => name), ...extras];

/** @param action runs with the options. */
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
    .option('--postgres', "Puente's rows on a PostgreSQL server, whose processor time counts as its own", false)
    .addOption(
      new Option('--pin <how>', 'processes bound to cores with taskset, free, or one after the other')
        .choices(['both', 'one-core', 'free'])
        .default('both'),
    )
    .option('--plain', 'without nginx, HAProxy and wrk even where they are installed, as on a fresh machine', false)
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

/** The root of another checkout that can be started. */
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
