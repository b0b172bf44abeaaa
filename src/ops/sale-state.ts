/** What became of a sale, in one word for people: from the state of its row and the status of its order. */
import type { LegacySale } from '../proxy/records/routing.ts';
import type { Link } from '../proxy/sales/link.ts';

/**
 * `refused`: by upstream or legacy, or proved never sent. `lost`: its order was never found. `not_known`: no answer
 * or event has shown how it ended. A refund does not change a state: a refunded sale was paid.
 */
export const saleStates = [
  'open',
  'in_doubt',
  'paid',
  'canceled',
  'declined',
  'expired',
  'refused',
  'lost',
  'not_known',
] as const;
export type SaleState = (typeof saleStates)[number];

/** The order statuses of a terminal link, by state. The lists of sales filter by them (`src/store/sales.ts`). */
export const statusesOf = {
  paid: ['processed', 'refunded'],
  canceled: ['canceled'],
  declined: ['failed'],
  expired: ['expired'],
} as const;

const stateOfStatus = named(statusesOf);

/** `not_known` also for a terminal link without its order. */
export function stateOfLink({ state, order }: Pick<Link, 'state' | 'order'>): SaleState {
  if (state === 'SENDING' || state === 'IN_DOUBT') return 'in_doubt';
  if (state === 'LOST') return 'lost';
  if (state === 'REJECTED' || state === 'NOT_SENT') return 'refused';
  return state === 'DONE' ? (stateOfStatus.get(order?.status ?? '') ?? 'not_known') : 'open';
}

/** Final states that legacy showed, by state. FINISHED is approved or declined (`docs/field-notes.md` Point finding 1). */
export const endStatesOf = {
  paid: ['paid', 'partially_reverted', 'reverted'],
  canceled: ['CANCELED'],
  declined: ['ERROR'],
  expired: ['ABANDONED', 'expired'],
} as const;

const stateOfEnd = named(endStatesOf);

/** Open while it holds its unit; it may have ended without a call that shows it. @param now epoch ms. */
export function stateOfLegacySale(
  { state, slot, ends_at, end_state }: Pick<LegacySale, 'state' | 'slot' | 'ends_at' | 'end_state'>,
  now: number,
): SaleState {
  if (state === 'REFUSED') return 'refused';
  if (state === 'SENDING' || state === 'IN_DOUBT') return 'in_doubt';
  if (state === 'OPEN') return slot !== null && ends_at > now ? 'open' : 'not_known';
  return stateOfEnd.get(end_state ?? '') ?? 'not_known';
}

/** Of sales in a list. Ids begin with the time of creation, and decide between sales of one millisecond. */
export function comparePlaces(one: { at: number; id: string }, other: typeof one): number {
  return one.at - other.at || (one.id < other.id ? -1 : Number(one.id > other.id));
}

function named(words: Readonly<Record<keyof typeof statusesOf, readonly string[]>>): Map<string, SaleState> {
  const states = ['paid', 'canceled', 'declined', 'expired'] as const;
  return new Map(states.flatMap((state) => words[state].map((word) => [word, state])));
}
