/** `puente fleet`: every merchant at a glance, as the console's board shows it. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { stages } from '../../proxy/routing/merchant.ts';
import type { AuditView, ChainReport } from '../audit.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { FleetLine, LanePulse } from '../fleet/line.ts';
import { fleetSorts, fleetVerdicts } from '../fleet/select.ts';
import { factText } from '../report/html.ts';
import type { DecisionLine } from '../report/report.ts';
import { callOps } from './ops-client.ts';
import { common, exitCodes, type Output, plain, print, tableOf, wholeNumber } from './output.ts';

interface FleetOptions extends Output {
  search?: string;
  stage?: string;
  readiness?: string;
  attention?: boolean;
  sort?: string;
  reversed?: boolean;
  page?: number;
  perPage?: number;
}

const HELP = `
Rates, faults and waits are those of the last hour; faults are ours or the service's, never a shop's or a card's.
Verdicts are made in the background while somebody looks: "unjudged" means that a second look a little later knows more;
puente can-migrate <merchant> judges one at once.

Examples:
  puente fleet
  puente fleet --attention
  puente fleet --stage canary --sort p99
  puente fleet --json --per-page 500 --page 2`;

export function addFleetCommands(program: Command): void {
  common(
    program.command('fleet').description('every merchant: stage, health of both lanes, drain, readiness, incident'),
  )
    .option('--search <text>', "only those with this in their merchant's id")
    .addOption(new Option('--stage <stage>', 'only those on this stage').choices(stages))
    .addOption(new Option('--readiness <verdict>', 'only those with this verdict').choices(fleetVerdicts))
    .option('--attention', 'only those that want to be looked at')
    .addOption(new Option('--sort <by>', 'in this order (default: attention)').choices(fleetSorts))
    .option('--reversed', 'the other way round')
    .option('--page <number>', 'this page', wholeNumber)
    .option('--per-page <number>', 'so many on a page (default 50, at most 500)', wholeNumber)
    .addHelpText('after', HELP)
    .action(fleet);
}

async function fleet(options: FleetOptions): Promise<void> {
  const { search, stage, readiness, attention, sort, reversed, page, perPage } = options;
  const order = reversed === true ? 'reversed' : undefined;
  const asked = { search, stage, readiness, attention, sort, order, page, per_page: perPage };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) if (value !== undefined) query.set(name, String(value));
  const view = (await callOps(options, 'GET', `/api/fleet?${query}`)) as FleetView; // the API's own shape
  print(options, view, view.found === 0 ? none(view) : listed(view));
}

function none({ totals }: FleetView): string {
  return totals.merchants === 0
    ? 'No merchant has called yet, and none is set. Point a till at Puente, or set one: puente merchants set <merchant> --reason …'
    : 'No merchant is like that.';
}

function listed({ merchants, found, page, pages, totals, at }: FleetView): string {
  const head = ['merchant', 'stage', 'legacy', 'orders', 'open', 'drain', 'readiness', 'last incident'];
  const { legacy, shadow, canary, orders } = totals.stages;
  const sums = `${totals.merchants} merchants: ${legacy} legacy, ${shadow} shadow, ${canary} canary, ${orders} orders; ${totals.attention} to look at`;
  return [sums, tableOf(head, merchants.map(rowOf)), `${found} found, page ${page} of ${pages}, at ${at}`].join('\n');
}

function rowOf(line: FleetLine): string[] {
  const { merchant_id, health, open, draining, readiness, last_incident } = line;
  const verdict = readiness === null ? 'unjudged' : readiness.verdict;
  return [
    merchant_id,
    stageText(line),
    pulseText(health.legacy),
    pulseText(health.orders),
    `${open.orders} orders, ${open.legacy} legacy${open.in_doubt > 0 ? `, ${open.in_doubt} in doubt` : ''}`,
    draining === null ? '' : `${draining.open} on ${draining.lane}`,
    (readiness?.blockers ?? 0) > 0 ? `${verdict} (${readiness?.blockers})` : verdict,
    last_incident === null ? '' : `${last_incident.at} ${last_incident.what}`,
  ];
}

function stageText({ intended, share, apart, stopped }: FleetLine): string {
  const own = intended === 'canary' ? `canary ${share} %` : intended;
  const others = apart.map(({ kind, stage }) => `${kind} ${stage}`);
  const stops = stopped.length > 0 ? [`stopped: ${stopped.join(', ')}`] : [];
  return [own, ...others, ...stops].join('; ');
}

function pulseText(pulse: LanePulse | null): string {
  if (pulse === null) return '';
  const { per_minute, fault_share, p50_ms, p99_ms } = pulse;
  return `${per_minute}/min, ${fault_share} % faults, ${p50_ms}/${p99_ms} ms`;
}

// `puente incidents`: what Puente noticed or did by itself.

interface IncidentOptions extends Output {
  merchant?: string;
  since?: string;
  until?: string;
  limit?: number;
}

export function addIncidentCommands(program: Command): void {
  common(program.command('incidents').description('safety stops, settlements and mismatches, newest first'))
    .option('--merchant <id>', 'of this merchant')
    .option('--since <instant>', 'then or later, such as 2026-01-31T09:00:00Z (default: thirty days ago)')
    .option('--until <instant>', 'before then')
    .option('--limit <number>', 'at most so many (default 100)', wholeNumber)
    .addHelpText('after', '\nExample:\n  puente incidents --merchant 700100200')
    .action(list);
}

async function list({ merchant, since, until, limit, ...options }: IncidentOptions): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ merchant, since, until, limit }))
    if (value !== undefined) query.set(name, String(value));
  const view = (await callOps(options, 'GET', `/api/incidents?${query}`)) as {
    incidents: DecisionLine[];
    left_out: number;
  }; // the API's own shape
  const rows = view.incidents.map(({ at, action, subject, reason }) => [at, action, subject, reason]);
  const more = view.left_out > 0 ? `\n${view.left_out} older ones are not listed; --until reaches them.` : '';
  const text = rows.length === 0 ? 'No incident in this period.' : tableOf(['at', 'what', 'about', 'why'], rows) + more;
  print(options, view, text);
}

// `puente audit`: who decided what and why, and the proof that nobody changed it.

interface ListOptions extends Output {
  subject?: string;
  action?: string;
  since?: string;
  until?: string;
  limit?: number;
}

export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .description('decisions: who, when, why; and the proof that nobody changed them');
  common(audit.command('list').description('decisions, newest first'))
    .option('--subject <id>', 'of this merchant or legacy id')
    .option('--action <name>', 'of this kind, such as stage')
    .option('--since <instant>', 'made then or later, such as 2026-01-31T09:00:00Z')
    .option('--until <instant>', 'made before then')
    .option('--limit <number>', 'at most so many (default 50)', wholeNumber)
    .addHelpText('after', '\nExample:\n  puente audit list --subject 700100200 --action stage')
    .action(listAudit);
  common(audit.command('verify').description('check the whole chain; a changed, missing or cut-off line shows'))
    .option('--expect <sequence:hash>', 'a head that an earlier check printed: it must still be in the chain', markOf)
    .addHelpText(
      'after',
      `
The lines alone can't show that the newest ones were cut off: note the head somewhere else, and expect it next time.

Example:
  puente audit verify
  puente audit verify --expect 128:9f2c...`,
    )
    .action(verify);
}

async function listAudit({ subject, action, since, until, limit, ...options }: ListOptions): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ subject, action, since, until, limit })) {
    if (value !== undefined) query.set(name, String(value));
  }
  const { lines } = (await callOps(options, 'GET', `/api/audit?${query}`)) as { lines: AuditView[] }; // the API's own shape
  print(options, lines, lines.length === 0 ? 'No decision is like that.' : auditTable(lines));
}

/**
 * Checks the chain beside another command, whose answer rests on it: a broken one is told on standard error, and is the
 * exit code.
 */
export async function warnOfBrokenChain(options: Output): Promise<void> {
  const report = await chainOf(options, new URLSearchParams());
  if (report.intact) return;
  process.stderr.write(`${plain(verdictOf(report))}\nWhat it says of decisions and incidents is not proven.\n`);
  process.exitCode = exitCodes.broken_chain;
}

async function verify({ expect, ...options }: Output & { expect?: [string, string] }): Promise<void> {
  const query = new URLSearchParams();
  if (expect !== undefined) {
    query.set('expect_sequence', expect[0]);
    query.set('expect_hash', expect[1]);
  }
  const report = await chainOf(options, query);
  print(options, report, verdictOf(report));
  if (!report.intact) process.exitCode = exitCodes.broken_chain;
}

async function chainOf(options: Output, query: URLSearchParams): Promise<ChainReport> {
  const path = `/api/audit/verify?${query}`;
  return (await callOps(options, 'GET', path, undefined, { long: true })) as ChainReport; // the API's own shape
}

function verdictOf({ lines, head, expected, broken }: ChainReport): string {
  const end = head === null ? 'The chain is empty.' : `Its head is ${head.sequence}:${head.hash}`;
  if (broken !== null) {
    return `The chain is broken at line ${broken.sequence}: ${broken.reason}.\n${lines} lines before it hold.`;
  }
  const known = expected === null ? '' : `\nLine ${expected.sequence}, noted earlier, is still in it.`;
  return `The chain is intact: ${lines} lines.\n${end}${known}`;
}

function auditTable(lines: AuditView[]): string {
  return tableOf(
    ['line', 'at', 'who', 'action', 'subject', 'reason', 'what'],
    lines.map(({ sequence, at, who, action, subject, reason, detail }) => [
      sequence,
      at,
      who,
      action,
      subject,
      reason,
      shortly(detail),
    ]),
  );
}

/** The facts in a few words; --json shows them whole. */
function shortly(detail: Record<string, unknown>): string {
  const { before, after, ...rest } = detail;
  const change = after === undefined ? [] : [`${factText(before) || 'none'} → ${factText(after) || 'none'}`];
  return [...change, factText(rest)]
    .filter((part) => part !== '')
    .join(', ')
    .slice(0, 80);
}

function markOf(text: string): [string, string] {
  const [, sequence, hash] = /^(\d{1,15}):([0-9a-fA-F]{64})$/.exec(text) ?? [];
  if (sequence === undefined || hash === undefined)
    throw new InvalidArgumentError('a line number, a colon and the 64 hex digits of its hash are needed');
  return [sequence, hash];
}
