/** `puente fleet`: every merchant at a glance, as the console's board shows it. */
import { type Command, Option } from 'commander';
import { stages } from '../../proxy/routing/merchant.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { FleetLine } from '../fleet/line.ts';
import type { LanePulse } from '../fleet/pulse.ts';
import { fleetSorts, fleetVerdicts } from '../fleet/select.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print, wholeNumber } from './output.ts';
import { tableOf } from './table.ts';

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
