/** `puente incidents`: what Puente noticed or did by itself. */
import type { Command } from 'commander';
import type { DecisionLine } from '../report/report.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print, wholeNumber } from './output.ts';
import { tableOf } from './table.ts';

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
