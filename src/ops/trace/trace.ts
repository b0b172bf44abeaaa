/** One sale in one story: till calls, rules that fired, upstream calls, states, events, notices, refunds, losses. */
import { PuenteError, type Said } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { decimalText } from '../../mapping/amount.ts';
import type { RowWords } from '../../mapping/tables.ts';
import { maskText } from '../../proxy/evidence/redact-text.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { Ports } from '../ports.ts';
import { findSubjects, type IdKind, type Subject } from './find.ts';
import { storyOfCalls, storyOfLink, storyOfSale, type TraceStep } from './steps.ts';

export type { TraceStep } from './steps.ts';

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
  /** Latest end while it is open; null once it is over. */
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
    const { text, said } = say('rule', parts);
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
    born_at: new Date(link.created_at).toISOString(),
    ends_at: open ? new Date(link.expires_at).toISOString() : null,
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
    born_at: new Date(sale.created_at).toISOString(),
    ends_at: open ? new Date(sale.ends_at).toISOString() : null,
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
    at: new Date(at).toISOString(),
    lost: lost.map(({ path, why, would_be }) => ({ field: path, why, would_be })),
  };
}
