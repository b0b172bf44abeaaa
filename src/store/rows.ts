/** Conversion of table rows to records and back, and the names of their locks. */
import { parseJson, stringifyJson } from '../contract/json.ts';
import type { InboxEvent } from '../proxy/records/notices.ts';
import { type AcceptedToken, type Merchant, merchantSettings } from '../proxy/routing/merchant.ts';
import type { HeldFields, Link } from '../proxy/sales/link.ts';
import { LINK, namesIn, type Value } from './conditions.ts';
import type { Reader, ReadKind } from './engine.ts';

export interface LinkRow extends Omit<Link, 'held' | 'order'> {
  held: string;
  order_json: string | null;
}

/** Numbers in `held` keep their source text. */
export function linkOf(row: LinkRow): Link {
  const { held, order_json, ...rest } = row;
  return {
    ...rest,
    sealed_body: bytesOf(rest.sealed_body),
    sealed_notice_url: bytesOf(rest.sealed_notice_url),
    // Written by `stringifyJson` from HeldFields; long numbers keep their source text.
    held: parseJson(held) as HeldFields,
    order: order_json === null ? null : JSON.parse(order_json),
  };
}

/** Reads that are methods of the store: `one` for the first row, null for none; `list` for all. */
export function readsOf(reader: Reader) {
  return {
    one<Values extends Value[], Row, Kept>(sql: string, keptOf: (row: Row) => Kept = asItIs, kind?: ReadKind) {
      const read = reader.prepare<Values, Row>(sql, kind);
      return async (...values: Values): Promise<Kept | null> => {
        const row = await read.get(...values);
        return row === undefined ? null : keptOf(row);
      };
    },
    list<Values extends Value[], Row, Kept>(sql: string, keptOf: (row: Row) => Kept = asItIs, kind?: ReadKind) {
      const read = reader.prepare<Values, Row>(sql, kind);
      return async (...values: Values): Promise<Kept[]> => (await read.all(...values)).map(keptOf);
    },
  };
}

/** For rows whose columns are the fields of the record. */
export function asItIs<Kept>(row: unknown): Kept {
  return row as Kept; // the caller names the columns of its own SELECT
}

/** A page of a merchant's rows in the order of their creation; the values as in `CreatedPage`. */
export function pageOf(id: string): string {
  return `merchant_id = (SELECT ?) AND created_at < (SELECT ?) AND (created_at, ${id}) > ((SELECT ?), (SELECT ?))
    ORDER BY created_at, ${id} LIMIT (SELECT ?)`;
}
/** Merchant, end, cursor and limit. */
export type PageValues = [string, number, number, string, number];

type ColumnOf<List extends string> = List extends `${infer First},${infer Rest}`
  ? Name<First> | ColumnOf<Rest>
  : Name<List>;
type Name<Text extends string> = Text extends ` ${infer Rest}` | `\n${infer Rest}` ? Name<Rest> : Text;

/**
 * A function that returns a record's values in the order of a list of columns; the compiler demands a field for each.
 */
export function valuesIn<Columns extends string>(columns: Columns) {
  const names = namesIn(columns) as ColumnOf<Columns>[]; // the same split as in the type
  return (row: Readonly<Record<ColumnOf<Columns>, Value>>): Value[] => names.map((name) => row[name]);
}

const linkValues = valuesIn(LINK);

/** The values of `LINK`, for an insert. */
export function valuesOfLink(link: Link): Value[] {
  return linkValues({
    ...link,
    held: stringifyJson(link.held),
    order_json: jsonOf(link.order),
    sealed_notice_url: exactBytes(link.sealed_notice_url),
    sealed_body: exactBytes(link.sealed_body),
  });
}

export interface MerchantRow extends Omit<Merchant, 'settings' | 'trips'> {
  settings: string;
  trips: string;
}

/** Parsed settings kept: a call reads its merchant several times, and most merchants have the same settings. */
const KNOWN_SETTINGS = 1_000;
const known = new Map<string, Pick<Merchant, 'settings' | 'newer_settings'>>();

/** Settings that this version added get their defaults; those that a newer process added are passed over. */
export function settingsIn(text: string): Pick<Merchant, 'settings' | 'newer_settings'> {
  const before = known.get(text);
  if (before !== undefined) return before;
  const stored: Fields = JSON.parse(text);
  const unknown = unknownIn(stored);
  for (const { path, keys } of unknown) for (const key of keys) delete fieldsAt(stored, path)?.[key];
  const settings = Object.freeze(merchantSettings.parse(stored));
  const found = unknown.length === 0 ? { settings } : { settings, newer_settings: text };
  if (known.size >= KNOWN_SETTINGS) known.clear();
  known.set(text, found);
  return found;
}

/**
 * The text to store, with what a newer process added. Unset ones are left out: an older process that does not know a setting may refuse
 * to read it.
 */
export function textOfSettings({ settings, newer_settings }: Pick<Merchant, 'settings' | 'newer_settings'>): string {
  const newer: Fields = JSON.parse(newer_settings ?? '{}');
  const unknown = unknownIn(newer);
  const isSet = ([name, value]: [string, unknown]): boolean =>
    jsonOf(value) !== jsonOf(UNSET[name]) || unknown.some(({ path }) => path[0] === name);
  const written: Fields = structuredClone(Object.fromEntries(Object.entries(settings).filter(isSet)));
  for (const { path, keys } of unknown) {
    const [from, to] = sameIn(newer, written, path);
    for (const key of keys) if (from !== undefined && to !== undefined) to[key] = from[key];
  }
  return JSON.stringify(written);
}

type Fields = Record<PropertyKey, unknown>;
const UNSET: Fields = merchantSettings.parse({});

function unknownIn(stored: Fields): { path: PropertyKey[]; keys: string[] }[] {
  const { error } = merchantSettings.safeParse(stored);
  return error?.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? [issue] : [])) ?? [];
}

function fieldsAt(settings: Fields, path: readonly PropertyKey[]): Fields | undefined {
  return sameIn(settings, settings, path)[0];
}

/** One place in both; in what is written it may be missing. Elements of a list have ids: their places change. */
function sameIn(read: Fields, written: Fields, path: readonly PropertyKey[]): [Fields | undefined, Fields | undefined] {
  let [from, to]: (Fields | undefined)[] = [read, written];
  for (const key of path) {
    from = from?.[key] as Fields | undefined;
    to = Array.isArray(to) ? to.find(({ id }) => id === from?.id) : (to?.[key] as Fields | undefined);
  }
  return [from, to ?? undefined];
}

/** Without settings that this version does not know; these stay in `newer_settings`. */
export function merchantOf(row: MerchantRow): Merchant {
  return {
    ...row,
    ...settingsIn(row.settings),
    sealed_notice_url: bytesOf(row.sealed_notice_url),
    sealed_notice_secret: bytesOf(row.sealed_notice_secret),
    sealed_credential: bytesOf(row.sealed_credential),
    trips: JSON.parse(row.trips),
  };
}

/** With the sealed token as a plain Uint8Array. */
export function tokenOf(row: AcceptedToken): AcceptedToken {
  return { ...row, sealed_token: viewOf(row.sealed_token) };
}

export interface EventRow extends Omit<InboxEvent, 'verified'> {
  verified: number;
}

/** Stored 1 becomes true. */
export function eventOf(row: EventRow): InboxEvent {
  return { ...row, verified: row.verified === 1 };
}

/** A function that parses the named columns, which hold JSON; the others are returned as they are. */
export function parsing<Kept>(...names: (keyof Kept)[]) {
  return (row: { [Name in keyof Kept]: Kept[Name] | string }): Kept => {
    const parsed = names.map((name) => [name, JSON.parse(String(row[name]))]);
    return { ...row, ...Object.fromEntries(parsed) };
  };
}

/** Null stays null, so that the column is NULL. */
export function jsonOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** A copy with its own memory: a view would send the whole shared pool to the writer thread. */
export function exactBytes(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : new Uint8Array(bytes);
}

function bytesOf(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : viewOf(bytes);
}

/** The driver returns a Buffer; its equality and printing differ from those of the stored Uint8Array. */
function viewOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** On a merchant's revision: shared by openings of sales, exclusive for changes of the merchant. */
export function merchantLock(merchant_id: string): string {
  return `merchant ${merchant_id}`;
}

/** On a unit's work in both lanes. */
export function slotLock(merchant_id: string, slot: string): string {
  return `slot ${merchant_id} ${slot}`;
}

/** On equal sales; those without a slot have no slot lock. */
export function requestLock(merchant_id: string, fingerprint: string): string {
  return `request ${merchant_id} ${fingerprint}`;
}

/** On a reference, which is sent upstream once per merchant. */
export function referenceLock(merchant_id: string, reference: string): string {
  return `reference ${merchant_id} ${reference}`;
}

/** On the order of a link's notices. */
export function noticesLock(legacy_id: string): string {
  return `notices ${legacy_id}`;
}

/** On changes of one row by its id. */
export function rowLock(id: string): string {
  return `row ${id}`;
}

/** On the start of ramps: no merchant is in two. */
export const RAMPS_LOCK = 'ramps';

/** Exchanges: sequences rise in the order in which rows become visible, and sums are locked in one order. */
export const EXCHANGES_LOCK = 'exchanges';
