/** Gathers what decides a move of one merchant from the store. */

import type { CoverageRow, DifferenceGroup, Traffic, VerdictRow } from '../../proxy/records/evidence.ts';
import type { Merchant, RoutedKind } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import type { Ports } from '../ports.ts';
import { sumOf } from '../readiness/facts.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import type { Facts, MoveTarget, OpenSale, Sample, Situation } from './target.ts';

const DAY_MS = 86_400_000;
/** Days of traffic that a day's calls are told from. */
const DAYS = 7;
/** Open sales of one merchant at once: more than it has units, and a bound on one answer. */
const MOST_OPEN = 10_000;

export async function situationOf(
  ports: Ports,
  merchant: Merchant,
  target: MoveTarget,
  person: Person,
): Promise<Situation> {
  const { settings } = ports;
  return {
    merchant,
    target,
    person,
    now: ports.clock.now(),
    rules: settings,
    settings: settings.moves,
    readiness: await merchantReadiness(ports, merchant.id),
    facts: await gatherFacts(ports, merchant.id),
  };
}

async function gatherFacts(ports: Ports, merchant_id: string): Promise<Facts> {
  const { store, clock } = ports;
  const now = clock.now();
  const [traffic, coverage, verdicts, units, differences, open, exchange_sequence] = await Promise.all([
    store.evidence.traffic({ merchant_id }),
    store.evidence.coverage(merchant_id),
    store.evidence.verdicts(merchant_id),
    store.evidence.units(merchant_id),
    store.evidence.differences({ merchant_id, states: ['new'] }, now),
    openSales(ports, merchant_id),
    store.exchanges.lastExchange(),
  ]);
  const { operations } = ports.tables;
  const kinds = new Map(operations.map(({ name, kind }) => [name, kind]));
  const creates = new Set(operations.filter(({ upstream }) => upstream === 'create').map(({ name }) => name));
  const today = Math.floor(now / DAY_MS);
  const sample = (kind: RoutedKind): Sample => {
    const rows = traffic.filter((row) => row.kind === kind);
    const told = trafficOf(rows, today);
    const taken = sumOf(
      rows.filter((row) => row.lane === 'legacy' && row.outcome === 'ok' && creates.has(row.operation)),
    );
    const mine = (operation: string): boolean => kinds.get(operation) === kind;
    return {
      ...told,
      // What legacy refused was judged on paper too, and proves no sale.
      shadow:
        kind === 'devices' ? Math.min(told.seen, readTwice(coverage, mine)) : Math.min(taken, onPaper(verdicts, mine)),
    };
  };
  return {
    samples: { devices: sample('devices'), intents: sample('intents'), qr: sample('qr') },
    units,
    open,
    worst_difference: worst(differences),
    predicted_refusals: verdicts
      .filter(({ verdict }) => verdict !== 'accepted')
      .toSorted((one, other) => other.count - one.count)
      .map(({ operation, code, error, detail, count }) => ({ operation, code, error, detail, count })),
    exchange_sequence,
  };
}

/** Sales that hold a unit, or a till's attention, on either side. */
export async function openSales(ports: Ports, merchant_id: string): Promise<OpenSale[]> {
  const { store, clock } = ports;
  const [links, sales] = await Promise.all([
    store.history.liveLinks(merchant_id, MOST_OPEN),
    store.legacy_sales.openLegacySales(merchant_id, clock.now(), MOST_OPEN),
  ]);
  return [
    ...links.map(
      (link): OpenSale => ({ side: 'orders', legacy_id: link.legacy_id, slot: link.slot, ends_at: link.expires_at }),
    ),
    ...sales.map(
      (sale): OpenSale => ({ side: 'legacy', legacy_id: sale.legacy_id, slot: sale.slot, ends_at: sale.ends_at }),
    ),
  ];
}

/** Every create on paper has one verdict. */
function onPaper(verdicts: VerdictRow[], mine: (operation: string) => boolean): number {
  return verdicts.filter(({ operation }) => mine(operation)).reduce((sum, { count }) => sum + count, 0);
}

/** Lists are compared field by field; the field that was compared most often says how often. */
function readTwice(coverage: CoverageRow[], mine: (operation: string) => boolean): number {
  return coverage
    .filter(({ operation }) => mine(operation))
    .reduce((most, { equal, different }) => Math.max(most, equal + different), 0);
}

function trafficOf(rows: Traffic[], today: number): Omit<Sample, 'shadow'> {
  const first = rows.reduce((earliest, { day }) => Math.min(earliest, day), today);
  const days = Math.min(DAYS, today - first + 1);
  return {
    seen: sumOf(rows),
    orders: sumOf(rows.filter(({ lane, outcome }) => lane === 'orders' && outcome === 'ok')),
    calls_a_day: sumOf(rows.filter(({ day }) => day > today - DAYS)) / days,
  };
}

const GRAVITY: DifferenceGroup['what'][] = ['verdict', 'error', 'value'];

function worst(groups: DifferenceGroup[]): string | null {
  const [first] = groups.toSorted(
    (one, other) => GRAVITY.indexOf(one.what) - GRAVITY.indexOf(other.what) || other.count - one.count,
  );
  if (first === undefined) return null;
  const where = first.path === '' ? '' : ` in ${first.path}`;
  return `${first.operation}: ${first.what}${where} differs, seen ${first.count} times (${first.signature})`;
}
