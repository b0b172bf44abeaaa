/** What the path of an operation is about: looked up before the lane is chosen (DESIGN, Words: Lane). */
import { INTENT_ID } from '../../contract/identifiers.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { Ports } from '../ports.ts';
import { type Link, slotOf } from '../sales/link.ts';
import { isMintedMerchantOrder, merchantOrderOfPayment } from '../sales/synthetic-ids.ts';

type PathValues = Readonly<Record<string, string>>;
/** Reads the map at most; asks nobody. */
type Naming = (ports: Ports, path: PathValues) => Named | Promise<Named>;

export const byIntent: Naming = async (ports, { intent_id = '' }) => {
  const legacy_id = intent_id.toLowerCase();
  const link = await ports.store.links.link(legacy_id);
  return INTENT_ID.test(legacy_id) ? { kind: 'link', link, legacy_id } : { kind: 'link', link };
};

/** A sale on the terminal. */
export const byDevice: Naming = (_runtime, { device_id = '' }) => ({
  kind: 'slot',
  slot: slotOf('point', device_id),
  work: 'sale',
});

/** A setting of the terminal. */
export const byDeviceSetting: Naming = (_runtime, { device_id = '' }) => ({
  kind: 'slot',
  slot: slotOf('point', device_id),
  work: 'beside',
});

/** A sale that the point of sale shows on its own code. */
export const byPointOfSale: Naming = (_runtime, path) => pointOfSale(path, 'sale');

/** What the point of sale shows. */
export const atPointOfSale: Naming = (_runtime, path) => pointOfSale(path, 'look');

/** A code of its own for one sale: any number of them may be live on one point of sale. */
export const byDynamicCode: Naming = (_runtime, path) => pointOfSale(path, 'beside');

function pointOfSale({ external_pos_id, pos_id = '' }: PathValues, work: 'sale' | 'look' | 'beside'): Named {
  if (external_pos_id === undefined) return { kind: 'pos', pos_id, work };
  return { kind: 'slot', slot: slotOf('qr', external_pos_id), work };
}

/** What can be a payment's number; anything else names nothing. */
const PAYMENT_NUMBER = /^[1-9]\d{0,17}$/;

/** A minted number goes on naming its sale after the service has given a real one. */
export const byPayment: Naming = async (ports, { payment_id = '' }) => {
  const link = await ports.store.links.linkByPayment(payment_id);
  if (link !== null || !PAYMENT_NUMBER.test(payment_id)) return { kind: 'link', link };
  const merchant_order_id = merchantOrderOfPayment(payment_id);
  if (merchant_order_id === null) return { kind: 'payment', payment_id };
  if (!Number.isSafeInteger(merchant_order_id)) return { kind: 'link', link: null };
  return { kind: 'link', link: await ports.store.links.linkByMerchantOrder(merchant_order_id) };
};

export const byMerchantOrder: Naming = async (ports, { merchant_order_id = '' }) => {
  const id = /^\d{1,16}$/.test(merchant_order_id) ? Number(merchant_order_id) : 0;
  return { kind: 'link', link: isMintedMerchantOrder(id) ? await ports.store.links.linkByMerchantOrder(id) : null };
};

export const byHistory: Naming = () => ({ kind: 'history' });
export const byMerchant: Naming = () => ({ kind: 'merchant' });

/** By the names of operations' stories in `mappings/operations.yaml`; `legacyRouter` refuses a name without a row. */
export const namings: Readonly<Record<string, Naming>> = {
  list_devices: byMerchant,
  change_mode: byDeviceSetting,
  create_intent: byDevice,
  get_intent: byIntent,
  cancel_intent: byIntent,
  cancel_without_device: byIntent,
  list_events: byHistory,
  last_status: byIntent,
  // Whose payment it is stands in the body: its story looks, for whoever has had sales on orders.
  refund_intent: byHistory,
  create_preference: byPointOfSale,
  create_store_order: byPointOfSale,
  create_dynamic_code: byDynamicCode,
  create_hybrid_code: byPointOfSale,
  cancel_point_of_sale: atPointOfSale,
  confirm_withdrawal: byMerchantOrder,
  get_point_of_sale: atPointOfSale,
  get_merchant_order: byMerchantOrder,
  search_merchant_orders: byHistory,
  search_payments: byHistory,
  get_payment: byPayment,
  search_collections: byHistory,
  get_collection: byPayment,
  create_refund: byPayment,
  list_refunds: byPayment,
  get_refund: byPayment,
  refund_collection: byPayment,
};

/** What a call is about, by its operation and the values of its path. May read the store; makes no network call. */
export function namedBy(ports: Ports, { story }: Operation, path: PathValues): Named | Promise<Named> {
  return namings[story]?.(ports, path) ?? { kind: 'merchant' };
}

/** What a call is about, which decides its lane. */
export type Named =
  /** An existing id, looked up already; null when it is none of ours. `legacy_id`: as the path says it, where it is one. */
  | { kind: 'link'; link: Link | null; legacy_id?: string }
  | ({ kind: 'slot' } & UnitWork)
  /** A point of sale by its internal number, which has to be looked up before its slot is known. */
  | { kind: 'pos'; pos_id: string; work: UnitWork['work'] }
  /** A payment whose number no link has: foreign, or one of a sale on orders that has not seen its payment yet. */
  | { kind: 'payment'; payment_id: string }
  /** Whatever the merchant's past on orders has: searches. */
  | { kind: 'history' }
  /** Nothing that Puente remembers. */
  | { kind: 'merchant' };

/**
 * Work on a unit, by its slot. `sale`: it takes the unit. `look`: it reads or takes away what is there. For both, whatever
 * is live on the unit decides before the stage does. `beside`: a setting, or a sale that takes no unit.
 */
export interface UnitWork {
  slot: string;
  work: 'sale' | 'look' | 'beside';
}
