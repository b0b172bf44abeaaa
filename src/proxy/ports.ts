/** The ports of the proxy: each function takes those that it needs; `app/` makes them. */
import { parseJson } from '../contract/json.ts';
import { PuenteError } from '../error.ts';
import { readError, refusal } from '../mapping/errors.ts';
import { markedInCode } from '../mapping/limitations.ts';
import type { Loss, Tables, Translated } from '../mapping/tables.ts';
import type { Clock } from './clock.ts';
import { type Evidence, type ExchangeDraft, markLimitation, noteUnknown } from './evidence/exchange.ts';
import type { Count, Log, LogFields } from './log.ts';
import type { ProcessMemory } from './process-memory.ts';
import type { CoreSettings } from './settings.ts';
import type { Store } from './store.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from './upstream/upstream.ts';
import type { Vault } from './vault.ts';

/** Everything that the stories of the proxy may use; a function names the part that it takes. */
export interface Ports {
  store: Store;
  upstreams: {
    orders: Upstream;
    /** Where all other work is proxied; its results are merged into searches. */
    legacy: Upstream;
  };
  tables: Tables;
  vault: Vault;
  clock: Clock;
  settings: CoreSettings;
  log: Log;
  count: Count;
  notices: NoticePort;
  evidence: Evidence;
  memory: ProcessMemory;
  /** The exchange of the current call; null outside of one. */
  exchange: ExchangeDraft | null;
}

interface NoticePort {
  /** For a URL without a scheme: `http` if that may be called, as clients do. */
  scheme: 'http' | 'https';
  /** False for a URL to which the settings never allow a notice. */
  mayCall(url: string): boolean;
}

// The ports of one call: they note its rows and upstream calls in its exchange, and add the legacy id to its log lines.

/** The same ports, for the exchange of this draft. */
export function forExchange(ports: Ports, draft: ExchangeDraft): Ports {
  const { tables, upstreams, log } = ports;
  return {
    ...ports,
    exchange: draft,
    tables: notingTables(tables, draft),
    upstreams: { orders: notingUpstream(upstreams.orders, draft), legacy: notingUpstream(upstreams.legacy, draft) },
    log: namingLog(log, draft),
  };
}

/** Names the sale of the call in its exchange. */
export function noteId({ exchange }: Pick<Ports, 'exchange'>, legacy_id: string): void {
  if (exchange !== null) exchange.legacy_id = legacy_id;
}

/** An exchange of which nothing is known but when it began. @param started_tick_ms of the monotonic clock. */
export function openDraft(started_tick_ms: number): ExchangeDraft {
  return {
    started_tick_ms,
    legacy_id: null,
    upstream: [],
    fired: [],
    losses: [],
    unknown: [],
    limitations: [],
    sent: [],
  };
}

/** Calls kept of one exchange, and twice as many rows; only a page of a search makes more, of the same kinds. */
const MAX_NOTES = 100;
/** Longest stored code of an upstream error; documented ones are below 60 characters. */
const MAX_CODE = 80;

/** The same tables; they note fired rows, losses and unknown fields. */
function notingTables(tables: Tables, draft: ExchangeDraft): Tables {
  const fired = <Answer extends { fired: readonly string[] }>(translated: Answer): Answer => {
    note(draft.fired, translated.fired);
    return translated;
  };
  const noting: Tables = {
    ...tables,
    of: (merchant_id) => {
      const own = tables.of(merchant_id);
      return own === tables ? noting : notingTables(own, draft);
    },
    request: (operation, source, context) => {
      try {
        const translated = fired(tables.request(operation, source, context));
        noteLosses(draft, translated);
        return translated;
      } catch (error) {
        noteRefusal(draft, error);
        throw error;
      }
    },
    answer: (operation, source, context) => fired(tables.answer(operation, source, context)),
    payment: (source, context) => fired(tables.payment(source, context)),
    collection: (source, context) => fired(tables.collection(source, context)),
    state: (family, order, declined) => {
      const row = tables.state(family, order, declined);
      note(draft.fired, [row.row]);
      return row;
    },
    error: (family, call, status, body, context) => {
      const row = tables.error(family, call, status, body, context);
      note(draft.fired, [row.row]);
      return row;
    },
  };
  return noting;
}

/** The same client; it gives payments priority and notes each call, with messages only if the merchant is captured. */
function notingUpstream(upstream: Upstream, draft: ExchangeDraft): Upstream {
  return {
    isShut: (method, token) => upstream.isShut?.(method, token) ?? false,
    async send(call) {
      const started_ms = performance.now();
      const outcome = await upstream.send({ for_payment: draft.is_payment === true, ...call });
      noteCall(draft, call, outcome, started_ms);
      return outcome;
    },
  };
}

/** The same log; it adds the sale's legacy id to lines without one. */
function namingLog(log: Log, draft: ExchangeDraft): Log {
  const about = (fields?: LogFields): LogFields | undefined => {
    const { legacy_id } = draft;
    return legacy_id === null ? fields : { legacy_id, ...fields };
  };
  return {
    debug: (message, fields) => log.debug(message, about(fields)),
    info: (message, fields) => log.info(message, about(fields)),
    warn: (message, fields) => log.warn(message, about(fields)),
    error: (message, fields) => log.error(message, about(fields)),
  };
}

function noteCall(draft: ExchangeDraft, call: UpstreamCall, outcome: UpstreamOutcome, started_ms: number): void {
  if (draft.upstream.length >= MAX_NOTES) return;
  const status = outcome.kind === 'answered' ? outcome.status : null;
  const code = outcome.kind === 'answered' && outcome.status >= 400 ? readError(outcome.body).code : '';
  draft.upstream.push({
    name: call.name,
    status,
    code: code === '' ? null : code.slice(0, MAX_CODE),
    duration_ms: performance.now() - started_ms,
    began_ms: started_ms - draft.started_tick_ms,
  });
  if (draft.rules?.captured !== true) return;
  draft.sent.push({
    method: call.method,
    path: call.query === undefined ? call.path : `${call.path}?${new URLSearchParams(call.query)}`,
    body: sentBody(call),
    status,
    answer: outcome.kind === 'answered' ? outcome.body : null,
  });
}

function sentBody(call: UpstreamCall): unknown {
  if (call.body === undefined) return undefined;
  const text = Buffer.from(call.body).toString('utf8');
  try {
    return parseJson(text);
  } catch {
    return text; // noting a call must never break it
  }
}

/** @throws PuenteError refused where the merchant's setting refuses fields that no row knows. */
function noteLosses(draft: ExchangeDraft, { losses }: Translated): void {
  if (losses.length === 0) return;
  // A create that is translated again, with another reference, loses the same again, and counts once.
  const known = new Set(draft.losses.map(placeOf));
  for (const loss of losses) if (!known.has(placeOf(loss))) draft.losses.push(loss);
  const unknown = losses.filter((loss) => loss.unknown === true);
  for (const loss of unknown) noteUnknown(draft, 'field', loss.path);
  const [first] = unknown;
  if (first !== undefined && draft.rules?.unknown_field === 'refuse') {
    throw refusal('additional_property', first.path.replace(/^body\./, ''));
  }
}

/** A refusal of a table names its row or the unknown field, and the limitation that the till meets. */
function noteRefusal(draft: ExchangeDraft, error: unknown): void {
  if (!(error instanceof PuenteError) || error.code !== 'refused') return;
  const { row, error: name, detail, limitation } = error.facts;
  const met = markedInCode.find((id) => id === limitation);
  if (met !== undefined) markLimitation(draft, met);
  if (typeof row === 'string') note(draft.fired, [row]);
  else if (name === 'additional_property' && typeof detail === 'string') noteUnknown(draft, 'field', `body.${detail}`);
}

function placeOf({ table, path }: Loss): string {
  return `${table} ${path}`;
}

function note(kept: string[], rows: readonly string[]): void {
  for (const row of rows) if (kept.length < MAX_NOTES * 2 && !kept.includes(row)) kept.push(row);
}
