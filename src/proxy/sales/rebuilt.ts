/** Sales that a restored backup does not know: told by the prefix of their reference, and given a link again (`reliability.md` F60). */
import { durationMs } from '../../contract/duration.ts';
import type { Order } from '../../contract/orders.ts';
import { minorUnits } from '../../mapping/amount.ts';
import type { RestoredGap } from '../records/upkeep.ts';
import type { Runtime } from '../runtime.ts';
import { type Link, slotOf } from './link.ts';
import { legacyIdOf } from './reference.ts';

/** Ids carry the moment of their making; the clocks of two machines differ by less. */
const MARGIN_MS = 60_000;

/**
 * The legacy id behind a reference that Puente derived in the time that the restored file lacks; null for any other. Older
 * and younger ones are in the file, or were deleted from it on purpose.
 */
export function lostInGap(reference: string | null | undefined, gap: RestoredGap | null): string | null {
  const legacy_id = gap === null || reference == null ? null : legacyIdOf(reference);
  if (gap === null || legacy_id === null) return null;
  const made_at = Number.parseInt(legacy_id.replaceAll('-', '').slice(0, 12), 16);
  return made_at >= gap.from - MARGIN_MS && made_at <= gap.until + MARGIN_MS ? legacy_id : null;
}

/**
 * The link of an order, as far as the order tells: the till's own words are gone, its id and money are not. It counts as
 * acknowledged, because its till may have been told that all is well: nothing cancels it.
 * @returns null for an order that does not say its unit or its amount.
 */
export async function rebuiltLink(
  runtime: Runtime,
  merchant_id: string,
  legacy_id: string,
  order: Order,
): Promise<Link | null> {
  const site = (await runtime.store.merchant(merchant_id))?.site ?? null;
  const amount = order.total_amount ?? order.transactions?.payments?.[0]?.amount;
  const amount_minor = minorUnits(amount, runtime.tables.site(site).exponent);
  const { point, qr } = order.config ?? {};
  const family = qr === undefined ? 'point' : 'qr';
  const unit = point?.terminal_id ?? qr?.external_pos_id;
  if (unit === undefined || amount_minor === undefined) return null;
  const now = runtime.clock.now();
  return {
    legacy_id,
    merchant_id,
    lane: 'orders',
    family,
    unit,
    slot: qr?.mode === 'dynamic' ? null : slotOf(family, unit),
    client_key: null,
    fingerprint: 'restored',
    reference_sent: order.external_reference ?? '',
    client_reference: null,
    held: {},
    amount_minor,
    merchant_order_id: family === 'qr' ? runtime.ids.number(now) : null,
    sealed_notice_url: null,
    // It was sent already, by a row that is gone: this key never goes anywhere.
    idempotency_key: runtime.ids.idempotencyKey(),
    sealed_body: null,
    tables_revision: runtime.tables.revision,
    state: 'LOST',
    attempts: 1,
    first_sent_at: null,
    boot_id: runtime.boot_id,
    client_answer: 'maybe',
    order_id: null,
    order: null,
    order_version: null,
    payment_id: null,
    legacy_state: family === 'qr' ? 'payment_required' : 'OPEN',
    legacy_state_at: now,
    cancel: null,
    acknowledged_at: now,
    heard_by: null,
    expires_at: now + (durationMs(order.expiration_time, now) ?? runtime.settings.create.default_lifetime_ms),
    next_check_at: null,
    created_at: now,
    updated_at: now,
    revision: 1,
  };
}
