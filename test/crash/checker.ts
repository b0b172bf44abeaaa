/**
 * Judges answers to tills, the upstream's orders, the receiver's notices and the database by the invariants of
 * `docs/protocol.md` §5.3. Imports no code of Puente; the states of both APIs are written out again here.
 */
import { createHash } from 'node:crypto';

/** Several calls with the same `sale` are retries of one sale. */
export interface CreateCall {
  sale: number;
  merchant_id: string;
  device: string;
  amount_minor: number;
  /** Null when the connection broke before an answer. */
  status: number | null;
  legacy_id: string | null;
}

export interface UpstreamOrder {
  id: string;
  merchant_id: string;
  device: string;
  reference: string;
  amount_minor: number;
  status: string;
  /** `status_detail` of its transaction, which depends on the canceling party. */
  detail: string | null;
  created_at: number;
  updated_at: number;
}

export interface LinkFacts {
  legacy_id: string;
  merchant_id: string;
  unit: string;
  reference_sent: string;
  idempotency_key: string;
  amount_minor: number;
  state: string;
  client_answer: string;
  order_id: string | null;
  legacy_state: string;
}

/** A create proxied to legacy, as Puente recorded it before sending the bytes. */
export interface LegacySaleFacts {
  merchant_id: string;
  unit: string;
  state: string;
  legacy_id: string | null;
}

export interface AuditFacts {
  sequence: number;
  at: number;
  who: string;
  action: string;
  subject: string;
  reason: string;
  detail: unknown;
  hash: string;
}

export interface History {
  creates: CreateCall[];
  /** Legacy ids that a till tried to cancel, with any answer. */
  cancels: string[];
  /** GET of every legacy id in a delivered answer after the last restart. */
  reads: Map<string, { status: number; state: unknown; amount: unknown }>;
  /** Last creates, one on every device that was used. */
  probes: { device: string; status: number | null }[];
  unsettled: string[];
  orders: UpstreamOrder[];
  legacy_intents: Map<string, { amount_minor: number; status: string }>;
  keys_seen: string[];
  webhooks: { order_id: string; action: string; status: number | null }[];
  notices: { legacy_id: string; state: unknown }[];
  links: LinkFacts[];
  /** Keys of QR rows, which have their own checker. */
  other_keys: string[];
  legacy_sales: LegacySaleFacts[];
  events: { order_id: string | null; action: string; state: string }[];
  notice_rows: { legacy_id: string; state: string }[];
  audits: AuditFacts[];
  merchants: { id: string; stage: string | null }[];
  /** Orders whose answer a kill may have cut off, although a notice of them was acknowledged. */
  known_by_notice: string[];
  integrity: string;
}

export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I8' | 'I11' | 'I12' | 'I13' | 'P2' | 'P16' | 'file';

export interface Violation {
  invariant: Invariant;
  text: string;
}

/** The intent state of each order status (`docs/field-notes.md` Spec Versioning); a declined payment is an ERROR. */
const INTENT_STATE: Record<string, string> = {
  created: 'OPEN',
  at_terminal: 'ON_TERMINAL',
  processed: 'FINISHED',
  refunded: 'FINISHED',
  failed: 'ERROR',
  canceled: 'CANCELED',
  expired: 'ABANDONED',
};
/** States that legacy announced (`docs/field-notes.md` Point §3.1); ABANDONED is not among them. */
const ANNOUNCED = new Set(['FINISHED', 'ERROR', 'CANCELED']);
/** Orders that charge nothing and hold no terminal. */
const HARMLESS = new Set(['canceled', 'expired', 'failed']);
const OPEN_ORDER = new Set(['created', 'at_terminal', 'action_required']);
const HOLDS_UNIT = new Set(['SENDING', 'IN_DOUBT', 'LIVE']);
const IN_DOUBT = new Set(['SENDING', 'IN_DOUBT']);

export function check(history: History): Violation[] {
  const found: Violation[] = [];
  const rules: [Invariant, (books: Books) => string[]][] = [
    ['I1', deliveredResolve],
    ['I2', oneOrderPerRow],
    ['I3', nothingOrphaned],
    ['I4', nothingInDoubt],
    ['I5', eventsKept],
    ['I6', changesTold],
    ['I8', statesEqual],
    ['I11', proxiedNoted],
    ['I12', amountsEqual],
    ['I13', unitsFree],
    ['P2', paidOnce],
    ['P16', auditsHold],
    ['file', (books) => (books.integrity === 'ok' ? [] : [`the file is damaged: ${books.integrity}`])],
  ];
  const books = openBooks(history);
  for (const [invariant, rule] of rules) for (const text of rule(books)) found.push({ invariant, text });
  return found;
}

interface Books extends History {
  link: Map<string, LinkFacts>;
  order: Map<string, UpstreamOrder>;
  /** Orders with the reference of a row, by legacy id. */
  ordersOf: Map<string, UpstreamOrder[]>;
  /** Creates whose answer was delivered. */
  delivered: (CreateCall & { legacy_id: string })[];
}

function openBooks(history: History): Books {
  const link = new Map(history.links.map((row) => [row.legacy_id, row]));
  const order = new Map(history.orders.map((entry) => [entry.id, entry]));
  const ordersOf = new Map<string, UpstreamOrder[]>();
  for (const row of history.links) {
    const mine = history.orders.filter(
      (entry) => entry.merchant_id === row.merchant_id && entry.reference === row.reference_sent,
    );
    ordersOf.set(row.legacy_id, mine);
  }
  const delivered = history.creates.flatMap((call) =>
    call.status !== null && call.status < 300 && call.legacy_id !== null
      ? [{ ...call, legacy_id: call.legacy_id }]
      : [],
  );
  return { ...history, link, order, ordersOf, delivered };
}

/** I1: every 2xx create resolves to exactly one existing order, which only the till or the customer canceled. */
function deliveredResolve(books: Books): string[] {
  const wrong: string[] = [];
  for (const call of books.delivered) {
    const { legacy_id } = call;
    const row = books.link.get(legacy_id);
    if (row === undefined && books.legacy_intents.has(legacy_id)) continue;
    const read = books.reads.get(legacy_id);
    const order = row?.order_id === undefined || row.order_id === null ? undefined : books.order.get(row.order_id);
    if (row === undefined) wrong.push(`sale ${call.sale}: ${legacy_id} was answered 2xx and has no row`);
    else if (order === undefined) wrong.push(`sale ${call.sale}: ${legacy_id} (${row.state}) leads to no order`);
    else if (order.reference !== row.reference_sent)
      wrong.push(`${legacy_id} (${row.reference_sent}) leads to ${order.id}, which is another's (${order.reference})`);
    else if (order.detail === 'canceled_by_api' && !books.cancels.includes(legacy_id))
      wrong.push(`sale ${call.sale}: ${legacy_id} was answered 2xx, and canceled without a request`);
    if (read?.status !== 200) wrong.push(`sale ${call.sale}: GET ${legacy_id} answers ${read?.status ?? 'nothing'}`);
  }
  return wrong;
}

/** I2: at most one order per row, one key per row, and at most one order that counts per sale. */
function oneOrderPerRow(books: Books): string[] {
  const wrong: string[] = [];
  for (const [legacy_id, orders] of books.ordersOf) {
    if (orders.length > 1)
      wrong.push(`${legacy_id} has ${orders.length} orders: ${orders.map(({ id }) => id).join(', ')}`);
  }
  const keys = new Set(books.links.map((row) => row.idempotency_key));
  if (keys.size !== books.links.length) wrong.push('two rows share one key');
  for (const key of books.other_keys) keys.add(key);
  for (const key of new Set(books.keys_seen)) if (!keys.has(key)) wrong.push(`the key ${key} was sent and is no row's`);
  const bySale = Map.groupBy(books.delivered, (call) => call.sale);
  for (const [sale, calls] of bySale) {
    const counting = [...new Set(calls.map((call) => call.legacy_id))].filter((id) => countsAsSale(books, id));
    if (counting.length > 1) wrong.push(`sale ${sale} was made ${counting.length} times: ${counting.join(', ')}`);
  }
  return wrong;
}

function countsAsSale(books: Books, legacy_id: string): boolean {
  const row = books.link.get(legacy_id);
  const intent = books.legacy_intents.get(legacy_id);
  if (row === undefined) return intent !== undefined && !['CANCELED', 'ABANDONED', 'ERROR'].includes(intent.status);
  const order = books.order.get(row.order_id ?? '');
  return order !== undefined && !HARMLESS.has(order.status);
}

/** I3: every upstream order belongs to a row; an order without a delivered answer ends, or its settlement is reported. */
function nothingOrphaned(books: Books): string[] {
  const wrong: string[] = [];
  const byReference = new Map(books.links.map((row) => [`${row.merchant_id}/${row.reference_sent}`, row]));
  const byOrder = new Map(books.links.map((row) => [row.order_id, row]));
  for (const order of books.orders) {
    const row = byOrder.get(order.id) ?? byReference.get(`${order.merchant_id}/${order.reference}`);
    if (row === undefined) wrong.push(`order ${order.id} (${order.reference}, ${order.status}) has no row`);
    else if (row.order_id === null)
      wrong.push(`order ${order.id} was never learned by ${row.legacy_id} (${row.state})`);
    else if (row.client_answer !== 'maybe' && needsReport(books, order, row) && !isReported(books, row))
      wrong.push(
        `order ${order.id} is ${order.status}, its client was told nothing, and no report names ${row.legacy_id}`,
      );
  }
  return wrong;
}

function needsReport(books: Books, order: UpstreamOrder, row: LinkFacts): boolean {
  if (!HARMLESS.has(order.status)) return true;
  return order.detail === 'canceled_by_api' && !books.cancels.includes(row.legacy_id);
}

function isReported(books: Books, row: LinkFacts): boolean {
  return books.audits.some((line) => line.subject === row.legacy_id);
}

/** I4: no row is left in doubt, a LOST row is reported, and recovery finishes in time. */
function nothingInDoubt(books: Books): string[] {
  const rows = books.links.flatMap((row) => {
    if (IN_DOUBT.has(row.state)) return [`${row.legacy_id} is still ${row.state}`];
    return row.state === 'LOST' && !isReported(books, row) ? [`${row.legacy_id} is LOST and not reported`] : [];
  });
  return [...rows, ...books.unsettled.map((what) => `not through in time: ${what}`)];
}

/** I5: every webhook that was answered 2xx is in the inbox, and done or parked; none is pending. */
function eventsKept(books: Books): string[] {
  const kept = new Set(books.events.map((event) => `${event.order_id} ${event.action}`));
  const lost = books.webhooks
    .filter(({ status, order_id, action }) => status !== null && status < 300 && !kept.has(`${order_id} ${action}`))
    .map(({ order_id, action }) => `the webhook ${action} of ${order_id} was taken and is not in the inbox`);
  const waiting = books.events
    .filter(({ state }) => state !== 'done' && state !== 'parked')
    .map(({ order_id, action, state }) => `the event ${action} of ${order_id} is ${state}`);
  return [...lost, ...waiting];
}

/** I6: every state that legacy announced reached the receiver, and no other state was announced. */
function changesTold(books: Books): string[] {
  const told = new Set(books.notices.map((notice) => `${notice.legacy_id} ${String(notice.state)}`));
  const wrong: string[] = [];
  for (const row of books.links) {
    if (row.order_id === null || !ANNOUNCED.has(row.legacy_state)) continue;
    if (!told.has(`${row.legacy_id} ${row.legacy_state}`))
      wrong.push(`${row.legacy_id} is ${row.legacy_state}, and nobody was told`);
  }
  for (const notice of books.notices) {
    const row = books.link.get(notice.legacy_id);
    if (row === undefined) wrong.push(`a notice came for ${notice.legacy_id}, which has no row`);
    else if (row.legacy_state !== notice.state)
      wrong.push(`${row.legacy_id} was announced ${String(notice.state)} and is ${row.legacy_state}`);
  }
  for (const row of books.notice_rows)
    if (row.state === 'pending') wrong.push(`a notice of ${row.legacy_id} still waits`);
  return wrong;
}

/** A Point order that expired without a payment is `canceled` too; its detail differs from that of a cancel. */
function stateOf({ status, detail }: UpstreamOrder): string | undefined {
  return status === 'canceled' && detail === 'canceled' ? 'ABANDONED' : INTENT_STATE[status];
}

/** I8: the row and the till's read show the state of the order. */
function statesEqual(books: Books): string[] {
  const wrong: string[] = [];
  for (const row of books.links) {
    const order = books.order.get(row.order_id ?? '');
    if (order === undefined) continue;
    const expected = stateOf(order);
    const read = books.reads.get(row.legacy_id);
    if (row.legacy_state !== expected) wrong.push(`${row.legacy_id} is ${row.legacy_state}, its order ${order.status}`);
    if (read !== undefined && read.status === 200 && read.state !== expected)
      wrong.push(`GET ${row.legacy_id} says ${String(read.state)}, its order is ${order.status}`);
  }
  return wrong;
}

/** I11: a create that legacy accepted was recorded before, so that later calls of the sale are proxied too. */
function proxiedNoted(books: Books): string[] {
  return books.delivered
    .filter(({ legacy_id }) => !books.link.has(legacy_id) && books.legacy_intents.has(legacy_id))
    .filter((call) => !books.legacy_sales.some((sale) => isOf(sale, call)))
    .map(({ sale, legacy_id }) => `sale ${sale}: ${legacy_id} was answered 2xx by legacy, and nothing was noted`);
}

/** The till may be answered before the id is stored; until then, the row recorded before the create holds the unit. */
function isOf(sale: LegacySaleFacts, call: CreateCall): boolean {
  if (sale.merchant_id !== call.merchant_id || sale.unit !== call.device || sale.state === 'REFUSED') return false;
  return sale.legacy_id === call.legacy_id || sale.legacy_id === null;
}

/** I12: till, row, order and read have one amount. */
function amountsEqual(books: Books): string[] {
  const wrong: string[] = [];
  for (const row of books.links) {
    const order = books.order.get(row.order_id ?? '');
    if (order !== undefined && order.amount_minor !== row.amount_minor)
      wrong.push(`${row.legacy_id} is ${row.amount_minor}, its order ${order.amount_minor}`);
  }
  for (const call of books.delivered) {
    const amount = (books.link.get(call.legacy_id) ?? books.legacy_intents.get(call.legacy_id))?.amount_minor;
    if (amount !== undefined && amount !== call.amount_minor)
      wrong.push(`sale ${call.sale} asked ${call.amount_minor}, ${call.legacy_id} has ${amount}`);
    const read = books.reads.get(call.legacy_id);
    if (read?.status === 200 && read.amount !== call.amount_minor)
      wrong.push(`sale ${call.sale} asked ${call.amount_minor}, GET ${call.legacy_id} says ${String(read.amount)}`);
  }
  return wrong;
}

/** I13: never two live orders on one device, and every device takes a new sale at the end. */
function unitsFree(books: Books): string[] {
  const wrong: string[] = [];
  for (const [device, orders] of Map.groupBy(books.orders, (order) => `${order.merchant_id}/${order.device}`)) {
    const ordered = orders.toSorted((one, other) => one.created_at - other.created_at);
    for (const [index, order] of ordered.entries()) {
      const next = ordered[index + 1];
      const end = OPEN_ORDER.has(order.status) ? Number.POSITIVE_INFINITY : order.updated_at;
      if (next !== undefined && next.created_at < end)
        wrong.push(`${order.id} and ${next.id} were live together on ${device}`);
    }
  }
  const holding = books.links.filter((row) => HOLDS_UNIT.has(row.state));
  for (const [unit, rows] of Map.groupBy(holding, (row) => `${row.merchant_id}/${row.unit}`)) {
    if (rows.length > 1) wrong.push(`${rows.length} live rows hold ${unit}`);
  }
  for (const { device, status } of books.probes) {
    if (status !== 201) wrong.push(`a new create on ${device} answers ${status ?? 'nothing'} at the end`);
  }
  return wrong;
}

const PAID_ORDER = new Set(['processed', 'refunded']);

/**
 * P2 for money: at most one approved payment per sale that a cashier meant. Tills repeat an equal sale on a device only
 * when the one before was paid and read, so that none is answered with another's id.
 */
function paidOnce(books: Books): string[] {
  const wrong: string[] = [];
  const what = (one: CreateCall | UpstreamOrder): string => `${one.merchant_id}/${one.device}/${one.amount_minor}`;
  const meant = Map.groupBy(books.creates, what);
  const paid = books.orders.filter(({ status }) => PAID_ORDER.has(status));
  for (const [mark, all] of Map.groupBy(paid, what)) {
    const sales = new Set(meant.get(mark)?.map(({ sale }) => sale));
    const isHeard = ({ id }: UpstreamOrder): boolean => books.known_by_notice.includes(id);
    // The last order stands for the sale; an earlier notice stands for an answer that a kill may have cut off.
    const orders = all.filter((order) => !isHeard(order) || !all.some((next) => next.created_at > order.updated_at));
    if (orders.length > sales.size)
      wrong.push(
        `${sales.size} sales of ${mark} were paid ${orders.length} times: ${orders.map(({ id }) => id).join(', ')}`,
      );
  }
  for (const [legacy_id, calls] of Map.groupBy(books.delivered, (call) => call.legacy_id)) {
    const sales = [...new Set(calls.map(({ sale }) => sale))];
    if (sales.length > 1) wrong.push(`sales ${sales.join(' and ')} were both answered with ${legacy_id}`);
  }
  return wrong;
}

/** P16: the audit chain is intact, and a merchant's stage is that of its last audit line: no half-applied move. */
function auditsHold(books: Books): string[] {
  const wrong: string[] = [];
  let previous = '0'.repeat(64);
  for (const [index, line] of books.audits.toSorted((one, other) => one.sequence - other.sequence).entries()) {
    const { sequence, at, who, action, subject, reason, detail } = line;
    const text = canonical({ action, at, detail, reason, sequence, subject, who });
    previous = createHash('sha256').update(`${previous}\n${text}`).digest('hex');
    if (sequence !== index + 1 || previous !== line.hash) return [`the audit chain breaks at line ${sequence}`];
  }
  for (const merchant of books.merchants) {
    const moves = books.audits.filter(
      (line) => ['stage', 'rollback'].includes(line.action) && line.subject === merchant.id,
    );
    const last = moves.toSorted((one, other) => one.sequence - other.sequence).at(-1);
    const named = (last?.detail as { after?: { stage?: string } } | undefined)?.after?.stage ?? null; // both have it
    if (merchant.stage !== named)
      wrong.push(`merchant ${merchant.id} is on ${merchant.stage}, the audit says ${named}`);
  }
  return wrong;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const names = Object.keys(value).sort();
  const members = names.map((name) => `${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`); // it has this key
  return `{${members.join(',')}}`;
}
