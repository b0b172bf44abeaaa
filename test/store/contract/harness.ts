/** The interface of an engine under test, and the invented rows of the suite. */
import { randomUUID } from 'node:crypto';
import type { Store } from '../../../src/ops/ports.ts';
import type { AuditEntry } from '../../../src/proxy/audit.ts';
import type { Attempt, NewEvent, NewNotice, Notice } from '../../../src/proxy/records/notices.ts';
import type { Refund } from '../../../src/proxy/records/refunds.ts';
import type { LegacySale } from '../../../src/proxy/records/routing.ts';
import { type Merchant, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { type Link, slotOf } from '../../../src/proxy/sales/link.ts';
import type { Met, Opening } from '../../../src/proxy/store.ts';
import { LINK } from '../../../src/store/conditions.ts';

export interface Harness {
  store: Store;
  /** Closes the store and opens the same data again, as a restart does. */
  reopen(): Promise<Store>;
  /** Removes every row, as in a new store; reopens a closed store. */
  empty(): Promise<void>;
  /** Whether the engine reads, together with merchant and token, that a unit is free. */
  tells_free: boolean;
  sql(text: string): Promise<void>;
  dispose(): Promise<void>;
}

export type OpenHarness = () => Promise<Harness>;

/** 2026-01-05T12:00:00Z. */
export const NOON = 1_767_614_400_000;
export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;
export const MERCHANT = '700100200';
export const OTHER_MERCHANT = '700100300';
export const TERMINAL = 'PAX_A910__SMARTPOS0000000001';

/** A link as the create protocol writes it before the POST. */
export function newLink(change: Partial<Link> = {}): Link {
  const legacy_id = randomUUID();
  const unit = change.unit ?? TERMINAL;
  return {
    legacy_id,
    merchant_id: MERCHANT,
    lane: 'orders',
    family: 'point',
    unit,
    slot: slotOf(change.family === 'qr' ? 'qr' : 'point', unit),
    client_key: null,
    fingerprint: `fingerprint-of-${legacy_id}`,
    reference_sent: `ref${legacy_id.slice(0, 8)}`,
    client_reference: null,
    held: { additional_info: { external_reference: 'mesa 4', print_on_terminal: true, nested: [1, 'two', null] } },
    amount_minor: 1500,
    merchant_order_id: null,
    sealed_notice_url: null,
    idempotency_key: randomUUID(),
    sealed_body: new Uint8Array([1, 2, 3, 250, 0, 7]),
    tables_revision: 'revision-1',
    state: 'SENDING',
    attempts: 0,
    first_sent_at: null,
    boot_id: 'boot-1',
    client_answer: 'none',
    order_id: null,
    order: null,
    order_version: null,
    payment_id: null,
    legacy_state: 'OPEN',
    legacy_state_at: NOON,
    cancel: null,
    acknowledged_at: null,
    known_by: null,
    expires_at: NOON + 15 * MINUTE_MS,
    next_check_at: NOON + MINUTE_MS,
    created_at: NOON,
    updated_at: NOON,
    revision: 1,
    ...change,
  };
}

export const busyUnlessFree = ({ holder }: Met): Opening =>
  holder === null ? { kind: 'open' } : { kind: 'busy', link: holder };

export const joinUnlessNew = ({ retriable }: Met): Opening =>
  retriable === null ? { kind: 'open' } : { kind: 'join', link: retriable };

/** A sale about to be proxied to legacy, on the unit of `newLink`. */
export function newSale(change: Partial<LegacySale> = {}): LegacySale {
  const unit = change.unit ?? TERMINAL;
  return {
    id: randomUUID(),
    merchant_id: MERCHANT,
    family: 'point',
    work: 'sale',
    unit,
    slot: slotOf(change.family === 'qr' ? 'qr' : 'point', unit),
    legacy_id: null,
    client_reference: null,
    amount: null,
    end_state: null,
    state: 'SENDING',
    unproven_token: null,
    ends_at: NOON + 15 * MINUTE_MS,
    created_at: NOON,
    updated_at: NOON,
    ...change,
  };
}

export async function opened(store: Store, change: Partial<Link> = {}): Promise<Link> {
  const { opening, link } = await store.links.openLink(newLink(change), () => ({ kind: 'open' }));
  if (opening.kind !== 'open') throw new Error(`The link was not opened: ${opening.kind}`);
  return link;
}

/** Gives a link the reference of another one, as builds could that checked before they wrote. */
export function withReference({ legacy_id }: Link, reference: string): string {
  const columns = LINK.split(/,\s*/);
  const copied = columns.map(
    (name) => ({ legacy_id: `'${legacy_id}'`, reference_sent: `'${reference}'` })[name] ?? name,
  );
  return `CREATE TEMPORARY TABLE given AS SELECT * FROM links WHERE legacy_id = '${legacy_id}';
    DELETE FROM link_states WHERE legacy_id = '${legacy_id}';
    DELETE FROM links WHERE legacy_id = '${legacy_id}';
    INSERT INTO links (${LINK}) SELECT ${copied.join(', ')} FROM given;
    DROP TABLE given`;
}

export async function finished(store: Store, change: Partial<Link> = {}, at = NOON): Promise<Link> {
  const link = await opened(store, { unit: `PAX_A910__${randomUUID().slice(0, 8)}`, ...change });
  return store.links.saveLink(link, {
    state: 'DONE',
    legacy_state: 'FINISHED',
    legacy_state_at: at,
    sealed_body: null,
    next_check_at: null,
  });
}

export function orderId(number: number): string {
  return `ORD01HRYFWNYRE1MR1E60MW${String(number).padStart(6, '0')}`;
}

export function newNotice(link: Link, body: string, change: Partial<NewNotice> = {}): NewNotice {
  const { legacy_id, merchant_id } = link;
  const facts = { topic: 'point', form: 'point', subject: legacy_id } as const;
  return { legacy_id, merchant_id, ...facts, body, created_at: NOON, next_attempt_at: NOON, ...change };
}

export async function firstDue(store: Store, at = NOON): Promise<Notice> {
  const [notice] = await store.notices.dueNotices(at, 1);
  if (notice === undefined) throw new Error('no notice is due');
  return notice;
}

export async function noticed(store: Store, body: string): Promise<{ link: Link; notice: Notice }> {
  const link = await opened(store);
  await store.links.saveLink(link, {}, { notices: [newNotice(link, body)] });
  return { link, notice: await firstDue(store) };
}

let refunds = 8_030_388_800_000_000;

/** A refund as its story writes it before the call. */
export function newRefund({ legacy_id, merchant_id }: Link, change: Partial<Refund> = {}): Refund {
  return {
    id: randomUUID(),
    number: ++refunds,
    legacy_id,
    merchant_id,
    payment_id: '131772540987',
    client_key: null,
    fingerprint: 'half',
    amount_minor: 750,
    refunded_before_minor: 0,
    idempotency_key: randomUUID(),
    state: 'SENDING',
    upstream_id: null,
    reference_id: null,
    refunded_minor: null,
    upstream_status: null,
    answered_at: null,
    known_at: null,
    created_at: NOON,
    updated_at: NOON,
    revision: 1,
    ...change,
  };
}

export function newEvent(change: Partial<NewEvent> = {}): NewEvent {
  return {
    received_at: NOON,
    order_id: orderId(1),
    reference: 'ref00000001',
    user_id: MERCHANT,
    verified: true,
    action: 'order.processed',
    ...change,
  };
}

export function auditOf(action: string, detail: Record<string, unknown> = {}): AuditEntry {
  const word = action as AuditEntry['action']; // a store keeps any word
  return { at: NOON, who: 'ana', action: word, subject: MERCHANT, reason: 'agreed with the shop', detail };
}

export function newMerchant(change: Partial<Merchant> = {}): Omit<Merchant, 'revision' | 'updated_at' | 'trips'> {
  return {
    id: MERCHANT,
    site: 'MLA',
    settings: merchantSettings.parse({ stage: 'orders' }),
    sealed_notice_url: new Uint8Array([0, 255, 6, 128]),
    sealed_notice_secret: new Uint8Array([9, 8, 7]),
    sealed_credential: null,
    ...change,
  };
}

export function attempt(outcome: Attempt['outcome'], status: number | null): Attempt {
  return { at: NOON, duration_ms: 3, outcome, status, detail: 'as it went', url: 'https://pos.example/ipn?id=…' };
}
