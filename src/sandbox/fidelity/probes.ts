/** The probes: small calls on an account, each of which shows one assumption of the sandbox, or a fact that it holds. */
import { isObject, type Json } from '../../contract/json.ts';
import type { Site } from '../../contract/sites.ts';
import { type Account, at, newKey, type Reply, textAt } from './account.ts';

/** What the probes use: the account, and what of it they may touch. */
export interface Stand {
  account: Account;
  merchant_id: string;
  site: Site;
  /** A terminal without an order; null: none may be used. */
  terminal: string | null;
  /** External id of a point of sale without an order; null: none may be used. */
  till: string | null;
  /** The account is for tests, so payments may be simulated. */
  is_test: boolean;
  /** An order that is older than three months; null: none was named. */
  old_order: string | null;
  /** A reference that no order has had. */
  reference(): string;
  /** @param value of the setting, in words of the sandbox; or what was answered instead. */
  seen(name: string, value: string | number | boolean): void;
  /** Records that an assumption was not shown, and why. */
  skip(name: string, why: string): void;
}

interface Chapter {
  /** For the progress. */
  name: string;
  /** The assumptions and facts that it shows. */
  shows: readonly string[];
  /** Why it can't be run here; null: it can. */
  lacks(stand: Stand): string | null;
  /** @throws NotRun for what can't be shown on this account, PuenteError of `Account.call`. */
  run(stand: Stand): Promise<void>;
}

/** Ends a chapter: what it has not shown is not run, for this reason. */
export class NotRun extends Error {}

const of = ({ status, code }: Reply): string => (code === '' ? String(status) : `${status} ${code}`);
/** The value that the outcome stands for; any other outcome is shown as it is. */
const which = (reply: Reply, values: Readonly<Record<number, string>>): string => values[reply.status] ?? of(reply);
const shown = ({ status, body }: Reply, path: string): string => `${status} ${textAt(body, path)}`;

const NOBODYS_ORDER = 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD';
/** Has letters that a ULID has not. */
const NO_ULID = 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RIL';
const NOBODYS_TERMINAL = 'NEWLAND_N950__PUENTE0NOBODYS';
/** Terminals that take the cost of installments (`docs/field-notes.md` Spec Order). */
const POINT_PRO = /^(GERTEC_MP35P|PAX_Q92)__/;

// What is read, and changes nothing.

const reads: Chapter = {
  name: 'reads',
  shows: ['missing_token', 'order_id_letters', 'fact.unknown_order'],
  lacks: () => null,
  async run({ account, seen }) {
    const nobody = await account.call('GET', `/v1/orders/${NOBODYS_ORDER}`, { is_signed: false });
    seen('missing_token', which(nobody, { 401: 'unauthorized', 403: 'gateway' }));
    seen('order_id_letters', which(await account.read(NO_ULID), { 404: 'alphanumeric', 400: 'crockford' }));
    seen('fact.unknown_order', of(await account.read(NOBODYS_ORDER)));
  },
};

const oldOrder: Chapter = {
  name: 'an old order',
  shows: ['old_orders'],
  lacks: ({ old_order }) =>
    old_order === null ? 'name an order of this account that is older than three months with --old-order' : null,
  async run({ account, seen, old_order }) {
    seen('old_orders', which(await account.read(old_order ?? ''), { 200: 'readable', 404: 'not_found' }));
  },
};

const terminals: Chapter = {
  name: 'terminals',
  shows: ['fact.terminals', 'fact.terminal_mode', 'fact.wrong_mode'],
  lacks: needsTerminal,
  async run({ account, seen, terminal }) {
    const list = await account.call('GET', '/terminals/v1/list');
    const all = at(list.body, 'data.terminals');
    seen('fact.terminals', Array.isArray(all) ? list.status : 'no data.terminals');
    const mine = Array.isArray(all) ? all.find((one) => textAt(one, 'id') === terminal) : undefined;
    const set = (operating_mode: string): Promise<Reply> =>
      account.call('PATCH', '/terminals/v1/setup', { body: { terminals: [{ id: terminal, operating_mode }] } });
    seen('fact.wrong_mode', of(await set('PUENTE')));
    if (mine === undefined) throw new NotRun(`the list of terminals does not have ${terminal}`);
    seen('fact.terminal_mode', of(await set(textAt(mine, 'operating_mode'))));
  },
};

// Creates at a terminal. Each order that is accepted is canceled at once.

function needsTerminal({ terminal, site }: Stand): string | null {
  if (!site.has_terminals) return `${site.site_id} has no terminals`;
  return terminal === null
    ? 'name a terminal without an order with --terminal; without it the virtual one is used'
    : null;
}

/** @param minor of the currency, or the least that is known to be taken. */
function amountOf({ site }: Stand, minor = site.minimum_minor ?? 100): string {
  return site.exponent === 0 ? String(minor) : (minor / 100).toFixed(2);
}

function pointOrder(stand: Stand, changes: object = {}): Record<string, unknown> {
  return {
    type: 'point',
    external_reference: stand.reference(),
    transactions: { payments: [{ amount: amountOf(stand) }] },
    config: { point: { terminal_id: stand.terminal } },
    ...changes,
  };
}

const paying = (amount: string): object => ({ transactions: { payments: [{ amount }] } });

/** Sends a create of which only its being taken counts, and cancels the order. */
async function tried({ account }: Stand, body: object): Promise<Reply> {
  const reply = await account.create(body);
  if (reply.status < 300) await account.cancel(textAt(reply.body, 'id'));
  return reply;
}

/** An order that later calls need. @throws NotRun when it is not made. */
async function madeOrder({ account }: Stand, body: object, key = newKey()): Promise<Reply> {
  const reply = await account.create(body, { key });
  if (reply.status === 201) return reply;
  throw new NotRun(`the create was answered ${of(reply)}; is there an order at the terminal or point of sale?`);
}

const wrongInput: Chapter = {
  name: 'wrong input',
  shows: [
    ...['error_codes', 'amounts', 'minimum_amounts', 'installments_cost'],
    ...['fact.no_key', 'fact.unknown_property', 'fact.missing_property', 'fact.no_amount'],
  ],
  lacks: needsTerminal,
  async run(stand) {
    const { account, seen, skip, site, terminal } = stand;
    const create = (changes: object): Promise<Reply> => tried(stand, pointOrder(stand, changes));
    const no_key = await account.create(pointOrder(stand), { key: null });
    seen('fact.no_key', of(no_key));
    if (no_key.status < 300) await account.cancel(textAt(no_key.body, 'id'));
    seen('fact.unknown_property', of(await create({ puente: 'probe' })));
    const { external_reference: _, ...nameless } = pointOrder(stand);
    seen('fact.missing_property', of(await tried(stand, nameless)));
    seen('fact.no_amount', of(await create(paying(site.exponent === 0 ? '0' : '0.00'))));
    const foreign = await create({ config: { point: { terminal_id: NOBODYS_TERMINAL } } });
    const spellings: Record<string, string> = {
      forbidden_checking_terminal_owner: 'documented',
      forbidden_checking_device_owner: 'live',
    };
    seen('error_codes', spellings[foreign.code] ?? of(foreign));
    // Without decimals in the currency, zeros are the question; with them, one decimal is.
    const amount = amountOf(stand);
    const odd = await create(paying(site.exponent === 0 ? `${amount}.00` : amount.slice(0, -1)));
    const [taken, refused] = site.exponent === 0 ? ['two_or_none', 'as_seen'] : ['as_seen', 'two_or_none'];
    seen('amounts', which(odd, { 201: taken, 400: refused }));
    if (POINT_PRO.test(terminal ?? '')) skip('installments_cost', 'a Point Pro takes it in any case');
    else {
      const payment_method = { default_type: 'credit_card', default_installments_cost: 'seller' };
      const cost = await create({ config: { point: { terminal_id: terminal }, payment_method } });
      seen('installments_cost', which(cost, { 201: 'as_seen', 400: 'point_pro' }));
    }
    const least = site.minimum_minor === null ? null : await create(paying(amountOf(stand, 1)));
    if (least === null) skip('minimum_amounts', `no smallest amount was ever seen in ${site.site_id}`);
    else seen('minimum_amounts', which(least, { 201: 'none', 400: 'as_seen' }));
  },
};

const keysAndReferences: Chapter = {
  name: 'keys, references and cancels',
  shows: [
    ...['order_ids', 'date_fraction_digits', 'country_code', 'key_check', 'reference_unique', 'replay_cancels'],
    ...['remember_refusals', 'replay', 'replay_status', 'fact.created', 'fact.read', 'fact.key_reused', 'fact.queue'],
    ...['fact.canceled', 'fact.canceled_twice', 'fact.refund_unpaid'],
  ],
  lacks: needsTerminal,
  async run(stand) {
    const { account, seen, skip } = stand;
    const [key, body] = [newKey(), pointOrder(stand)];
    const made = await madeOrder(stand, body, key);
    const id = textAt(made.body, 'id');
    seen('fact.created', shown(made, 'status'));
    seen('order_ids', id.startsWith('ORDTST') ? 'ORDTST' : id.slice(0, 3));
    seen('date_fraction_digits', /\.(\d+)/.exec(textAt(made.body, 'created_date'))?.[1]?.length ?? 0);
    seen('country_code', `alpha${textAt(made.body, 'country_code').length}`);
    seen('fact.read', shown(await account.read(id), 'status'));
    // The order is at the terminal now: what a second create meets first shows itself.
    const same = await account.create(body, { key });
    seen('key_check', same.code.startsWith('already_queued') ? 'after_queue' : 'before_queue');
    seen('fact.key_reused', (await account.create(pointOrder(stand), { key })).status);
    const like = await account.create({ ...pointOrder(stand), external_reference: body.external_reference });
    const [other_key, other] = [newKey(), pointOrder(stand)];
    seen('fact.queue', (await account.create(other, { key: other_key })).status);
    const cancel_key = newKey();
    seen('fact.canceled', shown(await account.cancel(id, { key: cancel_key }), 'status'));
    const again = await account.cancel(id, { key: cancel_key });
    seen('replay_cancels', which(again, { 409: 'conflict', 200: 'saved' }));
    seen('fact.canceled_twice', of(await account.cancel(id)));
    const refund = await account.call('POST', `/v1/orders/${id}/refund`, { key: newKey() });
    seen('fact.refund_unpaid', of(refund));
    // The refusal of the queue, with its key, now that the terminal is free.
    const kept = await account.create(other, { key: other_key });
    if (kept.status < 300) await account.cancel(textAt(kept.body, 'id'));
    seen('remember_refusals', which(kept, { 201: 'false', 409: 'true' }));
    const repeated = await account.create(body, { key });
    seen('replay', answeredAs(repeated, id));
    if (repeated.status < 300) seen('replay_status', repeated.status);
    else skip('replay_status', 'the repeat was refused');
    const reused = await tried(stand, { ...pointOrder(stand), external_reference: body.external_reference });
    const live = like.status === 400 ? 'among_live' : 'not_checked';
    seen('reference_unique', which(reused, { 400: 'among_all', 201: live }));
  },
};

/** @param id of the order that the key has made, and that is canceled by now. */
function answeredAs(reply: Reply, id: string): string {
  if (reply.status >= 300) return which(reply, { 409: 'conflict', 500: 'saved_500' });
  if (textAt(reply.body, 'id') !== id) return 'forgets';
  return textAt(reply.body, 'status') === 'created' ? 'saved' : 'current';
}

// Payments, by the vendor's own simulator of a terminal: no card, no money. Each is refunded.

function needsSimulator(stand: Stand): string | null {
  if (stand.is_test) return needsTerminal(stand);
  return 'only accounts for tests have a simulator: it needs a person with a card at the terminal';
}

const simulate = ({ account }: Stand, id: string, status: string): Promise<Reply> =>
  account.call('POST', `/v1/orders/${id}/events`, { body: { status } });

/** An order that the simulator has brought into this status. @throws NotRun when it does not get there. */
async function simulated(stand: Stand, status: string): Promise<Json> {
  const { account } = stand;
  const id = textAt((await madeOrder(stand, pointOrder(stand))).body, 'id');
  const event = await simulate(stand, id, status);
  if (event.status !== 204) throw new NotRun(`the simulator answered ${of(event)}`);
  const { body } = await account.waitFor(id, (order) => textAt(order, 'status') === status);
  if (textAt(body, 'status') !== status) throw new NotRun(`the simulated order is still ${textAt(body, 'status')}`);
  return body;
}

const PAYMENT = 'transactions.payments.0';

const payments: Chapter = {
  name: 'a simulated payment and its refund',
  shows: [
    ...['paid_status_detail', 'order_payments', 'total_refund_status', 'replay_refunds', 'processing_refund_ends'],
    ...['order_payment_refunds', 'refund_key_required', 'fact.refunded'],
  ],
  lacks: needsSimulator,
  async run(stand) {
    const { account, seen, skip } = stand;
    const paid = await simulated(stand, 'processed');
    const id = textAt(paid, 'id');
    seen('paid_status_detail', textAt(paid, 'status_detail'));
    const payment = textAt(paid, `${PAYMENT}.reference_id`);
    seen(
      'order_payments',
      which(await account.call('GET', `/v1/payments/${payment}`), { 200: 'readable', 404: 'hidden' }),
    );
    const refunds = `/v1/payments/${payment}/refunds`;
    const without_key = await account.call('POST', refunds, { body: {} });
    seen('refund_key_required', without_key.code === '4292' || isCause(without_key, 4292));
    const by_payment = await account.call('POST', refunds, { body: {}, key: newKey() });
    const is_refunded = without_key.status === 201 || by_payment.status === 201;
    seen('order_payment_refunds', is_refunded ? 'allowed' : isCause(by_payment, 2063) ? 'refused' : of(by_payment));
    if (is_refunded) throw new NotRun('the payments API has refunded the payment');
    const key = newKey();
    const refund = await account.call('POST', `/v1/orders/${id}/refund`, { key });
    seen('fact.refunded', of(refund));
    const status = textAt(refund.body, 'transactions.refunds.0.status');
    seen('total_refund_status', status);
    const again = await account.call('POST', `/v1/orders/${id}/refund`, { key });
    seen('replay_refunds', which(again, { 201: 'saved', 200: 'saved', 409: 'conflict' }));
    if (status !== 'processing') return skip('processing_refund_ends', 'the refund was made at once');
    const refundOf = (order: Json): string => textAt(order, 'transactions.refunds.0.status');
    const { body } = await account.waitFor(id, (order) => refundOf(order) !== 'processing');
    if (refundOf(body) === 'processing') return skip('processing_refund_ends', 'the refund is still being processed');
    seen('processing_refund_ends', refundOf(body));
  },
};

/** The number of an error of the payments API. */
function isCause({ body }: Reply, number: number): boolean {
  const causes = at(body, 'cause');
  return Array.isArray(causes) && causes.some((one) => isObject(one) && Number(one.code) === number);
}

const failures: Chapter = {
  name: 'a simulated failure',
  shows: ['failed_status_detail', 'failed_payment'],
  lacks: needsSimulator,
  async run(stand) {
    const failed = await simulated(stand, 'failed');
    stand.seen('failed_status_detail', textAt(failed, `${PAYMENT}.status_detail`));
    stand.seen('failed_payment', textAt(failed, `${PAYMENT}.reference_id`) === '' ? 'none' : 'rejected');
  },
};

const cancelAtTerminal: Chapter = {
  name: 'a cancel at the terminal',
  shows: ['cancel_confirmation'],
  lacks: needsSimulator,
  async run(stand) {
    const { account, seen } = stand;
    const id = textAt((await madeOrder(stand, pointOrder(stand))).body, 'id');
    // The simulator has the order at its terminal for a moment, before it is paid.
    const event = await simulate(stand, id, 'processed');
    if (event.status !== 204) throw new NotRun(`the simulator answered ${of(event)}`);
    const headers = { 'x-allow-cancelable-status': 'at_terminal' };
    const cancel = await account.cancel(id, { headers });
    if (cancel.status === 409) throw new NotRun('the simulator had paid the order before the cancel came');
    if (cancel.status !== 202) return seen('cancel_confirmation', which(cancel, { 200: 'at_once' }));
    const isFinished = (order: Json): boolean => !['created', 'at_terminal'].includes(textAt(order, 'status'));
    const status = textAt((await account.waitFor(id, isFinished)).body, 'status');
    seen('cancel_confirmation', status === 'canceled' ? 'automatic' : '202, and the payment came first');
  },
};

const actionRequired: Chapter = {
  name: 'an action of the buyer',
  shows: ['action_required'],
  lacks: needsSimulator,
  async run(stand) {
    const { account, seen } = stand;
    const id = textAt(await simulated(stand, 'action_required'), 'id');
    const event = await simulate(stand, id, 'processed');
    if (event.status === 204) await account.waitFor(id, (order) => textAt(order, 'status') === 'processed');
    seen('action_required', which(event, { 204: 'moves_on', 400: 'final' }));
  },
};

const LIFETIME_MS = 30_000;

const expiry: Chapter = {
  name: 'the end of a lifetime, half a minute',
  shows: ['point_expiry'],
  lacks: needsTerminal,
  async run(stand) {
    const order = pointOrder(stand, { expiration_time: `PT${LIFETIME_MS / 1000}S` });
    const id = textAt((await madeOrder(stand, order)).body, 'id');
    const isFinished = (one: Json): boolean => textAt(one, 'status') !== 'created';
    const { body } = await stand.account.waitFor(id, isFinished, 2 * LIFETIME_MS);
    const status = textAt(body, 'status');
    if (status === 'created') throw new NotRun('the order is still open a minute after its creation');
    stand.seen('point_expiry', status);
  },
};

// A point of sale: codes are shown for a moment, and nobody scans them.

function needsTill({ till, site }: Stand): string | null {
  if (till === null) return 'name a point of sale without an order by its external id with --till';
  return site.has_qr || site.site_id === 'MLM' ? null : `${site.site_id} has no QR orders`;
}

function qrOrder(stand: Stand, changes: object = {}, count = 1): Record<string, unknown> {
  const minor = stand.site.minimum_minor ?? 100;
  const item = { title: 'Probe', unit_price: amountOf(stand, minor), quantity: 1, unit_measure: 'unit' };
  return {
    type: 'qr',
    external_reference: stand.reference(),
    transactions: { payments: [{ amount: amountOf(stand, minor * count) }] },
    config: { qr: { external_pos_id: stand.till } },
    items: Array.from({ length: count }, () => item),
    ...changes,
  };
}

const codes: Chapter = {
  name: 'QR orders',
  shows: ['qr_in_mexico', 'item_limits', 'qr_installments', 'second_static_order'],
  lacks: needsTill,
  async run(stand) {
    const { account, seen, skip, site, till } = stand;
    const plain = await tried(stand, qrOrder(stand));
    if (site.site_id !== 'MLM') skip('qr_in_mexico', 'the account is not in Mexico');
    else seen('qr_in_mexico', which(plain, { 201: 'accepted', 400: 'refused' }));
    if (plain.status !== 201) throw new NotRun(`a QR order was answered ${of(plain)}`);
    seen('item_limits', which(await tried(stand, qrOrder(stand, {}, 11)), { 201: 'none', 400: 'as_seen' }));
    const config = { qr: { external_pos_id: till }, payment_method: { default_installments: 3 } };
    seen('qr_installments', which(await tried(stand, qrOrder(stand, { config })), { 201: 'accepted', 400: 'refused' }));
    const first = textAt((await madeOrder(stand, qrOrder(stand))).body, 'id');
    seen('second_static_order', which(await tried(stand, qrOrder(stand)), { 201: 'independent', 409: 'refused' }));
    await account.cancel(first);
  },
};

/** A search may be a moment behind. */
const INDEXED_MS = 4_000;

const legacyCodes: Chapter = {
  name: 'legacy QR',
  shows: [
    ...['legacy_qr_preference_status', 'legacy_qr_code_status', 'legacy_qr_delete_empty'],
    ...['merchant_order_birth', 'merchant_order_sort'],
  ],
  // Its DELETE removes the order that the till has, whoever made it.
  lacks: (stand) => (stand.is_test ? needsTill(stand) : 'would remove an order of somebody else from the till'),
  async run(stand) {
    const { account, merchant_id, seen, skip, site, till } = stand;
    const external_reference = stand.reference();
    const price = Number(amountOf(stand));
    const orders = `/instore/qr/seller/collectors/${merchant_id}/pos/${till}/orders`;
    const item = { title: 'Probe', unit_price: price, quantity: 1, unit_measure: 'unit', total_amount: price };
    const body = { external_reference, title: 'Probe', total_amount: price, items: [{ ...item, title: 'Second' }] };
    const preference = { external_reference, items: [{ ...item, currency_id: site.currency }] };
    const merchantOrders = async (count: number): Promise<Json[]> => {
      const path = `/merchant_orders/search?external_reference=${external_reference}`;
      const isThere = (found: Json): boolean => at(found, `elements.${count - 1}`) !== null;
      const elements = at((await account.readUntil(path, isThere, INDEXED_MS)).body, 'elements');
      return Array.isArray(elements) ? elements : [];
    };
    const done = account.owe(`a legacy QR order of the till ${till}`, 'DELETE', orders);
    const made = await account.call('POST', `/mpmobile/instore/qr/${merchant_id}/${till}`, { body: preference });
    seen('legacy_qr_preference_status', made.status);
    const is_made = made.status < 300 && (await merchantOrders(1)).length > 0;
    if (made.status < 300) seen('merchant_order_birth', is_made ? 'creation' : 'payment');
    // It takes the order of the call above off the till.
    if (made.status < 300) await account.call('DELETE', orders);
    const path = `/instore/orders/qr/seller/collectors/${merchant_id}/pos/${till}/qrs`;
    seen('legacy_qr_code_status', (await account.call('POST', path, { body })).status);
    const [first, ...more] = is_made ? await merchantOrders(2) : [];
    if (first === undefined || more.length === 0)
      skip('merchant_order_sort', 'no two merchant orders without a payment');
    else seen('merchant_order_sort', textAt(first, 'items.0.title') === 'Second' ? 'newest_first' : 'oldest_first');
    const emptied = await account.call('DELETE', orders);
    seen('legacy_qr_delete_empty', emptied.status);
    if (emptied.status < 500) done();
  },
};

/** In the order in which they run: what takes longest comes last. */
export const chapters: readonly Chapter[] = [
  ...[reads, terminals, wrongInput, keysAndReferences, payments, failures, cancelAtTerminal, actionRequired],
  ...[codes, legacyCodes, oldOrder, expiry],
];
