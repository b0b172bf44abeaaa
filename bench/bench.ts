/** `npm run bench`: translated creates with their durable row, against a bare pass-through proxy, interleaved in one run. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { BASELINE } from './contestants.ts';
import { canPin, machineFacts } from './machine.ts';
import { killAll } from './processes.ts';
import { linesOf, renderChecks, renderHead, renderRound } from './report.ts';
import { type Round, type RoundPlan, runRound } from './round.ts';

interface Options {
  seconds: number;
  repetitions: number;
  warmUp: number;
  inFlight: number[];
  pin: 'both' | 'one-core' | 'free';
  json?: boolean;
  results: string;
  profile?: string;
}

const program = new Command('npm run bench --')
  .description(`Measures Puente against a ${BASELINE} on this machine. Exit code 1 when an answer or a count is wrong.`)
  .option('--seconds <seconds>', 'length of one measurement', positive, 2)
  .option('--warm-up <requests>', 'answered by each contestant before it is measured', wholePositive, 5000)
  .option('--repetitions <count>', 'measurements of each contestant, interleaved', wholePositive, 5)
  .option(
    '--in-flight <list>',
    'requests under way together, separated by commas; 1 shows the added latency',
    wholeList,
    [1, 16, 64],
  )
  .addOption(
    new Option('--pin <how>', 'processes bound to cores with taskset, free, or one after the other')
      .choices(['both', 'one-core', 'free'])
      .default('both'),
  )
  .option('--json', 'print the result as JSON instead of tables')
  .option(
    '--results <directory>',
    'where the JSON file goes; the databases lie there meanwhile',
    join(import.meta.dirname, 'results'),
  )
  .option('--profile <directory>', 'write CPU profiles of the contestants there; figures are lower then')
  .action((options: Options) => main(options));

async function main(options: Options): Promise<void> {
  const started_at = new Date().toISOString();
  mkdirSync(options.results, { recursive: true });
  const directory = mkdtempSync(join(options.results, 'run-'));
  const clean = (): void => {
    killAll();
    rmSync(directory, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      clean();
      process.exit(1);
    });
  }
  try {
    const machine = machineFacts(directory);
    const rounds: Round[] = [];
    for (const arrangement of arrangementsOf(options.pin)) {
      rounds.push(await runRound(planOf(options, arrangement, directory)));
    }
    const result = {
      started_at,
      machine,
      options: {
        seconds: options.seconds,
        warm_up: options.warmUp,
        repetitions: options.repetitions,
        in_flight: options.inFlight,
      },
      rounds: rounds.map((round) => ({ ...round, lines: linesOf(round.samples) })),
    };
    const file = join(options.results, `${started_at.replaceAll(':', '-')}.json`);
    writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
    const text = [renderHead(machine), ...rounds.map(renderRound), renderChecks(rounds), `Written to ${file}`].join(
      '\n\n',
    );
    process.stdout.write(`${options.json ? JSON.stringify(result) : text}\n`);
    const isRight = rounds.every(
      ({ checks, faults }) => faults.length === 0 && checks.every(({ expected, found }) => expected === found),
    );
    if (!isRight) process.exitCode = 1;
  } finally {
    clean();
  }
}

/** A machine that can't pin is measured free, and told so. */
function arrangementsOf(pin: Options['pin']): RoundPlan['arrangement'][] {
  if (pin === 'free') return ['free'];
  if (canPin()) return pin === 'both' ? ['one core', 'free'] : ['one core'];
  process.stderr.write('Processes can not be bound to cores here (no taskset, or one core only): measured free.\n');
  return ['free'];
}

function planOf(options: Options, arrangement: RoundPlan['arrangement'], directory: string): RoundPlan {
  return {
    arrangement,
    in_flight: options.inFlight,
    repetitions: options.repetitions,
    duration_ms: options.seconds * 1000,
    warm_up: options.warmUp,
    directory: join(directory, arrangement.replace(' ', '-')),
    profile: options.profile === undefined ? null : resolve(options.profile),
    progress: (text) => void process.stderr.write(`${text}\n`),
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('Give a number above 0.');
  return value;
}

function wholePositive(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('Give whole numbers above 0.');
  return Number(text);
}

function wholeList(text: string): number[] {
  return text.split(',').map(wholePositive);
}

await program.parseAsync();
