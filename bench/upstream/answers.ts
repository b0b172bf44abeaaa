/** Answers of the benchmark's upstream, as data: one list for nginx and Node, so that both send the same bytes. */

/**
 * One route. `text` may use parts of the request: `$path_kind` and `$path_number` (captured by `path`), `$body_kind`,
 * `$body_number`, `$body_reference`, `$body_amount`; and `$born`, `$born_later` (times of upstream's start).
 */
export interface Route {
  name: string;
  /** A regular expression for the whole path, in the syntax that JavaScript and PCRE share. */
  path: string;
  /** 200 if missing. */
  status?: number;
  text: string;
  /** Whether the body is read to its end before the answer, because the answer or the case needs it. */
  reads_body?: true;
  /** Whether requests are logged: `order`, `intent` and `completion` are compared with what was answered and stored. */
  counted?: true;
}

/** Digits of a request's number, which is in the ids of its unit and order, so that upstream needs no memory. */
export const NUMBER_DIGITS = 10;
/** `N` stays new; `F` is final when read; `Q` is a sale at a code and stays new. */
export type Kind = 'N' | 'F' | 'Q';

export function unitOf(kind: Kind, n: number): string {
  return `BENCH${kind}${String(n).padStart(NUMBER_DIGITS, '0')}`;
}

/** Upstream's order of a unit: `ORD` and 26 characters of Crockford's alphabet (`docs/field-notes.md` Orders §1.4). */
export function orderIdOf(kind: Kind, n: number): string {
  return `ORD01BENCH00000000${kind}${String(n).padStart(NUMBER_DIGITS, '0')}`;
}

/** Patterns that both upstreams read in the body of a create. */
export const BODY = {
  unit: `"(?:terminal_id|external_pos_id)":"BENCH(?<kind>[NFQ])(?<number>[0-9]{${NUMBER_DIGITS}})"`,
  type: '"type":"(?<type>point|qr)"',
  reference: '"(?:external_reference|user_id)":"(?<reference>[^"]+)"',
  amount: '"amount":"(?<amount>[0-9.]+)"',
};

export const LARGE_BYTES = 10 * 1024 * 1024;

const UNIT = `BENCH(?<path_kind>[NFQ])(?<path_number>[0-9]{${NUMBER_DIGITS}})`;
const ORDER = `/v1/orders/ORD01BENCH00000000(?<path_kind>[NFQ])(?<path_number>[0-9]{${NUMBER_DIGITS}})`;
const PAYMENT = '{"id":7$path_number,"status":"approved","status_detail":"accredited","external_reference":null';

export const routes: readonly Route[] = [
  {
    name: 'order',
    path: '/v1/orders',
    status: 201,
    text: order('body', '$body_kind', '"external_reference":"$body_reference",', '"status":"created"', '$born'),
    reads_body: true,
    counted: true,
  },
  {
    name: 'order-final',
    path: ORDER.replace('[NFQ]', 'F'),
    text: order('path', 'F', '', '"status":"processed","status_detail":"accredited"', '$born_later'),
  },
  {
    name: 'order-new',
    path: ORDER.replace('[NFQ]', 'N'),
    text: order('path', 'N', '', '"status":"created"', '$born'),
  },
  {
    name: 'order-qr',
    path: ORDER.replace('[NFQ]', 'Q'),
    text: order('path', 'Q', '', '"status":"created"', '$born'),
  },
  {
    name: 'order-canceled',
    path: `${ORDER}/cancel`,
    text: order('path', '$path_kind', '', '"status":"canceled"', '$born_later'),
  },
  {
    name: 'intent',
    path: `/point/integration-api/devices/${UNIT}/payment-intents`,
    status: 201,
    text: order('path', '$path_kind', '"external_reference":"$body_reference",', '"status":"created"', '$born'),
    reads_body: true,
    counted: true,
  },
  {
    name: 'completion',
    path: '/v1/messages',
    text: `{"id":"msg_01BENCH","type":"message","role":"assistant","model":"claude-bench","content":[{"type":"text","text":"$body_reference ${'x'.repeat(500)}"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":64}}`,
    reads_body: true,
    counted: true,
  },
  {
    name: 'intent-read',
    path: '/point/integration-api/payment-intents/(?<path_number>[0-9a-f-]{36})',
    text: '{"id":"$path_number","state":"OPEN","amount":1500,"device_id":"BENCH","payment":{"type":"credit_card","installments":1},"additional_info":{"external_reference":"untouched","print_on_terminal":true}}',
  },
  {
    name: 'merchant-order',
    path: '/merchant_orders/(?<path_number>[0-9]+)',
    text: '{"id":$path_number,"status":"opened","external_reference":"untouched","preference_id":"","payments":[],"shipments":[],"collector":{"id":700100200,"nickname":"BENCH"},"marketplace":"NONE","total_amount":301,"paid_amount":0,"refunded_amount":0,"order_status":"payment_required","items":[{"title":"Coffee","unit_price":150.5,"quantity":2}]}',
  },
  {
    name: 'merchant-order-search',
    path: '/merchant_orders/search',
    text: '{"elements":[],"next_offset":0,"total":0}',
  },
  {
    name: 'payment-search',
    path: '/v1/payments/search',
    text: '{"paging":{"total":0,"limit":30,"offset":0},"results":[]}',
  },
  {
    name: 'payment',
    path: `/v1/payments/7(?<path_number>[0-9]{${NUMBER_DIGITS}})`,
    text: `${PAYMENT},"transaction_amount":15,"transaction_amount_refunded":0,"currency_id":"ARS","collector_id":700100200,"operation_type":"regular_payment","payment_method_id":"visa","payment_type_id":"credit_card","installments":1,"date_created":"$born","date_approved":"$born_later","date_last_updated":"$born_later","refunds":[],"captured":true,"live_mode":true,"metadata":{}}`,
  },
  {
    name: 'account',
    path: '/users/me',
    text: '{"id":700100200,"nickname":"BENCH","site_id":"MLA","country_id":"AR"}',
  },
  {
    name: 'event',
    path: '/webhooks/orders',
    text: '{"received":true}',
    reads_body: true,
  },
  { name: 'notice', path: '/bench/notices', text: '{}', reads_body: true, counted: true },
  {
    name: 'proxied',
    path: '/v1/customers',
    text: `{"id":"700100200-customer","email":"buyer@example.com","description":"${'x'.repeat(500)}"}`,
    reads_body: true,
  },
  {
    name: 'upload',
    path: '/v1/documents',
    text: '{"id":"document","status":"received"}',
    reads_body: true,
  },
];

/** The large answer; nginx reads it from a file. */
export const LARGE_PATH = '/v1/documents/large';

/** An order named by a path has its kind's amount in bench/cases/requests.ts. */
function order(from: 'path' | 'body', kind: string, reference: string, status: string, updated: string): string {
  const number = `$${from}_number`;
  const of_path = kind === 'Q' ? { type: 'qr', amount: '301.00' } : { type: 'point', amount: '15.00' };
  const { type, amount } = from === 'body' ? { type: '$body_type', amount: '$body_amount' } : of_path;
  const paid = status.includes('processed')
    ? `"status":"processed","paid_amount":"15.00","reference_id":"7${number}"`
    : '"status":"created"';
  const place = `"point":{"terminal_id":"BENCH${kind}${number}","print_on_terminal":"seller_ticket"}`;
  return `{"id":"ORD01BENCH00000000${kind}${number}","type":"${type}","user_id":"700100200",${reference}"expiration_time":"PT15M","processing_mode":"automatic","country_code":"ARG","currency":"ARS","integration_data":{"application_id":"4004001"},${status},"created_date":"$born","last_updated_date":"${updated}","config":{${place}},"type_response":{"qr_data":"00020101021243650016COM.MERCADOLIBRE"},"transactions":{"payments":[{"id":"PAY01BENCH00000000${kind}${number}","amount":"${amount}",${paid}}]}}`;
}
