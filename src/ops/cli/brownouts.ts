/** `puente brownout`: windows in which legacy refuses new work of chosen merchants, as a drill before it ends. */
import type { Command } from 'commander';
import type { BrownoutView } from '../moves/brownouts.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print, tableOf } from './output.ts';

interface ScheduleOptions extends Output {
  from: string;
  until: string;
  reason: string;
}

const HELP = `
In the window new work and listings (devices, events) on legacy are refused with an error that tills know; reads, cancels
and refunds of existing sales go on, and so does everything on orders.
It lasts 24 hours at most, and puente brownout abort ends it at once.

Example:
  puente brownout schedule 700100200 700100300 --from 2026-01-31T09:00:00Z --until 2026-01-31T10:00:00Z --reason "drill 1"`;

export function addBrownoutCommands(program: Command): void {
  const brownout = program.command('brownout').description('drills: windows in which legacy refuses new work');
  common(brownout.command('schedule <merchants...>').description('schedule a window for these merchants'))
    .requiredOption('--from <instant>', 'such as 2026-01-31T09:00:00Z')
    .requiredOption('--until <instant>', 'just before which it ends')
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .addHelpText('after', HELP)
    .action(schedule);
  common(brownout.command('list').description('windows, the latest first')).action(list);
  common(brownout.command('abort <brownout>').description('end a window at once'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .action(abort);
}

async function schedule(merchants: string[], { from, until, reason, ...options }: ScheduleOptions): Promise<void> {
  const answer = await callOps(options, 'POST', '/api/brownouts', { merchants, from, until, reason });
  const made = answer as BrownoutView; // the API's own shape
  print(options, made, `${listed([made])}\nIt can be ended at once: puente brownout abort ${made.id} --reason …`);
}

async function list(options: Output): Promise<void> {
  const { brownouts } = (await callOps(options, 'GET', '/api/brownouts')) as { brownouts: BrownoutView[] }; // the API's own shape
  print(options, brownouts, brownouts.length === 0 ? 'No brown-out was ever scheduled.' : listed(brownouts));
}

async function abort(id: string, { reason, ...options }: Output & { reason: string }): Promise<void> {
  const answer = await callOps(options, 'POST', `/api/brownouts/${encodeURIComponent(id)}/abort`, { reason });
  const aborted = answer as BrownoutView; // the API's own shape
  print(options, aborted, `brown-out ${aborted.id} is aborted for ${aborted.merchants.join(', ')}`);
}

function listed(brownouts: BrownoutView[]): string {
  const rows = brownouts.map(({ id, from, until, state, merchants, reason }) => [
    id,
    from,
    until,
    state,
    merchants.join(' '),
    reason,
  ]);
  return tableOf(['brown-out', 'from', 'until', 'state', 'merchants', 'reason'], rows);
}
