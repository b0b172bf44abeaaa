/** `puente fidelity`: the sandbox's assumptions and facts, run against a real test account; drift is printed and exits 1. */
import { type Command, Option } from 'commander';
import { withManual } from './help.ts';
import { exitCodes, type Output, print, startProgress, table } from './output.ts';

interface Line {
  name: string;
  result: 'same' | 'drift' | 'not_run';
  expected: string;
  seen: string | null;
  why: string | null;
  source: string;
}

interface Report {
  against: string;
  profile: string;
  merchant_id: string;
  site: string;
  calls: number;
  sums: Record<Line['result'], number>;
  lines: Line[];
  left_open: string[];
}

interface Options extends Output {
  against: string;
  tokenFile: string;
  profile: string;
  terminal?: string;
  till?: string;
  oldOrder?: string;
  live?: boolean;
}

/** Runs the probes; `src/cli.ts` provides it, because this module knows neither the sandbox nor the files of secrets. */
export type CheckFidelity = (options: Options, tell: (news: string) => void) => Promise<Report>;

export function addFidelityCommand(program: Command, check: CheckFidelity): void {
  const command = program
    .command('fidelity')
    .description('compare what the sandbox assumes about upstream with a real test account')
    .requiredOption('--against <url>', 'base URL of the API')
    .requiredOption('--token-file <file>', "file with the account's access token, which no other user may read")
    .addOption(
      new Option('--profile <profile>', 'whose assumptions are expected')
        .choices(['specification', 'field'])
        .default('specification'),
    )
    .option('--terminal <id>', 'a terminal without an order; without it the virtual one of test accounts')
    .option('--till <id>', 'a point of sale without an order, by its external id; without it no code is made')
    .option('--old-order <id>', 'an order that is older than three months')
    .option('--live', 'also on an account that is not one for tests')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      const progress = startProgress(options, 'fidelity');
      const report = await check(options, progress.tell).finally(() => progress.end());
      print(options, report, fidelityText(report));
      process.exitCode = report.sums.drift > 0 ? exitCodes.failed : exitCodes.done;
    });
  withManual(command, {
    notes: `
Some eighty calls in at most five minutes: creates with the smallest amounts, reads, cancels, refunds, wrong input, terminal modes.
Each shows one assumption of the sandbox, as puente doctor --settings lists them, or a fact that it holds. Every order
that is made is canceled, or refunded where upstream's own simulator has paid it, also after Ctrl-C; one that could not be is named. The
token is never printed. An account that is not for tests is refused without --live: GET /users/me must have the tag
test_user, or the token begin with TEST-. On such an account nothing is simulated, and only terminals and points of sale that you
name are used. What needs a person, a receiver of notifications or months is listed as not run, with the reason.
For an assumption that differs, set sandbox.settings (config/default.yaml), so that your tests meet what upstream does.`,
    examples: [
      'puente fidelity --against https://api.mercadopago.com --token-file test-seller.token',
      'puente fidelity --against http://127.0.0.1:8082 --token-file test-seller.token --till SUC001POS001 --json',
    ],
    exits: { done: 'no drift in what was run', failed: 'drift, or the run was refused' },
  });
}

function fidelityText({ against, profile, merchant_id, site, calls, sums, lines, left_open }: Report): string {
  const some = (result: Line['result']): Line[] => lines.filter((line) => line.result === result);
  const { same, drift, not_run } = sums;
  const shown = (title: string, text: string, count: number): string[] => (count === 0 ? [] : [`\n${title}`, text]);
  return [
    `${against}, merchant ${merchant_id} (${site}), ${calls} calls, against the profile ${profile}:`,
    `${same} as expected, ${drift} drifted, ${not_run} not run.`,
    ...shown(
      'Drift:',
      table({ assumption: 'name', expected: 'expected', seen: 'seen', about: 'source' }, some('drift')),
      drift,
    ),
    ...shown('As expected:', table({ assumption: 'name', value: 'seen' }, some('same')), same),
    ...shown('Not run:', table({ assumption: 'name', expected: 'expected', why: 'why' }, some('not_run')), not_run),
    ...(left_open.length === 0 ? [] : [`\nNot ended; cancel or refund them yourself: ${left_open.join(', ')}`]),
  ].join('\n');
}
