/** `puente can-migrate`: may this merchant move; the gate of pipelines, with exit codes. */
import type { Command } from 'commander';
import type { Verdict } from '../../proxy/records/evidence.ts';
import type { ReadinessView } from '../readiness/readiness.ts';
import type { Finding } from '../readiness/verdict.ts';
import { callOps } from './ops-client.ts';
import { common, exitCodes, type Output, print } from './output.ts';
import { tableOf } from './table.ts';

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
