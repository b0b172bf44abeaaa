/** `puente erase`: forget a merchant; counted first, done with --apply. */
import type { Command } from 'commander';
import type { Erasure } from '../upkeep/erase.ts';
import { callOps } from './ops-client.ts';
import { common, exitCodes, type Output, print } from './output.ts';
import { tableOf } from './table.ts';

interface EraseOptions extends Output {
  apply?: boolean;
  reason?: string;
  dropNotices?: boolean;
}

const HELP = `
Without --apply it is only counted. Everything of the merchant goes: sales, refunds, notices, exchanges, events, tokens,
settings, sums; lines of bulk moves lose its id. Audit lines stay, with one that says what was erased. Backups made before hold it still: they are named;
so do the copies that upgrades and restores left beside the database (puente.db.before-N, puente.db.replaced-...).

Examples:
  puente erase 700100200
  puente erase 700100200 --apply --reason "left us, asked for it in writing"`;

export function addEraseCommands(program: Command): void {
  common(program.command('erase <merchant>').description('forget everything of a merchant but the decisions about it'))
    .option('--apply', 'erase; what is gone can not come back')
    .option('--reason <text>', 'why, for the audit trail; needed with --apply')
    .option('--drop-notices', 'give up notices that were never delivered')
    .addHelpText('after', HELP)
    .action(async (id: string, { apply, reason, dropNotices, ...output }: EraseOptions) => {
      const body = {
        apply: apply === true,
        drop_notices: dropNotices === true,
        ...(reason === undefined ? {} : { reason }),
      };
      const path = `/api/merchants/${encodeURIComponent(id)}/erase`;
      const erasure = (await callOps(output, 'POST', path, body, { long: true })) as Erasure; // the API's own shape
      print(output, erasure, text(erasure));
      if (erasure.in_the_way.length > 0 && !erasure.erased) process.exitCode = exitCodes.blocked;
    });
}

function text({ merchant_id, erased, holdings, in_the_way, backups }: Erasure): string {
  const rows = Object.entries(holdings).map(([kind, count]) => [kind.replaceAll('_', ' '), count]);
  const head = erased ? `Merchant ${merchant_id} is erased.` : `Merchant ${merchant_id} has:`;
  const next =
    in_the_way.length > 0
      ? ['In the way:', ...in_the_way.map((one) => `  ${one}`)]
      : [`Erase it: puente erase ${merchant_id} --apply --reason …`];
  const kept = backups.length === 0 ? [] : [`Backups of before hold it still: ${backups.join(', ')}`];
  return [head, tableOf(['what', erased ? 'rows gone' : 'rows'], rows), ...(erased ? [] : next), ...kept].join('\n');
}
