/** What is still open on each side after a move: per unit how many, since when, and when the last can be over (`peers.md` §4 row 6). */
import type { Said, Spoken } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { RoutedKind } from '../../proxy/routing/merchant.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { StageView } from '../merchants/merchant-view.ts';
import { viewMerchant } from '../merchants/operate.ts';

/** Open sales that are told unit by unit; a merchant with more has them counted all the same, up to this number. */
const MOST_OPEN = 10_000;
/** Waiting notices whose unit is looked up; beyond it only their number is told. */
const MOST_NOTICES = 500;

/** What one unit still has on a side. */
export interface OpenUnit {
  /** Slot, or `qr:<point of sale>` of codes that hold no unit. */
  unit: string;
  open: number;
  /** RFC 3339. */
  oldest_at: string | null;
  /** When the last of them is over at the latest, by its lifetime. */
  latest_end_at: string | null;
  /** Creates whose outcome nobody knows yet. */
  in_doubt: number;
}

export interface DrainView {
  merchant_id: string;
  at: string;
  in_force: Record<RoutedKind, StageView>;
  orders: {
    open: number;
    in_doubt: number;
    oldest_at: string | null;
    latest_end_at: string | null;
    notices_pending: number;
    units: (OpenUnit & { notices_pending: number })[];
  };
  legacy: { open: number; in_doubt: number; oldest_at: string | null; latest_end_at: string | null; units: OpenUnit[] };
  /** From then on nothing can be open on orders; the past when nothing is; null while one lives on beyond its lifetime. */
  safe_to_close_at: string | null;
  /** What is being waited for, in a sentence or two. */
  says: string;
  said: Said[];
}

export async function viewDrain(runtime: Runtime, merchant_id: string): Promise<DrainView> {
  const { in_force } = await viewMerchant(runtime, merchant_id);
  const { store, clock, settings } = runtime;
  const now = clock.now();
  const [links, sales, notices_pending, waiting] = await Promise.all([
    store.liveLinks(merchant_id, MOST_OPEN),
    store.openLegacySales(merchant_id, now, MOST_OPEN),
    store.countNotices({ merchant_id, states: ['pending'] }),
    noticesByUnit(runtime, merchant_id),
  ]);
  const orders = links.map(openOf);
  const legacy = sales.map(openSaleOf);
  const closes = safeToClose(orders, settings.reconcile.action_required_grace_ms, now);
  const sentences = waitedFor(orders, notices_pending, closes, now);
  const units = unitsOf(orders);
  const open = new Set(units.map(({ unit }) => unit));
  for (const unit of waiting.keys())
    if (!open.has(unit)) units.push({ unit, open: 0, oldest_at: null, latest_end_at: null, in_doubt: 0 });
  return {
    merchant_id,
    at: iso(now),
    in_force,
    orders: {
      ...sumOf(orders),
      notices_pending,
      units: units.map((unit) => ({ ...unit, notices_pending: waiting.get(unit.unit) ?? 0 })),
    },
    legacy: { ...sumOf(legacy), units: unitsOf(legacy) },
    safe_to_close_at: closes === null ? null : iso(closes),
    says: sentences.map(({ text }) => text).join(' '),
    said: sentences.map(({ said }) => said),
  };
}

interface Open {
  unit: string;
  created_at: number;
  ends_at: number;
  in_doubt: boolean;
}

function openOf(link: Link): Open {
  const in_doubt = link.state === 'SENDING' || link.state === 'IN_DOUBT';
  return { unit: unitName(link), created_at: link.created_at, ends_at: link.expires_at, in_doubt };
}

function openSaleOf(sale: LegacySale): Open {
  const in_doubt = sale.state === 'SENDING' || sale.state === 'IN_DOUBT';
  return { unit: unitName(sale), created_at: sale.created_at, ends_at: sale.ends_at, in_doubt };
}

function unitName({ slot, family, unit }: Pick<Link, 'slot' | 'family' | 'unit'>): string {
  return slot ?? `${family}:${unit}`;
}

/** Notices that wait, by the unit of their sale; the first few hundred are enough to see where they hang. */
async function noticesByUnit(runtime: Runtime, merchant_id: string): Promise<Map<string, number>> {
  const pending = await runtime.store.notices({ merchant_id, states: ['pending'] }, MOST_NOTICES);
  const units = new Map<string, string | null>();
  const counts = new Map<string, number>();
  for (const { legacy_id } of pending) {
    if (!units.has(legacy_id)) {
      const link = await runtime.store.link(legacy_id);
      units.set(legacy_id, link === null ? null : unitName(link));
    }
    const unit = units.get(legacy_id) ?? null;
    if (unit !== null) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  }
  return counts;
}

function unitsOf(open: readonly Open[]): OpenUnit[] {
  const units = Map.groupBy(open, ({ unit }) => unit);
  return [...units].map(([unit, mine]) => ({ unit, ...sumOf(mine) }));
}

function sumOf(open: readonly Open[]): Omit<OpenUnit, 'unit'> {
  const oldest = open.reduce((least, { created_at }) => Math.min(least, created_at), Number.POSITIVE_INFINITY);
  const latest = open.reduce((most, { ends_at }) => Math.max(most, ends_at), 0);
  return {
    open: open.length,
    oldest_at: open.length === 0 ? null : iso(oldest),
    latest_end_at: open.length === 0 ? null : iso(latest),
    in_doubt: open.filter(({ in_doubt }) => in_doubt).length,
  };
}

/** An order that waits for an action is held as not final for a grace after its lifetime (`legacy-point.md` §2). */
function safeToClose(open: readonly Open[], grace_ms: number, now: number): number | null {
  if (open.length === 0) return now;
  const end = open.reduce((last, { ends_at }) => Math.max(last, ends_at), 0) + grace_ms;
  return end > now ? end : null;
}

function waitedFor(open: readonly Open[], notices: number, closes: number | null, now: number): Spoken[] {
  const told = notices === 0 ? [] : [say('drain.notices', { count: notices })];
  if (open.length === 0) return [say('drain.nothing', {}), ...told];
  if (closes === null) return [say('drain.overdue', { open: open.length }), ...told];
  const minutes = Math.ceil((closes - now) / 60_000);
  return [say('drain.closes', { open: open.length, minutes, closes_at: iso(closes) }), ...told];
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
