/** The cases, as data: each is one request of a till or the vendor, with a check of its answer. */
import { type Kind, LARGE_BYTES, LARGE_PATH } from '../upstream/answers.ts';
import { type BenchRequest, complete, createIntent, eventAbout, get, referenceOf, USER, WRITE } from './requests.ts';

export interface BenchCase {
  name: string;
  what: string;
  /** Sales that must exist before, their kind, and the field of theirs that the request names; or the upstream, which it names. */
  needs: { kind: Kind; count: number; names: keyof Sale } | 'upstream' | null;
  /** Whether the request may be repeated without end and cut off without effects; only then may wrk send it. */
  is_repeatable: boolean;
  /** Sensible numbers of requests in flight; null: those of the options. */
  in_flight: readonly number[] | null;
  /** Request number `n`; no number is used twice in one run. `target` is what `needs` names. */
  request(n: number, target: string): BenchRequest;
  /** True for a right answer; `translated` when Puente gave it. */
  holds(answer: unknown, asked: { n: number; target: string; translated: boolean }): boolean;
}

export interface Sale {
  n: number;
  legacy_id: string;
  reference: string;
  order_id: string;
  merchant_order_id: string;
}

/** Sales read in turn; a shop with as many tills polls as many. */
const POLLED = 200;
const CARRIED_BODY = JSON.stringify({ email: 'buyer@example.com', description: 'x'.repeat(340) });
const LARGE_BODY = 'x'.repeat(LARGE_BYTES);
/** A few large bodies fill every buffer; more would only fill the load generator's memory. */
const LARGE_IN_FLIGHT = [1, 8] as const;

export const benchCases: readonly BenchCase[] = [
  {
    name: 'create',
    what: 'POST …/payment-intents as Odoo sends it, each on a terminal of its own, so that no terminal is ever busy',
    needs: null,
    is_repeatable: false,
    in_flight: null,
    request: (n) => createIntent('N', n),
    // The legacy answer echoes the reference where the till put it, the order on top.
    holds: (answer, { n }) =>
      isObject(answer) &&
      typeof answer.id === 'string' &&
      answer.id !== '' &&
      (answer.external_reference === referenceOf(n) || additionalInfo(answer).external_reference === referenceOf(n)),
  },
  {
    name: 'get-live',
    what: 'GET of an intent that waits for its buyer; its order is read upstream when the last read is older than reads.fresh_ms',
    needs: { kind: 'N', count: POLLED, names: 'legacy_id' },
    is_repeatable: true,
    in_flight: null,
    request: (_n, id) => get(`/point/integration-api/payment-intents/${id}`),
    holds: (answer, { target }) => isObject(answer) && answer.id === target && answer.state === 'OPEN',
  },
  {
    name: 'get-final',
    what: 'GET of an intent that is paid',
    needs: { kind: 'F', count: POLLED, names: 'legacy_id' },
    is_repeatable: true,
    in_flight: null,
    request: (_n, id) => get(`/point/integration-api/payment-intents/${id}`),
    holds: (answer, { target, translated }) =>
      isObject(answer) && answer.id === target && (!translated || answer.state === 'FINISHED'),
  },
  {
    name: 'payment-search',
    what: 'GET /v1/payments/search by the reference of a paid sale, as tills poll it',
    needs: { kind: 'F', count: POLLED, names: 'reference' },
    is_repeatable: true,
    in_flight: null,
    request: (_n, reference) => get(`/v1/payments/search?external_reference=${reference}`),
    holds: (answer, { target, translated }) =>
      isObject(answer) &&
      Array.isArray(answer.results) &&
      (!translated || answer.results.some((one) => isObject(one) && one.external_reference === target)),
  },
  {
    name: 'merchant-order',
    what: 'GET of the merchant order of a sale at a code that waits for its buyer',
    needs: { kind: 'Q', count: POLLED, names: 'merchant_order_id' },
    is_repeatable: true,
    in_flight: null,
    request: (_n, id) => get(`/merchant_orders/${id}`),
    holds: (answer, { target }) => isObject(answer) && String(answer.id) === target && answer.status === 'opened',
  },
  {
    name: 'proxied',
    what: 'POST /v1/customers, which no table knows: 400 bytes there, 600 back',
    needs: null,
    is_repeatable: true,
    in_flight: null,
    request: () => ({ method: 'POST', path: '/v1/customers', headers: WRITE, body: CARRIED_BODY }),
    holds: (answer) => isObject(answer) && answer.id === `${USER}-customer`,
  },
  {
    name: 'upload',
    what: 'POST of 10 MB, which no table knows',
    needs: null,
    is_repeatable: false,
    in_flight: LARGE_IN_FLIGHT,
    request: () => ({ method: 'POST', path: '/v1/documents', headers: WRITE, body: LARGE_BODY }),
    holds: (answer) => isObject(answer) && answer.status === 'received',
  },
  {
    name: 'download',
    what: 'GET of 10 MB, which no table knows',
    needs: null,
    is_repeatable: false,
    in_flight: LARGE_IN_FLIGHT,
    request: () => get(LARGE_PATH),
    holds: (answer) => answer === LARGE_BYTES,
  },
  {
    name: 'event',
    what: 'POST /webhooks/orders, rightly signed, about an open order of ours; durable before its 200',
    needs: { kind: 'N', count: POLLED, names: 'order_id' },
    is_repeatable: false,
    in_flight: null,
    request: (n, order_id) => eventAbout(order_id, n, 'order.created'),
    holds: (answer) => isObject(answer) && answer.received === true,
  },
];

/** What the gateway is sent in place of `create`; no case to choose. */
export const completion: BenchCase = {
  name: 'completion',
  what: 'POST /v1/chat/completions, which upstream answers in the form of Anthropic',
  needs: 'upstream',
  is_repeatable: false,
  in_flight: null,
  request: (n, upstream) => complete(upstream, n),
  holds: (answer, { n }) =>
    isObject(answer) && answer.object === 'chat.completion' && JSON.stringify(answer.choices).includes(referenceOf(n)),
};

/** @throws Error for an unknown name. */
export function caseOf(name: string): BenchCase {
  const found = [...benchCases, completion].find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case ${name}.`);
  return found;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function additionalInfo(answer: Record<string, unknown>): Record<string, unknown> {
  return isObject(answer.additional_info) ? answer.additional_info : {};
}
