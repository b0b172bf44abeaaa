/** The port of the compiled mapping tables for the stories in `proxy`. */
import type { Family, LegacyErrorName } from '../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../contract/upstream.ts';
import type { WrittenLimitation } from './limitations.ts';
import type { Path } from './path.ts';
import type { Row, Weight } from './row.ts';
import type { Documents, NoticeTopic, WrittenOperation } from './schema.ts';

/** A field of the legacy request in one row; several rows may have the same field. */
export interface SourceField {
  /** `table#row`, as in `fired`. */
  row: string;
  table: string;
  /** `body.items[].title`, `headers.x-ttl-store-preference`; any element as `[]`. */
  field: string;
  path: Path;
  /** The row fires only for a call that has the field; otherwise only the request shows whether it was there. */
  proves: boolean;
  /** The row fires only for a fault of the field; without a fault the field is as it should be. */
  quiet: boolean;
  /** The row may refuse a call because of the field. */
  refuses: boolean;
}

/** A legacy call that Puente translates; a row of `mappings/operations.yaml`, whose names `check` has proved. */
export interface Operation extends Omit<WrittenOperation, 'upstream' | 'source' | 'why'> {
  /** The upstream call, whose error rows apply; null when nothing is translated. */
  upstream: UpstreamCallName | null;
}

/** `headers` has lower-case keys. */
export interface LegacyRequest {
  path: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  body?: unknown;
}

/** Facts beside the request or the answer; `mapping/context.ts` declares the keys. */
export type MappingContext = Record<string, unknown>;

/** The one name for all names beyond a bound, where callers choose names. */
export const OTHERS = '(others)';

/** A source value that did not reach the other side, with the row's reason. */
export interface Loss {
  table: string;
  path: string;
  why: string;
  /** The field has no row: the table's policy for unknown fields applied. */
  unknown?: true;
}

export interface RowFacts {
  /** `table#row`; null for a field without a row. */
  row: string | null;
  /** The source path as the table writes it, with `[]` for any element; '' for a constant. */
  path: string;
  weight: Weight;
  /** A sentence for the till's maker; null without a loss. */
  advice: string | null;
  why: string;
}

/** One field of an answer on both sides; fields of list elements count as one. */
export interface ComparedField {
  /** Path in the legacy answer, with `[]` for any element: `devices[].pos_id`. */
  path: string;
  /** Null: equal. `missing`: only legacy has it; `extra`: only orders has it; `length` of lists; JSON `type`. */
  difference: 'missing' | 'extra' | 'length' | 'type' | 'value' | null;
  /** The first pair that differs; undefined where a side has none, and where the sides agree. */
  legacy?: unknown;
  orders?: unknown;
}

export interface Translated {
  value: {
    path?: Record<string, string>;
    query?: Record<string, string>;
    headers?: Record<string, string>;
    body?: unknown;
  };
  /** Rows that fired, as `table#row`, for explain, trace and row coverage. */
  fired: string[];
  losses: Loss[];
}

export const linkFamilies = ['point', 'qr'] as const;
export type LinkFamily = (typeof linkFamilies)[number];

/** The part of an order that decides its legacy state. */
export interface OrderState {
  status: string;
  status_detail?: string | undefined;
}

export interface StateRow {
  /** A state of the family: an intent's, or a merchant order's. */
  shows: string;
  /** Rank of `docs/protocol.md` §3.12: at the same version the higher wins. */
  rank: number;
  /** The order can't change any more, except for `processed` and `refunded`. */
  final: boolean;
  /** Hidden from clients until it can't change any more: `action_required` (`docs/field-notes.md` Point §2). */
  held: boolean;
  /** Legacy's notices (`docs/field-notes.md` Point §3.1, `docs/field-notes.md` QR §5.1), in order of sending. */
  notices: readonly NoticeTopic[];
  /** `table#row`. */
  row: string;
}

export interface ErrorRow {
  error: LegacyErrorName;
  /** Replaces the message's `{}`: from the upstream error, by a converter named in the row. */
  detail: string | null;
  /** True when no row names this status and code: the caller counts and logs it. */
  default: boolean;
  /** `table#row`. */
  row: string;
}

/** A numbered departure from what legacy did, and the operations whose tills can meet it. */
export type Limitation = Omit<WrittenLimitation, 'cause' | 'test'>;

export interface Tables {
  /** SHA-256 over all table files, first 12 hex digits; pinned on each link. */
  revision: string;
  /** Merchants with tables of their own. */
  with_own: readonly string[];
  /** The tables of a merchant: its own, or those for all. @param merchant_id null for a call of no known merchant. */
  of(merchant_id: string | null): Tables;
  operations: readonly Operation[];
  /** A documented write without a sale goes to legacy on every stage. @param path without query; ids may be `:id`. */
  isProxied(method: string, path: string): boolean;
  /** Checked by the target schema. @throws PuenteError refused, facts `{ error: LegacyErrorName, detail, row? }`. */
  request(operation: Operation, source: LegacyRequest, context: MappingContext): Translated;
  /** Upstream answer, or none, to legacy body. The same source and frozen context give the same frozen object. */
  answer(operation: Operation, source: unknown, context: MappingContext): Translated;
  /** Order to the flat body of a Point notice. */
  notice(source: unknown, context: MappingContext): Translated;
  /** A payment built from its order, when upstream has none with that number. */
  payment(source: unknown, context: MappingContext): Translated;
  /** A payment's names in the collections of the oldest SDKs. */
  collection(source: unknown, context: MappingContext): Translated;
  /** Unknown statuses give the row `unknown`, which is never final, with `known` false. */
  state(family: LinkFamily, order: OrderState, declined: 'error' | 'finished'): StateRow & { known: boolean };
  /** Currency and decimals of a site (`MLA`, …); an unknown site, or null, has two decimals. */
  site(site: string | null): { currency: string; exponent: number };
  /** The fields of a legacy request; none without a translation. @param site null: the rows of all sites. */
  fields(operation: Operation, site: string | null): readonly SourceField[];
  /** Without a row the weight is guessed from the name. @param why selects among rows of sites (`fields.ts`). */
  facts(table: string, path: string, why?: string): RowFacts;
  /** Why the field is lost, where one row alone loses it; null where several may, or none. */
  lossOf(table: string, path: string): string | null;
  /** Null for an id of another revision. */
  row(id: string): RowFacts | null;
  /** Compares field by field, by the matchers of the rows; without volatile fields and fields that both sides lack. */
  compare(operation: Operation, legacy: unknown, orders: unknown): ComparedField[];
  /** Numbered departures from legacy behaviour (`docs/architecture.md` Decision 11). */
  limitations: readonly Limitation[];
  /** Rows in words, as `explain` shows them; ids of other revisions are left out. */
  describe(fired: readonly string[]): RowDescription[];
  /** @param body the parsed upstream error body, in any envelope. */
  error(family: Family, call: UpstreamCallName, status: number, body: unknown, context: MappingContext): ErrorRow;
}

export interface RowWords {
  /** `table#row`. */
  row: string;
  /** Verb, source and target. */
  says: string;
  why: string;
}

/** The parts of `says`, for other languages. */
export interface RowParts {
  verb: Row['verb'];
  /** A path, the name of a fact of the context, or a constant as JSON. */
  source: string;
  /** Paths beside the source; null for none. */
  reads: string | null;
  policy: Row['policy'];
  target: string | null;
  converter: string | null;
  /** As JSON. */
  otherwise: string | null;
}

export interface RowDescription extends RowWords {
  parts: RowParts;
}

/** One row of one's own, and what it does to the shipped rows. */
export interface Laid {
  /** `table#own.1`, or `table#merchant.1` in a folder of one merchant. */
  row: string;
  /** Ids of the rows that it stands for, with the sites where it does so only at some; empty: it is added. */
  replaces: string[];
  /** It takes rows away and puts none in their place. */
  removes: boolean;
  why: string;
}

/** The tables with their documents, for explain and the generated page. */
export interface LoadedTables extends Tables {
  documents: Documents;
  /** The revision of this build's tables, without rows of one's own. */
  shipped_revision: string;
  /** Rows of one's own in this set; in that of a merchant also those for all. */
  laid: readonly Laid[];
  /** As in `Tables`, with the documents. */
  of(merchant_id: string | null): LoadedTables;
}
