/** `puente differences`: where the sides differ, and what people have said about it. */
import { type Command, Option } from 'commander';
import { differenceStates } from '../../proxy/records/evidence.ts';
import { type DifferenceView, differenceKinds, judgements } from '../readiness/differences.ts';
import { saidOf } from '../readiness/words.ts';
import { callOps, type OpsAddress } from './ops-client.ts';
import { common, type Output, print, wholeNumber } from './output.ts';
import { tableOf } from './table.ts';

interface ListOptions extends Output {
  merchant?: string;
  state?: string;
  what?: string;
  operation?: string;
  limit?: number;
}

interface JudgeOptions extends Output {
  note: string;
  until?: string;
  revision?: number;
}

export function addDifferencesCommands(program: Command): void {
  const differences = program
    .command('differences')
    .description('where legacy and orders differ, grouped by signature');
  common(differences.command('list').description('those that nobody has judged first'))
    .option('--merchant <id>', 'of this merchant')
    .addOption(new Option('--state <state>', 'only these').choices(differenceStates))
    .addOption(new Option('--what <kind>', 'verdict, error, or a value of an answer').choices(differenceKinds))
    .option('--operation <name>', 'of this operation, such as point.create_intent')
    .option('--limit <number>', 'at most so many (default 100)', wholeNumber)
    .addHelpText('after', '\nExample:\n  puente differences list --merchant 700100200 --state new')
    .action(list);
  common(
    differences.command('show <merchant> <signature>').description('one difference, with what each side said'),
  ).action(async (merchant: string, signature: string, options: Output) => {
    const one = await view(options, merchant, signature);
    print(options, one, details(one));
  });
  common(
    differences
      .command('judge')
      .argument('<merchant>')
      .argument('<signature>')
      .argument('<state>', `${judgements.join(', ')}`)
      .description('say what a difference is; it no longer blocks'),
  )
    .requiredOption('--note <text>', 'why, for the audit trail')
    .option('--until <instant>', 'when it becomes new again; needed for accepted, at most 90 days away')
    .option('--revision <number>', 'refuse unless it is at this revision (default: the current one)', wholeNumber)
    .addHelpText(
      'after',
      `
explained: it is no difference for the till. accepted: it is one, and may be until a date; then it is new again.
fixed: it should not come again; when it does, it is new.

Examples:
  puente differences judge 700100200 0a1b2c3d4e5f6071 explained --note "the till does not read this field"
  puente differences judge 700100200 0a1b2c3d4e5f6071 accepted --until 2026-12-31T00:00:00Z --note "agreed with the shop"`,
    )
    .action(judge);
}

async function list({ merchant, state, what, operation, limit, ...options }: ListOptions): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ merchant, state, what, operation, limit })) {
    if (value !== undefined) query.set(name, String(value));
  }
  const answer = await callOps(options, 'GET', `/api/differences?${query}`);
  const { differences } = answer as { differences: DifferenceView[] }; // the API's own shape
  print(options, differences, differences.length === 0 ? 'No difference is like that.' : listed(differences));
}

async function judge(merchant: string, signature: string, state: string, options: JudgeOptions): Promise<void> {
  const { note, until, revision } = options;
  const body = {
    state,
    note,
    revision: revision ?? (await view(options, merchant, signature)).revision,
    ...(until === undefined ? {} : { accepted_until: until }),
  };
  const judged = (await callOps(options, 'PUT', pathOf(merchant, signature), body)) as DifferenceView; // the API's own shape
  print(options, judged, details(judged));
}

async function view(options: OpsAddress, merchant: string, signature: string): Promise<DifferenceView> {
  return (await callOps(options, 'GET', pathOf(merchant, signature))) as DifferenceView; // the API's own shape
}

function pathOf(merchant: string, signature: string): string {
  return `/api/differences/${encodeURIComponent(merchant)}/${encodeURIComponent(signature)}`;
}

/** Longer texts are whole in `differences show`. */
const SHORT = 48;

function listed(differences: DifferenceView[]): string {
  return tableOf(
    ['merchant', 'signature', 'state', 'operation', 'what', 'path', 'legacy', 'orders', 'count', 'last'],
    differences.map((one) => [
      one.merchant_id,
      one.signature,
      one.state,
      one.operation,
      one.what,
      one.path,
      one.legacy.slice(0, SHORT),
      saidOf(one.orders).slice(0, SHORT),
      one.count,
      one.last_at,
    ]),
  );
}

function details(one: DifferenceView): string {
  const facts = Object.entries({ ...one, orders: saidOf(one.orders) }).map(([name, value]) => [
    name,
    String(value ?? 'none'),
  ]);
  return `${tableOf(['fact', 'value'], facts)}\nIts newest call: puente trace ${one.sample}`;
}
