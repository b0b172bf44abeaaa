/** `puente reconcile`: links against the upstream, dry first, then repaired. */
import type { Command } from 'commander';
import { PuenteError } from '../../error.ts';
import type { Mismatch } from '../../proxy/sales/orphans.ts';
import type { ReconcileNews } from '../reconcile/reconcile.ts';
import { linesOfOps } from './ops-client.ts';
import { common, exitCodes, type Output, print, startProgress, tableOf } from './output.ts';

interface ReconcileOptions extends Output {
  merchant?: string;
  since?: string;
  apply?: boolean;
  reason?: string;
}

export function addReconcileCommands(program: Command): void {
  common(
    program.command('reconcile').description('compare open and recent links with the upstream; repair with --apply'),
  )
    .option('--merchant <id>', 'this merchant alone')
    .option('--since <instant>', 'links changed since (default: the last 24 hours); open ones are always looked at')
    .option(
      '--apply',
      'repair what is safe: read stale links, adopt orphans, give up what was not found for twenty minutes',
    )
    .option('--reason <text>', 'why, for the audit trail; needed with --apply')
    .addHelpText(
      'after',
      `
Examples:
  puente reconcile --merchant 700100200
  puente reconcile --since 2026-01-31T00:00:00Z --apply --reason "after the outage"`,
    )
    .action(async (options: ReconcileOptions) => {
      const found = await run(options);
      print(options, found, text(found, options));
      process.exitCode = exitCodeOf(found);
    });
}

/** What could not be read may differ: nothing is green by default. */
function exitCodeOf({ done, mismatches }: Found): number {
  if (mismatches.some(({ repaired }) => !repaired)) return exitCodes.blocked;
  return done.unreadable > 0 || done.left_out ? exitCodes.inconclusive : exitCodes.done;
}

interface Found {
  done: Extract<ReconcileNews, { news: 'done' }>;
  mismatches: (Mismatch & { repaired: boolean })[];
}

async function run(options: ReconcileOptions): Promise<Found> {
  const { merchant, since, apply, reason } = options;
  const body = Object.fromEntries(
    Object.entries({ merchant, since, apply, reason }).filter(([, value]) => value !== undefined),
  );
  const progress = startProgress(options, 'reconciling');
  const mismatches: Found['mismatches'] = [];
  try {
    for await (const line of linesOfOps(options, 'POST', '/api/reconcile', body)) {
      const news = line as ReconcileNews; // the API's own shape
      if (news.news === 'progress') progress.tell(`${news.checked} checked, ${news.mismatches} differ`);
      else if (news.news === 'mismatch') mismatches.push({ ...news.mismatch, repaired: news.repaired });
      else return { done: news, mismatches };
    }
  } finally {
    progress.end();
  }
  throw new PuenteError('unreachable', 'The reconciliation ended before it was through; the log of Puente says why.');
}

function text({ done, mismatches }: Found, { apply, merchant, since }: ReconcileOptions): string {
  const sums = `${done.checked} checked, ${done.mismatches} differ, ${done.repaired} repaired, ${done.unreadable} could not be read.`;
  const cut = done.left_out ? '\nA merchant has more open links than one run looks at: run it again later.' : '';
  if (mismatches.length === 0) return sums + cut;
  const table = tableOf(
    ['kind', 'merchant', 'unit', 'legacy id', 'order', 'what', 'repair'],
    mismatches.map((one) => [
      one.kind,
      one.merchant_id,
      one.unit ?? '',
      one.legacy_id ?? '',
      one.order_id ?? '',
      one.what,
      one.repaired ? 'done' : one.repair,
    ]),
  );
  const open = mismatches.filter(({ repaired, repair }) => !repaired && repair !== 'none').length;
  const same = [
    ...(merchant === undefined ? [] : ['--merchant', merchant]),
    ...(since === undefined ? [] : ['--since', since]),
  ];
  const command = ['puente reconcile', ...same, '--apply --reason …'].join(' ');
  return `${table}\n${sums}${cut}${apply === true || open === 0 ? '' : `\nRepair ${open} of them: ${command}`}`;
}
