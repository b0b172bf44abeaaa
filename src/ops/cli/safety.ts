/** `puente safety`: safety stops that stand, what is counted, and the reset by hand. */
import { type Command, Option } from 'commander';
import { routedKinds } from '../../proxy/routing/merchant.ts';
import type { MerchantView } from '../merchants.ts';
import type { SafetyView, TripView } from '../safety.ts';
import { stagesText } from './merchants.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print, tableOf, wholeNumber } from './output.ts';

interface ResetOptions extends Output {
  kind: string;
  reason: string;
  revision?: number;
}

const HELP = `
A safety stop takes a kind of a merchant's new work back to shadow when too many calls on orders are faults or slow,
or when five faults come in a row with no good call between, however few calls there are.
What a shop or a card does never counts. The operator's stage stays as it is, and holds again after the reset.
Whether it acts is a setting: puente merchants set MERCHANT --safety-stop off|observe|armed --reason …

Examples:
  puente safety show
  puente safety show 700100200
  puente safety reset 700100200 --kind intents --reason "the service is well again"`;

export function addSafetyCommands(program: Command): void {
  const safety = program.command('safety').description('safety stops: see them, reset them').addHelpText('after', HELP);
  common(safety.command('show [merchant]').description('what stands; of one merchant also what is counted now')).action(
    show,
  );
  common(
    safety.command('reset <merchant>').description("take a stop away: new work follows the operator's stage again"),
  )
    .addOption(new Option('--kind <kind>', 'of this kind of work').choices(routedKinds).makeOptionMandatory())
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option(
      '--revision <number>',
      'refuse unless the merchant is at this revision (default: the current one)',
      wholeNumber,
    )
    .action(reset);
}

async function show(id: string | undefined, options: Output): Promise<void> {
  if (id !== undefined) return showOne(id, options);
  const { stops } = (await callOps(options, 'GET', '/api/safety')) as { stops: (TripView & { merchant_id: string })[] }; // the API's own shape
  const rows = stops.map(({ merchant_id, ...trip }) => [merchant_id, ...tripRow(merchant_id, trip)]);
  print(options, stops, rows.length === 0 ? 'No safety stop stands.' : tableOf(['merchant', ...TRIP_HEAD], rows));
}

async function showOne(id: string, options: Output): Promise<void> {
  const view = (await callOps(options, 'GET', safetyPath(id))) as SafetyView; // the API's own shape
  const counted = view.now.map(({ kind, calls, faults, slow, why }) => [kind, calls, faults, slow, why ?? '']);
  const past = view.history.map(({ at, kind, stopped, why }) => [
    at,
    kind,
    stopped ? 'stopped' : 'would have stopped',
    why,
  ]);
  const parts = [
    `safety stop of merchant ${id}: ${view.mode}`,
    view.trips.length === 0
      ? 'No safety stop stands.'
      : tableOf(
          TRIP_HEAD,
          view.trips.map((trip) => tripRow(id, trip)),
        ),
    counted.length === 0
      ? 'No call on orders counts now.'
      : tableOf(['kind', 'calls', 'faults', 'slow', 'would trip'], counted),
    ...(past.length === 0 ? [] : [tableOf(['at', 'kind', 'what', 'why'], past)]),
  ];
  print(options, view, parts.join('\n'));
}

async function reset(id: string, options: ResetOptions): Promise<void> {
  const { kind, reason } = options;
  const { revision } = (await callOps(options, 'GET', safetyPath(id))) as SafetyView; // the API's own shape
  const body = { kind, reason, revision: options.revision ?? revision };
  const merchant = (await callOps(options, 'POST', `${safetyPath(id)}/reset`, body)) as MerchantView; // the API's own shape
  const head = `merchant ${id}: the safety stop of ${kind} is taken away, revision ${merchant.revision}`;
  print(options, merchant, `${head}\nstage: ${stagesText(merchant.in_force)}`);
}

const TRIP_HEAD = ['kind', 'since', 'why', 'intended', 'reset'];

function tripRow(id: string, { kind, at, why, intended }: Omit<TripView, 'evidence'>): string[] {
  return [kind, at, why, intended, `puente safety reset ${id} --kind ${kind} --reason …`];
}

function safetyPath(id: string): string {
  return `/api/merchants/${encodeURIComponent(id)}/safety`;
}
