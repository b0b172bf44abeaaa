/** `puente losses`, `coverage`, `unknowns`, `verdicts`: what evidence says, as tables. */
import { type Command, Option } from 'commander';
import { type CoverageView, coverageStates } from '../readiness/coverage.ts';
import { type LossView, lossWeights } from '../readiness/losses.ts';
import type { UnknownView, VerdictView } from '../readiness/unknowns.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print } from './output.ts';
import { tableOf } from './table.ts';

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
