/** `puente audit`: who decided what and why, and the proof that nobody changed it. */
import { type Command, InvalidArgumentError } from 'commander';
import type { AuditView, ChainReport } from '../audit/audit-trail.ts';
import { factText } from '../report/fact-text.ts';
import { callOps } from './ops-client.ts';
import { common, exitCodes, type Output, plain, print, wholeNumber } from './output.ts';
import { tableOf } from './table.ts';

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
    .action(list);
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

async function list({ subject, action, since, until, limit, ...options }: ListOptions): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ subject, action, since, until, limit })) {
    if (value !== undefined) query.set(name, String(value));
  }
  const { lines } = (await callOps(options, 'GET', `/api/audit?${query}`)) as { lines: AuditView[] }; // the API's own shape
  print(options, lines, lines.length === 0 ? 'No decision is like that.' : listed(lines));
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

function listed(lines: AuditView[]): string {
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
