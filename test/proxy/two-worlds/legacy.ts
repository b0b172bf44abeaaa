/** The legacy APIs of the model: one intent per terminal, one sale per till, which the next sale replaces. */
import { randomUUID } from 'node:crypto';
import type { Operation } from '../../../src/mapping/tables.ts';
import { slotOf } from '../../../src/proxy/sales/link.ts';
import type { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { answer } from './orders.ts';
import type { Sold, Worlds } from './worlds.ts';

/** Lifetimes of an unpaid sale on legacy; within the hour that Puente assumes. */
const INTENT_LIFETIME_MS = 40 * 60_000;
const QR_LIFETIME_MS = 10 * 60_000;

/** Null: no answer. */
export type LegacyAnswer = { status: number; body: unknown } | null;

export interface LegacySide extends Upstream {
  proxyCall(operation: Operation, path: Record<string, string>, body: unknown): Promise<LegacyAnswer>;
}

/** @param tills external ids by internal number. */
export function createLegacySide(worlds: Worlds, merchant_id: string, tills: ReadonlyMap<string, string>): LegacySide {
  /** Of v1 sales, by preference; a merchant order exists only after their end. */
  const preferences = new Map<string, Sold>();
  const slotAt = ({ device_id, external_pos_id, pos_id = '' }: Record<string, string>): string =>
    device_id === undefined ? slotOf('qr', external_pos_id ?? tills.get(pos_id) ?? '') : slotOf('point', device_id);

  async function create(operation: Operation, path: Record<string, string>, body: unknown): Promise<LegacyAnswer> {
    const slot = slotAt(path);
    const holds = operation.story !== 'create_dynamic_code';
    const amount_minor = amountOf(body);
    const fate = worlds.takeFate();
    worlds.asked('legacy', { slot, holds, amount_minor }, `legacy ${worlds.next()}`);
    if (fate === 'refused') return { status: 400, body: { error: '400', message: 'Bad request' } };
    if (fate === 'failed') return { status: 500, body: { error: '500' } };
    if (fate === 'dropped' || fate === 'not_sent') return null;
    const effect = (): LegacyAnswer => make(operation, { slot, holds, amount_minor });
    if (fate === 'late') {
      worlds.later({ side: 'legacy', slot, holds, amount_minor, apply: effect });
      return null;
    }
    if (fate === 'slow') {
      return new Promise((resolve) => {
        worlds.later({ side: 'legacy', slot, holds, amount_minor, apply: () => resolve(effect()) });
      });
    }
    const made = effect();
    if (fate === 'lost') return null;
    return fate === 'error' ? { status: 500, body: null } : made;
  }

  function make({ family, story }: Operation, wanted: Pick<Sold, 'slot' | 'holds' | 'amount_minor'>): LegacyAnswer {
    const id = randomUUID();
    const { slot, amount_minor } = wanted;
    const before = wanted.holds ? worlds.liveOn('legacy', slot) : undefined;
    if (family === 'point') {
      if (before !== undefined) return { status: 409, body: { error: '2205', message: 'queued' } };
      worlds.make({ side: 'legacy', id, ...wanted, expires_at: worlds.now() + INTENT_LIFETIME_MS });
      return { status: 201, body: { id, device_id: slot.slice('point:'.length), amount: amount_minor } };
    }
    if (before !== undefined) worlds.change(before, 'over');
    const sold = worlds.make({ side: 'legacy', id, ...wanted, expires_at: worlds.now() + QR_LIFETIME_MS });
    if (family === 'qr_v1') {
      preferences.set(`${merchant_id}-${id}`, sold);
      return { status: 200, body: { id: `${merchant_id}-${id}`, total_amount: amount_minor / 100 } };
    }
    if (story === 'create_store_order') return { status: 204, body: null };
    return { status: 201, body: { in_store_order_id: id, qr_data: `code of ${id}` } };
  }

  function intent(id: string): LegacyAnswer {
    const sold = worlds.sold.get(id);
    if (sold?.side !== 'legacy')
      return { status: 404, body: { error: '404', message: "Payment intent doesn't exist" } };
    const state = { open: 'OPEN', at_terminal: 'ON_TERMINAL', paid: 'FINISHED', over: 'ABANDONED' }[sold.state];
    return { status: 200, body: { id, state, amount: sold.amount_minor, device_id: sold.slot.slice('point:'.length) } };
  }

  function till(slot: string): LegacyAnswer {
    const sold = worlds.liveOn('legacy', slot);
    if (sold === undefined) return { status: 404, body: { error: 'point_of_sale_in_store_order_not_found' } };
    return { status: 200, body: { total_amount: sold.amount_minor / 100 } };
  }

  function cancel(sold: Sold | undefined, success: LegacyAnswer): LegacyAnswer {
    if (sold?.state === 'at_terminal') return { status: 409, body: { error: '409', message: 'blocked by terminal' } };
    if (sold?.state === 'open') worlds.change(sold, 'over');
    return success;
  }

  return {
    async proxyCall(operation, path, body) {
      const { intent_id } = path;
      if (operation.upstream === 'create') return create(operation, path, body);
      if (operation.method === 'GET') return intent_id === undefined ? till(slotAt(path)) : intent(intent_id);
      if (intent_id === undefined) return cancel(worlds.liveOn('legacy', slotAt(path)), { status: 204, body: null });
      return cancel(worlds.sold.get(intent_id), { status: 200, body: { id: intent_id } });
    },
    async send({ name, path, query }) {
      if (!worlds.reading) return { kind: 'broken', cause: 'the model lost the answer' };
      const [, id = ''] = /\/(?:payment-intents|pos)\/([^/]+)/.exec(path) ?? [];
      if (name === 'merchant_order_search')
        return answer(200, found(preferences.get(query?.preference_id ?? ''), query));
      const said = name === 'legacy_intent' ? intent(id) : till(slotOf('qr', id));
      return answer(said?.status ?? 500, said?.body);
    },
  };
}

/** The merchant order of a v1 sale that has ended; before, it may be missing (`docs/field-notes.md` QR finding 11). */
function found(sold: Sold | undefined, query: Record<string, string> = {}): unknown {
  const ended = sold?.state === 'paid' || sold?.state === 'over';
  if (!ended) return { elements: null, next_offset: 0, total: 0 };
  const order_status = sold.state === 'paid' ? 'paid' : 'expired';
  return { elements: [{ id: 1, preference_id: query.preference_id, order_status }], next_offset: 1, total: 1 };
}

interface AnyBody {
  amount?: number;
  items?: { unit_price: number }[];
}

function amountOf(body: unknown): number {
  const { amount, items } = body as AnyBody; // made by the model's tills
  return amount ?? Number(items?.[0]?.unit_price) * 100;
}
