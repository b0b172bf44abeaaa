/** The orders API of the model: idempotency keys, one order per terminal, lost answers. */
import { durationMs } from '../../../src/contract/duration.ts';
import { parseJson } from '../../../src/contract/json.ts';
import { slotOf } from '../../../src/proxy/sales/link.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import type { Sold, Worlds } from './worlds.ts';

/** The vendor's default lifetime of an order. */
const LIFETIME_MS = 15 * 60_000;
const BROKEN: UpstreamOutcome = { kind: 'broken', cause: 'the model lost the answer' };

interface Wanted {
  type: 'point' | 'qr';
  external_reference: string;
  expiration_time?: string;
  total_amount?: string;
  transactions: { payments?: { amount: string }[] };
  config: { point?: { terminal_id: string }; qr?: { external_pos_id: string; mode: string } };
}

interface Order {
  sold: Sold;
  wanted: Wanted;
}

/** @param tills external ids by internal number. */
export function createOrdersSide(worlds: Worlds, merchant_id: string, tills: ReadonlyMap<string, string>): Upstream {
  const orders = new Map<string, Order>();
  const byKey = new Map<string, string>();

  function create(call: UpstreamCall): UpstreamOutcome {
    const key = String(call.idempotency_key);
    const wanted = parseJson(Buffer.from(call.body ?? []).toString('utf8')) as unknown as Wanted; // Puente's own bytes
    const slot = slotWanted(wanted);
    const holds = wanted.config.qr?.mode !== 'dynamic';
    const amount_minor = Math.round(Number(wanted.total_amount ?? wanted.transactions.payments?.[0]?.amount) * 100);
    const fate = worlds.takeFate();
    if (fate === 'not_sent') return { kind: 'not_sent', cause: 'the model refused the connection' };
    worlds.asked('orders', { slot, holds, amount_minor }, key);
    if (fate === 'refused') return failure(400, 'property_value');
    if (fate === 'failed') return failure(500, 'internal_error');
    if (fate === 'dropped') return BROKEN;
    const effect = (): UpstreamOutcome => {
      const known = orders.get(byKey.get(key) ?? '');
      if (known !== undefined) return shown(known);
      if (holds && worlds.liveOn('orders', slot) !== undefined)
        return failure(409, 'already_queued_order_for_terminal');
      const id = `ORD01${String(merchant_id).padStart(12, '0')}${String(worlds.next()).padStart(12, '0')}`;
      const expires_at = worlds.now() + (durationMs(wanted.expiration_time, worlds.now()) ?? LIFETIME_MS);
      const order = { wanted, sold: worlds.make({ side: 'orders', id, slot, holds, amount_minor, expires_at }) };
      orders.set(id, order);
      byKey.set(key, id);
      return shown(order);
    };
    if (fate === 'late' || fate === 'slow') {
      worlds.later({ side: 'orders', slot, holds, amount_minor, apply: effect, isMoot: () => byKey.has(key) });
      return BROKEN;
    }
    const outcome = effect();
    if (fate === 'lost') return BROKEN;
    return fate === 'error' ? failure(500, 'internal_error') : outcome;
  }

  function shown({ sold, wanted }: Order): UpstreamOutcome {
    const { type, external_reference, config } = wanted;
    const amount = (sold.amount_minor / 100).toFixed(2);
    const paid = sold.state === 'paid' ? { reference_id: sold.payment_id ?? '', paid_amount: amount } : {};
    const status = { open: 'created', at_terminal: 'at_terminal', paid: 'processed', over: endOf(sold) }[sold.state];
    return answer(200, {
      ...{ id: sold.id, type, user_id: merchant_id, external_reference, status, config, total_amount: amount },
      created_date: new Date(sold.made_at).toISOString(),
      last_updated_date: new Date(sold.changed_at).toISOString(),
      ...(type === 'qr' ? { type_response: { qr_data: `code of ${sold.id}` } } : {}),
      transactions: { payments: [{ id: `PAY${sold.id.slice(3)}`, amount, status, ...paid }] },
    });
  }

  function cancel(order: Order): UpstreamOutcome {
    const fate = worlds.takeFate();
    if (fate === 'not_sent') return { kind: 'not_sent', cause: 'the model refused the connection' };
    if (fate === 'dropped' || fate === 'late' || fate === 'slow') return BROKEN;
    if (order.sold.state !== 'open') return failure(409, 'cannot_cancel_order');
    worlds.change(order.sold, 'over');
    return fate === 'lost' ? BROKEN : shown(order);
  }

  return {
    async send(call) {
      const [, id = ''] = /^\/(?:v1\/orders|pos)\/([^/]+)/.exec(call.path) ?? [];
      if (call.name === 'users_me') return answer(200, { id: Number(merchant_id), site_id: 'MLA' });
      if (call.name === 'create') return create(call);
      const order = orders.get(id);
      if (call.name === 'cancel') return order === undefined ? failure(404, 'order_not_found') : cancel(order);
      if (!worlds.reading) return BROKEN;
      if (call.name === 'pos') {
        const external_id = tills.get(id);
        return external_id === undefined ? answer(404, {}) : answer(200, { id: Number(id), external_id });
      }
      return order === undefined ? failure(404, 'order_not_found') : shown(order);
    },
  };
}

/** An order that ended at its expiry time has expired; others were canceled. */
function endOf({ changed_at, expires_at }: Sold): string {
  return changed_at >= expires_at ? 'expired' : 'canceled';
}

function slotWanted({ config }: Wanted): string {
  if (config.point !== undefined) return slotOf('point', config.point.terminal_id);
  return slotOf('qr', config.qr?.external_pos_id ?? '');
}

function failure(status: number, code: string): UpstreamOutcome {
  return answer(status, { errors: [{ code, message: 'the model says so' }] });
}

export function answer(status: number, body: unknown): UpstreamOutcome {
  return { kind: 'answered', status, retry_after_ms: null, body };
}
