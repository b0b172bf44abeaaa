/** `puente limitations` and `puente assumptions`: where Puente differs from legacy, and what it takes for granted. */
import type { Command } from 'commander';
import type { Limitation } from '../../mapping/tables.ts';
import type { Assumption } from '../report/report.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print } from './output.ts';
import { tableOf } from './table.ts';

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
