/** Rows of the tables, and how they become what the core knows. */
import { parseJson, stringifyJson } from '../contract/json.ts';
import type { InboxEvent, Notice } from '../proxy/records/notices.ts';
import {
  type AcceptedToken,
  type Merchant,
  type MerchantSettings,
  merchantSettings,
} from '../proxy/routing/merchant.ts';
import type { HeldFields, Link } from '../proxy/sales/link.ts';
import type { Value } from './engine.ts';

export interface LinkRow extends Omit<Link, 'held' | 'order'> {
  held: string;
  order_json: string | null;
}

export function linkOf(row: LinkRow): Link {
  const { held, order_json, ...rest } = row;
  return {
    ...rest,
    sealed_body: bytesOf(rest.sealed_body),
    sealed_notice_url: bytesOf(rest.sealed_notice_url),
    // What `stringifyJson` wrote of a HeldFields; long numbers come back with their source text.
    held: parseJson(held) as HeldFields,
    order: order_json === null ? null : JSON.parse(order_json),
  };
}

export function oneOf(row: LinkRow | undefined): Link | null {
  return row === undefined ? null : linkOf(row);
}

/** The values of `insert_link`, in its order. */
export function valuesOfLink(link: Link): Value[] {
  return [
    link.legacy_id,
    link.merchant_id,
    link.lane,
    link.family,
    link.unit,
    link.slot,
    link.client_key,
    link.fingerprint,
    link.reference_sent,
    link.client_reference,
    stringifyJson(link.held),
    link.amount_minor,
    link.merchant_order_id,
    exactBytes(link.sealed_notice_url),
    link.idempotency_key,
    exactBytes(link.sealed_body),
    link.tables_revision,
    link.state,
    link.attempts,
    link.first_sent_at,
    link.boot_id,
    link.client_answer,
    link.order_id,
    jsonOf(link.order),
    link.order_version,
    link.payment_id,
    link.legacy_state,
    link.legacy_state_at,
    link.cancel,
    link.acknowledged_at,
    link.heard_by,
    link.expires_at,
    link.next_check_at,
    link.created_at,
    link.updated_at,
    link.revision,
  ];
}

export interface MerchantRow extends Omit<Merchant, 'settings' | 'trips'> {
  settings: string;
  trips: string;
}

/** A call reads its merchant several times, and most merchants have the same settings: so many are kept as they were understood. */
const KNOWN_SETTINGS = 1_000;
const known = new Map<string, Readonly<MerchantSettings>>();

/** Settings that a newer build added are filled with their defaults. */
function settingsOf(text: string): MerchantSettings {
  const before = known.get(text);
  if (before !== undefined) return before;
  const settings = Object.freeze(merchantSettings.parse(JSON.parse(text)));
  if (known.size >= KNOWN_SETTINGS) known.clear();
  known.set(text, settings);
  return settings;
}

export function merchantOf(row: MerchantRow): Merchant {
  return {
    id: row.id,
    site: row.site,
    settings: settingsOf(row.settings),
    sealed_notice_url: bytesOf(row.sealed_notice_url),
    sealed_notice_secret: bytesOf(row.sealed_notice_secret),
    sealed_credential: bytesOf(row.sealed_credential),
    trips: JSON.parse(row.trips),
    revision: row.revision,
    updated_at: row.updated_at,
  };
}

export function tokenOf(row: AcceptedToken): AcceptedToken {
  return { ...row, sealed_token: viewOf(row.sealed_token) };
}

export interface NoticeRow extends Notice {
  replayed: number;
}

export function noticeOf(row: NoticeRow): Notice {
  const { replayed, ...notice } = row;
  return notice;
}

export interface EventRow extends Omit<InboxEvent, 'verified'> {
  verified: number;
}

export function eventOf(row: EventRow): InboxEvent {
  return { ...row, verified: row.verified === 1 };
}

export function jsonOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** A copy that owns its memory: a view into a shared pool would send the whole pool to the writer thread. */
export function exactBytes(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : new Uint8Array(bytes);
}

function bytesOf(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : viewOf(bytes);
}

/** The driver answers a Buffer, whose equality and printing differ from the plain bytes that were stored. */
function viewOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
