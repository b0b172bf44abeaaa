/** `puente fidelity`: the sandbox's assumptions and facts, run against a real test account; drift is printed and exits 1. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { readSecret } from '../config/config.ts';
import { isLoopback } from '../config/contradictions.ts';
import { baseUrl } from '../config/kinds.ts';
import { PuenteError } from '../error.ts';
import { withManual } from '../ops/cli/help.ts';
import { exitCodes, type Output, print, startProgress, table } from '../ops/cli/output.ts';
import { profiles } from '../sandbox/assumptions.ts';
import { type FidelityLine, type FidelityReport, runFidelity } from '../sandbox/fidelity/run.ts';

/** The options of the command, as typed. */
export interface FidelityOptions extends Output {
  against: string;
  tokenFile: string;
  profile: string;
  terminal?: string;
  till?: string;
  oldOrder?: string;
  live?: boolean;
}

/** Adds options, help and action to the command. */
export function fillFidelity(command: Command): void {
  command
    .requiredOption('--against <url>', 'base URL of the API')
    .requiredOption('--token-file <file>', "file with the account's access token, which no other user may read")
    .addOption(
      new Option('--profile <profile>', 'whose assumptions are expected').choices(profiles).default('specification'),
    )
    .option('--terminal <id>', 'a terminal without an order; without it the virtual one of test accounts')
    .option('--till <id>', 'a point of sale without an order, by its external id; without it no code is made')
    .option('--old-order <id>', 'an order that is older than three months')
    .option('--live', 'also on an account that is not one for tests')
    .option('--json', 'print JSON')
    .action(async (options: FidelityOptions) => {
      const progress = startProgress(options, 'fidelity');
      const report = await checkFidelity(process.cwd(), options, progress.tell).finally(() => progress.end());
      print(options, report, fidelityText(report));
      process.exitCode = report.sums.drift > 0 ? exitCodes.failed : exitCodes.done;
    });
  withManual(command, {
    notes: `
Some eighty calls in at most five minutes: creates with the smallest amounts, reads, cancels, refunds, wrong input, terminal modes.
Each shows one assumption of the sandbox, as \`puente doctor --settings\` lists them, or a fact that it holds. Every order
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

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Ends what it has made at a signal, too. @throws PuenteError bad_request for a wrong option or a file that others may read, and as `runFidelity`. */
export async function checkFidelity(
  cwd: string,
  { against, tokenFile, profile: wanted, terminal, till, oldOrder, live }: FidelityOptions,
  tell: (news: string) => void,
): Promise<FidelityReport> {
  const url = baseUrl().safeParse(against).data;
  const { protocol, hostname } = new URL(url ?? 'http://0.0.0.0');
  // The token of an account goes there.
  if (url === undefined || (protocol === 'http:' && !isLoopback(hostname.replaceAll(/[[\]]/g, ''))))
    throw new PuenteError(
      'bad_request',
      '--against: give the base URL of the API, such as https://api.mercadopago.com, without credentials, query or fragment; http is for this machine only.',
    );
  const profile = profiles.find((one) => one === wanted);
  if (profile === undefined) throw new PuenteError('bad_request', `--profile: choose ${profiles.join(' or ')}.`);
  const refusals: string[] = [];
  const token = readSecret(resolve(cwd, tokenFile), '--token-file', refusals);
  if (token === null) throw new PuenteError('bad_request', refusals.join(' '));
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new PuenteError('bad_request', `--token-file: ${tokenFile} must hold one access token and nothing else.`);
  const named = { terminal: terminal ?? null, till: till ?? null, old_order: oldOrder ?? null, live: live === true };
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  // A second signal ends the process at once.
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await runFidelity({ against: url, token, profile, ...named }, tell, stop.signal);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, interrupt);
  }
}

function fidelityText({ against, profile, merchant_id, site, calls, sums, lines, left_open }: FidelityReport): string {
  const some = (result: FidelityLine['result']): FidelityLine[] => lines.filter((line) => line.result === result);
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
