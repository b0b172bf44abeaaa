/** From any id that a person may have to the sales it means: legacy id, order, payment, merchant order, reference, refund, notice, exchange. */

import { isMintedMerchantOrder, merchantOrderOfPayment } from '../../proxy/ids.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { derivedReference } from '../../proxy/sales/new-link.ts';
import type { Ports } from '../ports.ts';

/** What an id was taken for. */
export const idKinds = [
  'legacy id',
  'order',
  'payment',
  'merchant order',
  'reference',
  'refund',
  'notice',
  'exchange',
] as const;
export type IdKind = (typeof idKinds)[number];

export interface Subject {
  found_as: IdKind;
  /** Born on orders. */
  link: Link | null;
  /** Born on legacy. */
  sale: LegacySale | null;
  /** Calls that no known sale has: the one that was asked for, or those that name an id that Puente has not seen made. */
  calls: StoredExchange[];
}

/** A till repeats its references; the newest of them are meant. */
const MOST_SUBJECTS = 10;
/** No id that Puente or the vendor gives out is longer; references may be. */
const LONGEST_ASKED = 256;
/** Calls shown of an id that no known sale has. */
const MOST_CALLS = 500;

/** The sales that an id means, newest first of each kind of id, each once; empty when nothing is known of it. */
export async function findSubjects(ports: Ports, asked: string, merchant_id?: string): Promise<Subject[]> {
  const whole = asked.slice(0, LONGEST_ASKED);
  const text = whole.trim();
  const found = [
    ...(await byLegacyId(ports, text)),
    ...asLink(
      'order',
      (await ports.store.links.linkByOrder(text)) ?? (await ports.store.links.linkByOrder(text.toUpperCase())),
    ),
    ...(await byNumber(ports, text)),
    // A till's own text: the spaces around it are part of it.
    ...(await byReference(ports, whole, merchant_id)),
    ...(text === whole ? [] : await byReference(ports, text, merchant_id)),
    ...(await byRefund(ports, text)),
    ...(await byNotice(ports, text)),
    ...(await byExchange(ports, text)),
  ].filter((one) => merchant_id === undefined || merchantOf(one) === merchant_id);
  const known = onceEach(found).slice(0, MOST_SUBJECTS);
  if (known.length > 0) return known;
  const calls = await callsOf(ports, text);
  return calls.filter((one) => merchant_id === undefined || merchantOf(one) === merchant_id);
}

function onceEach(found: readonly Subject[]): Subject[] {
  const seen = new Set<string>();
  return found.filter((one) => {
    const key = one.link?.legacy_id ?? one.sale?.id ?? one.calls[0]?.id ?? '';
    return !seen.has(key) && seen.add(key);
  });
}

function merchantOf({ link, sale, calls }: Subject): string | null | undefined {
  return link?.merchant_id ?? sale?.merchant_id ?? calls[0]?.merchant_id;
}

function asLink(found_as: IdKind, link: Link | null): Subject[] {
  return link === null ? [] : [{ found_as, link, sale: null, calls: [] }];
}

function asSale(found_as: IdKind, sale: LegacySale | null): Subject[] {
  return sale === null ? [] : [{ found_as, link: null, sale, calls: [] }];
}

/** Ids of intents and sales on orders are lower-case; a preference is called as legacy wrote it. */
async function byLegacyId(ports: Ports, id: string, found_as: IdKind = 'legacy id'): Promise<Subject[]> {
  const { store } = ports;
  const link = await store.links.link(id.toLowerCase());
  if (link !== null) return asLink(found_as, link);
  return asSale(
    found_as,
    (await store.legacy_sales.legacySale(id)) ?? (await store.legacy_sales.legacySale(id.toLowerCase())),
  );
}

/** Payments and merchant orders are both numbers; a minted one says which it is. */
async function byNumber(ports: Ports, text: string): Promise<Subject[]> {
  if (!/^[1-9]\d{0,17}$/.test(text)) return [];
  const number = Number(text);
  const is_order = isMintedMerchantOrder(number);
  const payment = is_order ? [] : asLink('payment', await ports.store.links.linkByPayment(text));
  const minted = is_order ? number : merchantOrderOfPayment(text);
  if (minted === null || !Number.isSafeInteger(minted)) return payment;
  const link = await ports.store.links.linkByMerchantOrder(minted);
  return [...payment, ...asLink(is_order ? 'merchant order' : 'payment', link)];
}

/** A till's own reference, of one merchant or of all; or the one that Puente made of an id and sent upstream. */
async function byReference(ports: Ports, reference: string, merchant_id?: string): Promise<Subject[]> {
  const { store } = ports;
  const [links, sales] = await Promise.all(
    merchant_id === undefined
      ? [
          store.history.linksByAnyReference(reference, MOST_SUBJECTS),
          store.legacy_sales.legacySalesByAnyReference(reference, MOST_SUBJECTS),
        ]
      : [
          store.history.linksByClientReference(merchant_id, reference, MOST_SUBJECTS),
          store.legacy_sales.legacySalesByReference(merchant_id, reference, MOST_SUBJECTS),
        ],
  );
  const derived = legacyIdOf(reference);
  const sent = derived === null ? null : await store.links.link(derived);
  return [
    ...asLink('reference', sent),
    ...links.flatMap((link) => asLink('reference', link)),
    ...sales.flatMap((sale) => asSale('reference', sale)),
  ].toSorted((a, b) => bornAt(b) - bornAt(a));
}

/** The id in a derived reference (`proxy/sales/reference.ts`). */
function legacyIdOf(reference: string): string | null {
  const parts = DERIVED.exec(reference)?.slice(1).join('-').toLowerCase() ?? null;
  return parts !== null && derivedReference(parts) === reference.toLowerCase() ? parts : null;
}

const DERIVED = /^pnt([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;

function bornAt({ link, sale }: Subject): number {
  return link?.created_at ?? sale?.created_at ?? 0;
}

async function byRefund(ports: Ports, id: string): Promise<Subject[]> {
  const found = (await ports.store.refunds.refund(id)) ?? (await ports.store.refunds.refund(id.toUpperCase()));
  return found === null ? [] : byLegacyId(ports, found.legacy_id, 'refund');
}

async function byNotice(ports: Ports, id: string): Promise<Subject[]> {
  const found = await ports.store.notices.notice(id.toLowerCase());
  return found === null ? [] : byLegacyId(ports, found.notice.legacy_id, 'notice');
}

async function byExchange(ports: Ports, id: string): Promise<Subject[]> {
  const legacy_id = (await ports.store.exchanges.exchange(id.toLowerCase()))?.legacy_id ?? null;
  return legacy_id === null ? [] : byLegacyId(ports, legacy_id, 'exchange');
}

/** What is no sale that Puente knows: a call by its own id, or the calls that named this one. */
async function callsOf({ store }: Ports, text: string): Promise<Subject[]> {
  const one = await store.exchanges.exchange(text.toLowerCase());
  if (one !== null) return [{ found_as: 'exchange', link: null, sale: null, calls: [one] }];
  const naming = await store.exchanges.exchanges({ legacy_id: text.toLowerCase() }, 0, MOST_CALLS);
  return naming.length === 0 ? [] : [{ found_as: 'legacy id', link: null, sale: null, calls: naming }];
}
