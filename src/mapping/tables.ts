/** What the compiled mapping tables offer to the stories in `proxy`. */
import type { Family, LegacyErrorName } from '../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../contract/upstream.ts';
import type { WrittenLimitation } from './limitations.ts';
import type { Path } from './path.ts';
import type { Row, Weight } from './row.ts';
import type { Documents, NoticeTopic, WrittenOperation } from './schema.ts';

/** A field of the legacy request, as one row sees it; several rows may see the same field. */
export interface SourceField {
  /** `table#row`, as in what fired. */
  row: string;
  table: string;
  /** `body.items[].title`, `headers.x-ttl-store-preference`: any element as `[]`. */
  field: string;
  path: Path;
  /** The row fires only for a call that has the field; otherwise only the request itself shows whether it was there. */
  proves: boolean;
  /** The row fires only when it has something against the field; where it doesn't, the field is as it should be. */
  quiet: boolean;
  /** The row may refuse a call for the field's sake. */
  refuses: boolean;
}

/** One legacy call that Puente understands; a row of `mappings/operations.yaml`, whose names `check` has proved. */
export interface Operation extends Omit<WrittenOperation, 'upstream' | 'source' | 'why'> {
  /** The call that is made of it, whose error rows apply; null when nothing is translated. */
  upstream: UpstreamCallName | null;
}

/** A legacy request in parts; `headers` has lower-case keys. */
export interface LegacyRequest {
  path: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  body?: unknown;
}

/** What is known beside the request or the answer; the keys a table may name are declared in `mapping/context.ts`. */
export type MappingContext = Record<string, unknown>;

/** The one name for all names beyond a bound, where callers choose them. */
export const OTHERS = '(others)';

/** A source value that did not reach the other side, with the row's reason. */
export interface Loss {
  table: string;
  path: string;
  why: string;
  /** No row knows the field: the table's policy for unknown ones found it. */
  unknown?: true;
}

/** Facts of a source field, from its row. */
export interface RowFacts {
  /** `table#row`; null for a field that no row knows. */
  row: string | null;
  /** The source path as the table writes it, with `[]` for any element; '' for a constant. */
  path: string;
  /** Money first, then who and what it was for, then the rest. */
  weight: Weight;
  /** A sentence for the till's maker; null where nothing is lost. */
  advice: string | null;
  why: string;
}

/** One field of an answer, read on both sides; fields of list elements are one together. */
export interface ComparedField {
  /** Path in the legacy answer, with `[]` for any element: `devices[].pos_id`. */
  path: string;
  /**
   * Null: the sides agree. `missing`: orders would not answer it; `extra`: legacy did not; `length`: lists of other lengths;
   * `type`: another JSON type; `value`: another value.
   */
  difference: 'missing' | 'extra' | 'length' | 'type' | 'value' | null;
  /** The first pair that differs; undefined where a side has none, and where the sides agree. */
  legacy?: unknown;
  orders?: unknown;
}

export interface Translated {
  /** Parts of the target: `path`, `query`, `headers`, `body`. */
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

/** The families whose links have states of their own. */
export type LinkFamily = 'point' | 'qr';

/** What of an order decides how it shows. */
export interface OrderState {
  status: string;
  status_detail?: string | undefined;
}

export interface StateRow {
  /** A state of the family: an intent's, or a merchant order's. */
  shows: string;
  /** Rank of `docs/protocol.md` §3.12: at the same version the higher wins. */
  rank: number;
  /** The order itself can't change any more, but for `processed` and `refunded`. */
  final: boolean;
  /** Held back from clients until it can't move any more: `action_required` (`docs/field-notes.md` Point §2). */
  held: boolean;
  /** How legacy announced this state (`docs/field-notes.md` Point §3.1, `docs/field-notes.md` QR §5.1), in the order of sending. */
  notices: readonly NoticeTopic[];
  /** The row, as `table#row`. */
  row: string;
}

export interface ErrorRow {
  error: LegacyErrorName;
  /** How much of the message's `{}` is filled: from the upstream error, by a converter named in the row. */
  detail: string | null;
  /** True when no row names this status and code: counted and logged by the caller. */
  default: boolean;
  /** The row, as `table#row`. */
  row: string;
}

/** A numbered departure from what legacy did, and the operations whose tills can meet it. */
export type Limitation = Omit<WrittenLimitation, 'cause' | 'test'>;

export interface Tables {
  /** SHA-256 over all table files, first 12 hex digits; pinned on each link. */
  revision: string;
  operations: readonly Operation[];
  /**
   * Whether a call is one of the documented writes that make no sale: proxied to legacy on every stage of its merchant.
   * @param path without a query; ids may be left out as `:id`.
   */
  isCarried(method: string, path: string): boolean;
  /**
   * Legacy request to upstream call. The value has been checked against the target schema.
   * @throws PuenteError refused, facts `{ error: LegacyErrorName, detail, row? }`, when a row or the target schema refuses it.
   */
  request(operation: Operation, source: LegacyRequest, context: MappingContext): Translated;
  /**
   * Upstream answer (or nothing) to legacy answer body. For the same source and a context that is frozen it is the same object
   * again, whose value is deeply frozen.
   */
  answer(operation: Operation, source: unknown, context: MappingContext): Translated;
  /** Order to the flat body of a Point notice. */
  notice(source: unknown, context: MappingContext): Translated;
  /** A payment made of its order, when upstream has none with that number. */
  payment(source: unknown, context: MappingContext): Translated;
  /** A payment's names in the collections of the oldest SDKs. */
  collection(source: unknown, context: MappingContext): Translated;
  /** Unknown statuses give the row `unknown`, which is never final, with `known` false. */
  state(family: LinkFamily, order: OrderState, declined: 'error' | 'finished'): StateRow & { known: boolean };
  /** Currency and decimals of a site (`MLA`, …); an unknown site, or null, has two decimals. */
  site(site: string | null): { currency: string; exponent: number };
  /** The fields of an operation's legacy request; none when nothing is translated. @param site null: the rows of all sites. */
  fields(operation: Operation, site: string | null): readonly SourceField[];
  /**
   * Facts of a source field; without a row its weight is guessed from its name.
   * @param why the reason of a loss, when a field has rows for several sites (`lossFacts` in `fields.ts`).
   */
  facts(table: string, path: string, why?: string): RowFacts;
  /** The row of an id that fired; null for an id of another revision. */
  row(id: string): RowFacts | null;
  /**
   * Compares the answer of legacy with the one that the tables made of the orders side, field by field, by the matchers of the
   * rows. Volatile fields, and fields that both sides lack, are left out.
   */
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
  /** From where to where. */
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

/** The tables with the documents they came from, for explain and the generated page. */
export interface LoadedTables extends Tables {
  documents: Documents;
}
