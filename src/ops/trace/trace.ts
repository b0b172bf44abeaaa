/** One sale in one story: till calls, rules that fired, upstream calls, states, events, notices, refunds, losses. */
import { PuenteError, type Said } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { decimalText } from '../../mapping/amount.ts';
import type { RowWords } from '../../mapping/tables.ts';
import { maskText } from '../../proxy/evidence/redact-text.ts';
import { isMintedMerchantOrder, merchantOrderOfPayment } from '../../proxy/ids.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { derivedReference } from '../../proxy/sales/new-link.ts';
import { iso } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { storyOfCalls, storyOfLink, storyOfSale, type TraceStep } from './steps.ts';

export interface Trace {
  found_as: IdKind;
  /** Null for calls that belong to no sale that Puente knows. */
  sale: SaleView | null;
  /** What stays true whatever the stage is now. */
  promise: string;
  promise_said: Said;
  steps: TraceStep[];
  /** Table rows that fired in its calls, really or on paper, with their reasons. */
  rules: (RowWords & { says_said: Said })[];
  /** True when the tables have changed since, so that rules may be missing or worded differently. */
  tables_changed: boolean;
}

/** The sale itself, with every id that it goes by. */
export interface SaleView {
  merchant: string;
  lane: 'legacy' | 'orders';
  family: string;
  unit: string;
  legacy_id: string | null;
  order_id: string | null;
  payment_id: string | null;
  merchant_order_id: number | null;
  client_reference: string | null;
  reference_sent: string | null;
  /** Decimal text; null where legacy never told. */
  amount: string | null;
  currency: string;
  /** What the till sees. */
  legacy_state: string | null;
  /** Of the link, or of the remembered sale. */
  state: string;
  born_at: string;
  /** Latest end while it is open; null in a terminal state. */
  ends_at: string | null;
  tables_revision: string | null;
}

/**
 * The story of every sale that an id means, newest first.
 * @param merchant_id looks at this merchant's alone.
 * @throws PuenteError not_found, when nothing is known of it.
 */
export async function traceOf(ports: Ports, asked: string, merchant_id?: string): Promise<Trace[]> {
  // Who asks has often seen the call a moment ago; but what is told never waits for evidence that can't be written.
  await Promise.race([ports.evidence.settled(), ports.clock.sleep(SETTLE_MS)]);
  const subjects = await findSubjects(ports, asked, merchant_id);
  if (subjects.length === 0) {
    const id = maskText(asked.slice(0, LONGEST_SHOWN), true);
    const of = { id, merchant: merchant_id ?? '' };
    throw new PuenteError(
      'not_found',
      merchant_id === undefined ? say('refusal.unknown_id', { id }) : say('refusal.unknown_id_of', of),
    );
  }
  return Promise.all(subjects.map((subject) => storyOf(ports, subject)));
}

const SETTLE_MS = 500;
/** More of what was asked for is not said back. */
const LONGEST_SHOWN = 80;

async function storyOf(ports: Ports, { found_as, link, sale, calls }: Subject): Promise<Trace> {
  const { revision } = ports.tables;
  if (link !== null) {
    const { steps, fired } = await storyOfLink(ports, link);
    const tables_changed = link.tables_revision !== revision;
    return {
      found_as,
      sale: await viewOfLink(ports, link),
      ...promised(promiseOf(link)),
      steps,
      rules: rulesOf(ports, fired),
      tables_changed,
    };
  }
  const { steps, fired } = sale === null ? storyOfCalls(calls) : await storyOfSale(ports, sale);
  return {
    found_as,
    sale: sale === null ? null : await viewOfSale(ports, sale),
    ...promised(sale === null ? 'promise.unknown' : 'promise.legacy'),
    steps,
    rules: rulesOf(ports, fired),
    tables_changed: calls.some(({ tables_revision }) => tables_revision !== revision),
  };
}

function rulesOf({ tables }: Ports, fired: readonly string[]): Trace['rules'] {
  return tables.describe(fired).map(({ row, why, parts }) => {
    const { text, said } = say('rule', { ...parts });
    return { row, says: text, says_said: said, why };
  });
}

type PromiseCode = 'promise.unknown' | 'promise.legacy' | 'promise.open' | 'promise.orders';

function promised(code: PromiseCode): Pick<Trace, 'promise' | 'promise_said'> {
  const { text, said } = say(code, {});
  return { promise: text, promise_said: said };
}

function promiseOf(link: Link): PromiseCode {
  const open = link.state === 'SENDING' || link.state === 'IN_DOUBT' || link.state === 'LIVE';
  return open ? 'promise.open' : 'promise.orders';
}

async function viewOfLink(ports: Ports, link: Link): Promise<SaleView> {
  const site = ports.tables.site((await ports.store.merchants.merchant(link.merchant_id))?.site ?? null);
  const open = link.state === 'SENDING' || link.state === 'IN_DOUBT' || link.state === 'LIVE';
  return {
    merchant: link.merchant_id,
    lane: 'orders',
    family: link.family,
    unit: link.unit,
    legacy_id: link.legacy_id,
    order_id: link.order_id,
    payment_id: link.payment_id,
    merchant_order_id: link.merchant_order_id,
    client_reference: shown(link.client_reference),
    reference_sent: shown(link.reference_sent),
    amount: decimalText(link.amount_minor, site.exponent) ?? null,
    currency: site.currency,
    legacy_state: link.legacy_state,
    state: link.state,
    born_at: iso(link.created_at),
    ends_at: open ? iso(link.expires_at) : null,
    tables_revision: link.tables_revision,
  };
}

async function viewOfSale(ports: Ports, sale: LegacySale): Promise<SaleView> {
  const site = ports.tables.site((await ports.store.merchants.merchant(sale.merchant_id))?.site ?? null);
  const open = sale.state === 'SENDING' || sale.state === 'IN_DOUBT' || sale.state === 'OPEN';
  return {
    merchant: sale.merchant_id,
    lane: 'legacy',
    family: sale.family,
    unit: sale.unit,
    legacy_id: sale.legacy_id,
    order_id: null,
    payment_id: null,
    merchant_order_id: null,
    client_reference: shown(sale.client_reference),
    reference_sent: null,
    amount: null,
    currency: site.currency,
    legacy_state: null,
    state: sale.state,
    born_at: iso(sale.created_at),
    ends_at: open ? iso(sale.ends_at) : null,
    tables_revision: null,
  };
}

/** A till may write anything into its reference, the number of a card or a token too. */
function shown(reference: string | null): string | null {
  return reference === null ? null : maskText(reference, true);
}

// One call as it was kept: what the till was told, and while its merchant was captured, the four messages, redacted.

/** `messages`: the till's request and its answer, what went upstream and what came back; null unless they were captured. */
export type CallView = Omit<StoredExchange, 'at' | 'lost'> & {
  at: string;
  lost: { field: string; why: string; would_be: boolean }[];
};

/** @throws PuenteError not_found. */
export async function viewCall(ports: Ports, id: string): Promise<CallView> {
  const found = await ports.store.exchanges.exchange(id);
  if (found === null) throw new PuenteError('not_found', say('refusal.no_call', { id: id.slice(0, 40) }));
  const { at, lost, ...rest } = found;
  return {
    ...rest,
    at: iso(at),
    lost: lost.map(({ path, why, would_be }) => ({ field: path, why, would_be })),
  };
}

// From any id that a person may have to the sales it means.

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
  /** Calls without a known sale: the requested call, or the calls that name an id which Puente did not see created. */
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
