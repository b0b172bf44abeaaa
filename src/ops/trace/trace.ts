/** The story of one sale: till calls, rows that fired, upstream calls, states, events, notices, refunds, losses. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Tables } from '../../mapping/tables.ts';
import { decimalText } from '../../mapping/values.ts';
import { maskText } from '../../proxy/evidence/redact-text.ts';
import { isSyntheticMerchantOrder, merchantOrderOfPayment } from '../../proxy/ids.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { Refund } from '../../proxy/records/refunds.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import { minorOf } from '../../proxy/routing/legacy-ledger.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { derivedReference } from '../../proxy/sales/new-link.ts';
import { defined, iso, lane, said, shown, time } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { NOT_REFUNDED, refundFields, refundOfLegacySale, refundOfLink } from '../refunded.ts';
import { knownMerchants, nearMerchants } from '../seen.ts';
import { storyOfCalls, storyOfLink, storyOfSale, traceStep } from './steps.ts';

/** The kinds of ids that a trace looks up. */
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
type IdKind = (typeof idKinds)[number];

export const saleView = z.object({
  merchant: z.string(),
  merchant_name: z.string().nullable(),
  lane,
  family: z.string(),
  unit: z.string(),
  legacy_id: z.string().nullable(),
  order_id: z.string().nullable(),
  payment_id: z.string().nullable(),
  merchant_order_id: z.number().nullable(),
  client_reference: z.string().nullable(),
  reference_sent: z.string().nullable(),
  amount: z.string().nullable().describe('decimal text; null where it is not known'),
  currency: z.string(),
  ...refundFields,
  legacy_state: z.string().nullable().describe('what the till sees'),
  state: z.string().describe('of the link, or of the remembered sale'),
  created_at: time,
  ends_at: time.nullable().describe('latest end while it is open'),
  tables_revision: z.string().nullable(),
});
export type SaleView = z.infer<typeof saleView>;

export const traceView = z.object({
  found_as: z.enum(idKinds),
  sale: saleView.nullable().describe('null for calls that belong to no known sale'),
  trouble: z
    .object({ state: z.enum(['lost', 'in_doubt']), what: z.string(), said })
    .nullable()
    .describe('what is wrong with a sale that is lost or in doubt, and why'),
  promise: z.string().describe('what applies in every stage'),
  promise_said: said,
  steps: z.array(traceStep),
  rules: z
    .array(z.object({ row: z.string(), says: z.string(), says_said: said, why: z.string() }))
    .describe('table rows that fired in its calls, really or on paper'),
  tables_changed: z.boolean().describe('since then, so that rules may be missing or worded differently'),
});
export type Trace = z.infer<typeof traceView>;

/** The stories of all sales with an id (of one merchant, if named), newest first. @throws PuenteError not_found. */
export async function traceOf(ports: Ports, requested: string, merchant_id?: string): Promise<Trace[]> {
  // Operators look for calls of a moment ago, but a trace must not wait for evidence that can't be written.
  await Promise.race([ports.evidence.settled(), ports.clock.sleep(EVIDENCE_WAIT_MS)]);
  const subjects = await findSubjects(ports, requested, merchant_id);
  if (subjects.length === 0) {
    const id = maskText(requested.slice(0, LONGEST_SHOWN), true);
    const of = { id, merchant: merchant_id ?? '' };
    if (merchant_id !== undefined) throw new PuenteError('not_found', say('refusal.unknown_id_of', of));
    const near = await nearMerchants(requested, await knownMerchants(ports));
    throw new PuenteError('not_found', [
      say('refusal.unknown_id', { id }),
      ...(near.length === 0 ? [] : [say('refusal.trace_merchant', { near })]),
    ]);
  }
  return Promise.all(subjects.map((subject) => storyOf(ports, subject)));
}

const EVIDENCE_WAIT_MS = 500;
/** Characters of the requested id that the refusal repeats. */
const LONGEST_SHOWN = 80;

async function storyOf(ports: Ports, { found_as, link, sale, calls }: Subject): Promise<Trace> {
  const tables = ports.tables.of((link ?? sale)?.merchant_id ?? calls[0]?.merchant_id ?? null);
  const { steps, fired, trouble } =
    link !== null
      ? await storyOfLink(ports, link)
      : sale !== null
        ? await storyOfSale(ports, sale)
        : storyOfCalls(calls);
  const { text: promise, said: promise_said } = say(promiseOf(link, sale), {});
  return {
    found_as,
    sale: await viewOfSale(ports, link, sale, link === null ? [] : await ports.store.refunds.refunds(link.legacy_id)),
    trouble: trouble && { state: trouble.state, what: trouble.sentence.text, said: trouble.sentence.said },
    promise,
    promise_said,
    steps,
    rules: rulesOf(tables, fired),
    tables_changed: [...(link === null ? [] : [link]), ...calls].some((one) => one.tables_revision !== tables.revision),
  };
}

function rulesOf(tables: Tables, fired: readonly string[]): Trace['rules'] {
  return tables.describe(fired).map(({ row, why, parts }) => {
    const { text, said } = say('rule', { ...parts });
    return { row, says: text, says_said: said, why };
  });
}

function promiseOf(link: Link | null, sale: LegacySale | null): string {
  if (link !== null) return isOpen(link) ? 'promise.open' : 'promise.orders';
  if (sale === null) return 'promise.unknown';
  return sale.family === 'payments' ? 'promise.refund' : 'promise.legacy';
}

function isOpen({ state }: Link | LegacySale): boolean {
  return ['SENDING', 'IN_DOUBT', 'LIVE', 'OPEN'].includes(state);
}

/** Fields that legacy never reported. */
const UNTOLD = {
  order_id: null,
  payment_id: null,
  merchant_order_id: null,
  reference_sent: null,
  amount_minor: null,
  legacy_state: null,
  tables_revision: null,
};

/**
 * From the link, else from the sale on legacy; null without either. Amounts are decimal text.
 * @param refunds those of the link, oldest first.
 */
export async function viewOfSale(
  ports: Ports,
  link: Link | null,
  sale: LegacySale | null,
  refunds: readonly Refund[],
): Promise<SaleView | null> {
  const known = link ?? sale;
  if (known === null) return null;
  const { merchant_id, family, unit, legacy_id, state, created_at } = known;
  const merchant = await ports.store.merchants.merchant(merchant_id);
  const site = ports.tables.site(merchant?.site ?? null);
  const { order_id, payment_id, merchant_order_id, reference_sent, amount_minor, legacy_state, tables_revision } =
    link ?? UNTOLD;
  const ends_at = link === null ? (sale?.ends_at ?? null) : link.expires_at;
  const on_legacy = sale === null ? NOT_REFUNDED : refundOfLegacySale(sale, site.exponent);
  return {
    merchant: merchant_id,
    merchant_name: merchant?.settings.name ?? null,
    lane: link === null ? 'legacy' : 'orders',
    family,
    unit,
    legacy_id,
    order_id,
    payment_id: family === 'payments' ? unit : payment_id,
    merchant_order_id,
    client_reference: family === 'payments' ? null : shownText(known.client_reference),
    reference_sent: shownText(reference_sent),
    amount: decimalText(amount_minor ?? (sale && minorOf(sale, site.exponent)), site.exponent) ?? null,
    currency: site.currency,
    ...(link === null ? on_legacy : refundOfLink(link, refunds, site.exponent)),
    legacy_state: legacy_state ?? sale?.end_state ?? null,
    state,
    created_at: iso(created_at),
    ends_at: isOpen(known) ? iso(ends_at) : null,
    tables_revision,
  };
}

/** A till may write any text into its reference, a card number or a token too. */
function shownText(reference: string | null): string | null {
  return reference === null ? null : maskText(reference, true);
}

/** `messages`: the till's request and answer, and the upstream request and answer; null unless they were captured. @throws PuenteError not_found. */
export async function viewCall(ports: Ports, id: string) {
  const found = await ports.store.exchanges.exchange(id);
  if (found === null) throw new PuenteError('not_found', say('refusal.no_call', { id: id.slice(0, 40) }));
  return { ...shown(found), lost: found.lost.map(({ path, why, would_be }) => ({ field: path, why, would_be })) };
}

// From any id that an operator may have to the sales with it.

interface Subject {
  found_as: IdKind;
  /** Created on orders. */
  link: Link | null;
  /** Created on legacy. */
  sale: LegacySale | null;
  /** Calls without a known sale: the requested call, or calls that name an id which Puente did not see created. */
  calls: StoredExchange[];
}

/** A till repeats its references; the newest sales are meant. */
const MOST_SUBJECTS = 10;
/** No id of Puente or the vendor is longer; references may be. */
const LONGEST_ASKED = 256;
/** Calls shown of an id without a known sale. */
const MOST_CALLS = 500;

/** The sales with an id, newest first of each kind of id, each once; empty for an unknown id. */
async function findSubjects(ports: Ports, requested: string, merchant_id?: string): Promise<Subject[]> {
  const whole = requested.slice(0, LONGEST_ASKED);
  const text = whole.trim();
  const found = [
    ...(await byLegacyId(ports, text)),
    ...subjectsOf(
      'order',
      (await ports.store.links.linkByOrder(text)) ?? (await ports.store.links.linkByOrder(text.toUpperCase())),
    ),
    ...(await byNumber(ports, text)),
    // The spaces around a till's own text are part of it.
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

function subjectsOf(found_as: IdKind, link: Link | null, sale: LegacySale | null = null): Subject[] {
  return link === null && sale === null ? [] : [{ found_as, link, sale, calls: [] }];
}

/** Ids of intents and of sales on orders are lower-case; a preference's id is as legacy wrote it. */
async function byLegacyId(ports: Ports, id: string, found_as: IdKind = 'legacy id'): Promise<Subject[]> {
  const { store } = ports;
  const link = await store.links.link(id.toLowerCase());
  if (link !== null) return subjectsOf(found_as, link);
  const sale = (await store.legacy_sales.legacySale(id)) ?? (await store.legacy_sales.legacySale(id.toLowerCase()));
  return subjectsOf(sale?.family === 'payments' ? 'refund' : found_as, null, sale);
}

/** Payments and merchant orders are both numbers; a merchant order that Puente made is known by its number. */
async function byNumber(ports: Ports, text: string): Promise<Subject[]> {
  if (!/^[1-9]\d{0,17}$/.test(text)) return [];
  const number = Number(text);
  const is_order = isSyntheticMerchantOrder(number);
  const payment = is_order ? [] : subjectsOf('payment', await ports.store.links.linkByPayment(text));
  const synthetic = is_order ? number : merchantOrderOfPayment(text);
  if (synthetic === null || !Number.isSafeInteger(synthetic)) return payment;
  const link = await ports.store.links.linkByMerchantOrder(synthetic);
  return [...payment, ...subjectsOf(is_order ? 'merchant order' : 'payment', link)];
}

/** A till's own reference, of one merchant or of all; or the one that Puente derived from an id and sent upstream. */
async function byReference({ store, clock }: Ports, reference: string, merchant_id?: string): Promise<Subject[]> {
  const filter = defined({ merchant_id, reference, with_unproven: true, now: clock.now() });
  const [links, sales] = await Promise.all([
    store.history.listLinks(filter, null, MOST_SUBJECTS),
    store.legacy_sales.listLegacySales(filter, null, MOST_SUBJECTS),
  ]);
  const derived = legacyIdOf(reference);
  const sent = derived === null ? null : await store.links.link(derived);
  return [
    ...subjectsOf('reference', sent),
    ...links.rows.flatMap((link) => subjectsOf('reference', link)),
    ...sales.rows.flatMap((sale) => subjectsOf('reference', null, sale)),
  ].toSorted((a, b) => bornAt(b) - bornAt(a));
}

/** The legacy id in a derived reference (`proxy/sales/new-link.ts`). */
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

/** An id without a known sale: a call by its own id, or the calls that named the id. */
async function callsOf({ store }: Ports, text: string): Promise<Subject[]> {
  const one = await store.exchanges.exchange(text.toLowerCase());
  if (one !== null) return [{ found_as: 'exchange', link: null, sale: null, calls: [one] }];
  const naming = await store.exchanges.exchanges({ legacy_id: text.toLowerCase() }, 0, MOST_CALLS);
  return naming.length === 0 ? [] : [{ found_as: 'legacy id', link: null, sale: null, calls: naming }];
}
