/** `puente losses`, `coverage`, `unknowns`, `verdicts`: what evidence says, as tables. */
import { type Command, Option } from 'commander';
import type { Limitation } from '../../mapping/tables.ts';
import { differenceStates, type Verdict } from '../../proxy/records/evidence.ts';
import {
  type CoverageView,
  coverageStates,
  type LossView,
  lossWeights,
  type UnknownView,
  type VerdictView,
} from '../readiness/coverage.ts';
import { type DifferenceView, differenceKinds, judgements } from '../readiness/differences.ts';
import { saidOf } from '../readiness/facts.ts';
import type { ReadinessView } from '../readiness/readiness.ts';
import type { Finding } from '../readiness/verdict.ts';
import type { Assumption } from '../report/report.ts';
import { callOps, type OpsAddress } from './ops-client.ts';
import { common, exitCodes, type Output, print, tableOf, wholeNumber } from './output.ts';

interface LossOptions extends Output {
  merchant?: string;
  weight?: string;
  operation?: string;
  advice?: boolean;
}

interface CoverageOptions extends Output {
  state?: string;
  operation?: string;
}

export function addEvidenceCommands(program: Command): void {
  common(program.command('losses').description('what does not reach the order, money and identity first'))
    .option('--merchant <id>', 'of this merchant')
    .addOption(new Option('--weight <weight>', 'only these').choices(lossWeights))
    .option('--operation <name>', 'of this operation')
    .option('--advice', "only the sentences to send to the till's maker")
    .addHelpText('after', '\nExample:\n  puente losses --merchant 700100200 --advice > mail.txt')
    .action(losses);
  common(
    program
      .command('coverage <merchant>')
      .description('every field of every operation: equal, different, or not compared'),
  )
    .addOption(new Option('--state <state>', 'only these').choices(coverageStates))
    .option('--operation <name>', 'of this operation, even if it was never called')
    .addHelpText(
      'after',
      `
equal: it got through. different: it did not. seen: it was in calls that were carried to legacy, where nothing is compared.
carried: such calls came, and nobody looked whether it was in them. never seen: it never came.

Example:
  puente coverage 700100200 --state never_seen`,
    )
    .action(coverage);
  common(program.command('unknowns').description('endpoints, fields and headers that no table knows'))
    .option('--merchant <id>', 'of this merchant')
    .addHelpText('after', '\nWhat becomes of them: puente merchants set <merchant> --unknown-field carry --reason …')
    .action(unknowns);
  common(program.command('verdicts').description('what would have become of legacy creates as orders, refusals first'))
    .option('--merchant <id>', 'of this merchant')
    .addHelpText('after', '\nExample:\n  puente verdicts --merchant 700100200')
    .action(verdicts);
}

async function losses({ merchant, weight, operation, advice, ...options }: LossOptions): Promise<void> {
  const path = `/api/losses?${queryOf({ merchant, weight, operation })}`;
  const { losses } = (await callOps(options, 'GET', path)) as { losses: LossView[] }; // the API's own shape
  const head = ['merchant', 'weight', 'operation', 'field', 'really', 'on paper', 'last', 'why'];
  const rows = losses.map((one) => [
    one.merchant_id,
    one.weight,
    one.operation,
    one.field,
    one.real_count,
    one.would_be_count,
    one.last_at,
    one.why,
  ]);
  const hint = "\nThe sentences for the till's maker: puente losses --advice";
  const text = advice === true ? losses.map((one) => one.advice).join('\n') : `${tableOf(head, rows)}${hint}`;
  print(options, losses, losses.length === 0 ? 'Nothing is lost, as far as was seen.' : text);
}

async function coverage(merchant: string, { state, operation, ...options }: CoverageOptions): Promise<void> {
  const path = `/api/merchants/${encodeURIComponent(merchant)}/coverage?${queryOf({ state, operation })}`;
  const found = (await callOps(options, 'GET', path)) as CoverageView; // the API's own shape
  const rows = found.cells.map((one) => [
    one.operation,
    one.field,
    one.equal,
    one.different,
    one.state.replace('_', ' '),
    one.last_at ?? '',
  ]);
  const never = found.operations.filter(({ calls }) => calls === 0).map((one) => one.operation);
  const cells = tableOf(['operation', 'field', 'equal', 'different', 'state', 'last'], rows);
  const text = [
    rows.length === 0 ? 'No cell is like that.' : cells,
    ...(never.length === 0 ? [] : [`Operations never seen: ${never.join(', ')}`]),
  ];
  print(options, found, text.join('\n'));
}

async function unknowns({ merchant, ...options }: Output & { merchant?: string }): Promise<void> {
  const answer = await callOps(options, 'GET', `/api/unknowns?${queryOf({ merchant })}`);
  const { unknowns } = answer as { unknowns: UnknownView[] }; // the API's own shape
  const rows = unknowns.map((one) => [one.merchant_id, one.what, one.name, one.count, one.first_at, one.last_at]);
  const text = tableOf(['merchant', 'what', 'name', 'count', 'first', 'last'], rows);
  print(options, unknowns, rows.length === 0 ? 'The tables know everything that came.' : text);
}

async function verdicts({ merchant, ...options }: Output & { merchant?: string }): Promise<void> {
  const answer = await callOps(options, 'GET', `/api/verdicts?${queryOf({ merchant })}`);
  const { verdicts } = answer as { verdicts: VerdictView[] }; // the API's own shape
  const rows = verdicts.map((one) => [
    one.merchant_id,
    one.operation,
    one.verdict.replace('_', ' '),
    one.code ?? '',
    one.detail ?? '',
    one.count,
    one.last_at,
  ]);
  const text = tableOf(['merchant', 'operation', 'verdict', 'code', 'rule', 'count', 'last'], rows);
  print(options, verdicts, rows.length === 0 ? 'No create was shadowed yet: puente stage <merchant> shadow' : text);
}

function queryOf(named: Record<string, string | undefined>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(named)) if (value !== undefined) query.set(name, value);
  return query;
}

// `puente differences`: where the sides differ, and what people have said about it.

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

// `puente limitations` and `puente assumptions`: where Puente differs from legacy, and what it takes for granted.

export function addRegisterCommands(program: Command): void {
  common(program.command('limitations').description('where a till sees something else than legacy showed it'))
    .addHelpText('after', '\nExample:\n  puente limitations')
    .action(limitations);
  common(program.command('assumptions').description('what the specification leaves open, as it is set here'))
    .addHelpText('after', '\nExample:\n  puente assumptions --json')
    .action(assumptions);
}

async function limitations(options: Output): Promise<void> {
  const { limitations } = (await callOps(options, 'GET', '/api/limitations')) as { limitations: Limitation[] }; // the API's own shape
  const rows = limitations.map(({ id, title, effect, workaround }) => `${id}  ${title}\n  ${effect}\n  ${workaround}`);
  print(options, limitations, rows.join('\n\n'));
}

async function assumptions(options: Output): Promise<void> {
  const { assumptions } = (await callOps(options, 'GET', '/api/assumptions')) as { assumptions: Assumption[] }; // the API's own shape
  print(
    options,
    assumptions,
    tableOf(
      ['setting', 'value'],
      assumptions.map(({ name, value }) => [name, value]),
    ),
  );
}

// `puente can-migrate`: may this merchant move; the gate of pipelines, with exit codes.

const EXIT: Record<Verdict, number> = {
  ready: exitCodes.done,
  blocked: exitCodes.blocked,
  inconclusive: exitCodes.inconclusive,
};

export function addReadinessCommands(program: Command): void {
  common(
    program.command('can-migrate <merchant>').description('may this merchant move; what blocks it, what is unproven'),
  )
    .addHelpText(
      'after',
      `
Judged is the next move: to shadow or a canary, and of what is on a canary to orders, which needs reads, cancels and refunds
that went well on orders. Too little traffic is inconclusive, never ready. Each finding names the command that shows it, mends it or proves it.

Examples:
  puente can-migrate 700100200
  puente can-migrate 700100200 --json > verdict.json && puente stage 700100200 canary --share 5 --reason "proven"`,
    )
    .action(async (merchant: string, options: Output) => {
      const path = `/api/merchants/${encodeURIComponent(merchant)}/readiness`;
      const readiness = (await callOps(options, 'GET', path)) as ReadinessView; // the API's own shape
      print(options, readiness, readinessText(readiness));
      process.exitCode = EXIT[readiness.verdict];
    });
}

const SAYS: Record<Verdict, string> = {
  ready: 'READY for the next move: nothing is in the way',
  blocked: 'BLOCKED: mend what blocks first',
  inconclusive: 'INCONCLUSIVE: nothing blocks, and too little is proven to say that it works',
};

/** Ready is no promise beyond what was seen: what is not proven is named beside it. */
function headline({ merchant_id, verdict, operations, unproven }: ReadinessView): string {
  const open = operations.filter((one) => one.verdict === 'inconclusive').map(({ operation }) => operation);
  const left = [
    ...(open.length === 0 ? [] : [`too few calls of ${open.join(', ')}`]),
    ...(unproven.length === 0 ? [] : ['what is listed below']),
  ];
  const rest = verdict !== 'ready' || left.length === 0 ? '' : `; not proven: ${left.join(', and ')}`;
  return `${merchant_id} is ${SAYS[verdict]}${rest}.`;
}

/** Verdict, findings and calls, for people. */
export function readinessText(readiness: ReadinessView): string {
  const { judged_at, tables_revision, operations, verdict } = readiness;
  const calls = tableOf(
    ['operation', 'calls', 'ok', 'business', 'auth', 'fault', 'verdict'],
    operations.map((one) => [
      one.operation,
      one.calls,
      one.outcomes.ok,
      one.outcomes.business,
      one.outcomes.auth,
      one.outcomes.fault,
      one.verdict,
    ]),
  );
  return [
    headline(readiness),
    `Judged at ${judged_at} by tables ${tables_revision}.`,
    section('Blockers', readiness.blockers),
    section(verdict === 'ready' ? 'Not proven, and not in the way of the next move' : 'Unproven', readiness.unproven),
    section('Remarks', readiness.remarks),
    operations.length === 0 ? 'No call of this merchant was seen.' : calls,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function section(title: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return '';
  const lines = findings.map(({ what, command }) => `  - ${what}${command === null ? '' : `\n    ${command}`}`);
  return `\n${title} (${findings.length}):\n${lines.join('\n')}`;
}
