/** What the compiled mapping tables offer to the stories in `core`. */
import type { Family, LegacyErrorName } from '../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../contract/upstream.ts';
import type { NoticeTopic } from './schema.ts';

/** One legacy call that Puente understands; a row of `mappings/operations.yaml`. */
export interface Operation {
  /** e.g. `point.create_intent`. */
  name: string;
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Express path with named parameters, e.g. `/point/integration-api/devices/:device_id/payment-intents`. */
  path: string;
  family: Family;
  /** Operation kind for routing. */
  kind: 'devices' | 'intents' | 'qr' | 'payments';
  /** Name of the story in `core` that runs it. */
  story: string;
  /** The call that is made of it, whose error rows apply; null when nothing is translated. */
  upstream: UpstreamCallName | null;
  /** What its story may ask beside, as `GET /v1/orders/:order_id`; `legacy GET …` where it asks the legacy API itself. */
  asks: readonly string[];
  /** Table names; null where the call has no translated request or answer. */
  request: string | null;
  answer: string | null;
  /** `json`: a JSON body is required; `optional`: there may be none; `dropped`: it is ignored (DESIGN decision 12). */
  body: 'json' | 'optional' | 'dropped';
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

/** A source value that did not reach the other side, with the row's reason. */
export interface Loss {
  table: string;
  path: string;
  why: string;
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
  /** Rank of `reliability.md` §3.12: at the same version the higher wins. */
  rank: number;
  /** The order itself can't change any more, but for `processed` and `refunded`. */
  final: boolean;
  /** Held back from clients until it can't move any more: `action_required` (`legacy-point.md` §2). */
  held: boolean;
  /** How legacy announced this state (`legacy-point.md` §3.1, `legacy-qr.md` §5.1), in the order of sending. */
  notices: readonly NoticeTopic[];
  /** The row that said so, as `table#row`. */
  row: string;
}

export interface ErrorRow {
  error: LegacyErrorName;
  /** How much of the message's `{}` is filled: from the upstream error, by a converter named in the row. */
  detail: string | null;
  /** True when no row names this status and code: counted and logged by the caller. */
  default: boolean;
  /** The row that said so, as `table#row`. */
  row: string;
}

export interface Tables {
  /** SHA-256 over all table files, first 12 hex digits; pinned on each link. */
  revision: string;
  operations: readonly Operation[];
  /**
   * Legacy request to upstream call. The value has been checked against the target schema.
   * @throws PuenteError refused, facts `{ error: LegacyErrorName, detail, row? }`, when a row or the target schema refuses it.
   */
  request(operation: Operation, source: LegacyRequest, context: MappingContext): Translated;
  /** Upstream answer (or nothing) to legacy answer body. */
  answer(operation: Operation, source: unknown, context: MappingContext): Translated;
  /** Order to the flat body of a Point notice. */
  notice(source: unknown, context: MappingContext): Translated;
  /** A payment told from its order, where the service has none under that number. */
  payment(source: unknown, context: MappingContext): Translated;
  /** Unknown statuses give the row `unknown`, which is never final; `known` says which it was. */
  state(family: LinkFamily, order: OrderState, declined: 'error' | 'finished'): StateRow & { known: boolean };
  /** Currency and decimals of a site (`MLA`, …); a site nobody knows, or null, has two decimals. */
  site(site: string | null): { currency: string; exponent: number };
  /** @param body the parsed upstream error body, in whatever envelope. */
  error(family: Family, call: UpstreamCallName, status: number, body: unknown, context: MappingContext): ErrorRow;
}
