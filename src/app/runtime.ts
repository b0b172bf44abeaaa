/** What the stories are handed, made from the settings. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { parseJson } from '../contract/json.ts';
import { PuenteError } from '../error.ts';
import { readError, refusal } from '../mapping/errors.ts';
import { markedInCode } from '../mapping/limitations.ts';
import type { Loss, Tables, Translated } from '../mapping/tables.ts';
import { createCache } from '../proxy/cache.ts';
import { rememberingClock } from '../proxy/clock.ts';
import { type ExchangeDraft, markLimitation, noteUnknown } from '../proxy/evidence/exchange.ts';
import { createSerial } from '../proxy/keyed-mutex.ts';
import { createPassing, createRecent } from '../proxy/lru.ts';
import { checkUrl } from '../proxy/notices/guard.ts';
import { withoutCredentials } from '../proxy/notices/request.ts';
import { RANDOM_BYTES, takeRandom, uuidV7 } from '../proxy/random-ids.ts';
import { LATE_EFFECT_MS } from '../proxy/records/routing.ts';
import { createUnrecorded } from '../proxy/routing/legacy-pending.ts';
import { createProofs, createUnprovenTokens } from '../proxy/routing/token-ownership.ts';
import type { Clock, CoreSettings, Log, LogFields, Runtime } from '../proxy/runtime.ts';
import { createSafetyWatch } from '../proxy/safety/stop.ts';
import type { Link } from '../proxy/sales/link.ts';
import { lost } from '../proxy/sales/recover.ts';
import { createRecentReads } from '../proxy/sales/refresh.ts';
import { changeLink } from '../proxy/sales/settle.ts';
import { createRetryBudget } from '../proxy/sales/submit.ts';
import { createMint } from '../proxy/sales/synthetic-ids.ts';
import { Secret } from '../proxy/secret.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from '../proxy/upstream/upstream.ts';

/** A sandbox that was restarted has forgotten its orders; this many leftover links are closed at most. */
const MAX_LEFTOVERS = 10_000;
/**
 * Orders whose time goes by this process's own clock. Half as many are sure to be remembered: a whole shop chain's, when its
 * upstream answers 404 to all. The time of one that is forgotten begins anew.
 */
const ORDERS_REMEMBERED = 100_000;
/** Creates and refunds in doubt, and events whose order is not there; one beyond it waits longer. */
const DOUBTS_REMEMBERED = 10_000;
/** Refunds whose age is known by this process's own clock; of one beyond it, by the wall clock. */
const REFUNDS_REMEMBERED = 10_000;
/** Of tills that count from one again each day, 250 with 200 sales each; one that is not remembered costs its sale a refused row. */
const REFERENCES_REMEMBERED = 50_000;
/** The same of sales: a retry comes within a minute, so that 160 a second are sure to be remembered for as long. */
const SALES_REMEMBERED = 20_000;

/** The parts that differ between starts; the rest is made here. */
export type RuntimeParts = Pick<
  Runtime,
  | 'store'
  | 'upstream'
  | 'legacy_upstream'
  | 'tables'
  | 'vault'
  | 'clock'
  | 'random'
  | 'log'
  | 'count'
  | 'evidence'
  | 'noticesWaiting'
  | 'failpoint'
>;

/** Tables and clients are handed on so that what they do for a call is noted in its exchange. */
export function createRuntime(config: Config, parts: RuntimeParts): Runtime {
  const drafts = new AsyncLocalStorage<ExchangeDraft>();
  const exchange = (): ExchangeDraft | null => drafts.getStore() ?? null;
  const settings = coreSettings(config);
  return {
    ...parts,
    clock: rememberingClock(parts.clock),
    tables: observedTables(parts.tables, exchange),
    upstream: observedUpstream(parts.upstream, exchange),
    legacy_upstream: observedUpstream(parts.legacy_upstream, exchange),
    log: observedLog(parts.log, exchange),
    exchange,
    inExchange: (draft, work) => drafts.run(draft, work),
    settings,
    safety: createSafetyWatch({ ...parts, settings }),
    serial: createSerial(),
    budget: createRetryBudget(),
    unsettled: createPassing(),
    flights: createPassing(),
    missing: createRecent(DOUBTS_REMEMBERED),
    unfound: createRecent(ORDERS_REMEMBERED),
    contradicted: createRecent(ORDERS_REMEMBERED),
    held_terminals: createRecent(ORDERS_REMEMBERED),
    awaited: createRecent(ORDERS_REMEMBERED),
    absent: createRecent(DOUBTS_REMEMBERED),
    spent: createRecent(REFERENCES_REMEMBERED),
    opened: createRecent(SALES_REMEMBERED),
    known: createRecent(SALES_REMEMBERED),
    asked: createRecent(REFUNDS_REMEMBERED),
    reads: createRecentReads(parts.clock.now),
    cache: createCache(),
    notice_urls: noticeUrls(config),
    unrecorded: createUnrecorded(),
    unproven_tokens: createUnprovenTokens(),
    proofs: createProofs(),
    ids: { legacyId: (now) => uuidV7(now, takeRandom(RANDOM_BYTES)), number: createMint(), idempotencyKey: randomUUID },
    boot_id: randomUUID(),
  };
}

function noticeUrls({ outbound: { allow_private, allow_http, ports } }: Config): Runtime['notice_urls'] {
  const policy = { allow_private, allow_http, ports: [...ports], own_hosts: [] };
  return {
    scheme: allow_private || allow_http ? 'http' : 'https',
    mayCall(url) {
      try {
        checkUrl(withoutCredentials(url).url, policy);
        return true;
      } catch {
        return false;
      }
    },
  };
}

export const systemClock: Clock = {
  now: Date.now,
  sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
  monotonic: () => performance.now(),
};

/**
 * A sandbox starts empty, at its own start and after a reset: what these links and sales point at is gone and must not
 * hold terminals.
 * @returns how many were closed.
 */
export async function closeLeftovers(runtime: Runtime, which: (link: Link) => boolean = () => true): Promise<number> {
  const leftovers = (await runtime.store.dueLinks(Number.MAX_SAFE_INTEGER, MAX_LEFTOVERS)).filter(which);
  for (const link of leftovers) await changeLink(runtime, link, () => ({ change: lost(link, runtime.clock.now()) }));
  return leftovers.length + (await endLegacySales(runtime));
}

/** A create that is being carried now ends by itself. */
async function endLegacySales({ store, clock }: Runtime): Promise<number> {
  let ended = 0;
  for (const { id } of await store.merchants()) {
    for (const sale of await store.openLegacySales(id, clock.now(), MAX_LEFTOVERS)) {
      if (sale.state === 'SENDING' && sale.updated_at + LATE_EFFECT_MS > clock.now()) continue;
      await store.saveLegacySale(sale.id, { state: 'ENDED' });
      ended++;
    }
  }
  return ended;
}

/** The key of the settings; the sandbox makes one in the data directory and says so (DESIGN decision 9). */
export function secretKey(config: Config, remarks: string[]): Secret {
  if (config.secret_key !== null) return config.secret_key;
  const path = join(config.data_dir, 'sandbox.key');
  if (!existsSync(path)) {
    writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' });
    remarks.push(`A key for sealing tokens was made in ${path}; with a real upstream set PUENTE_SECRET_KEY instead.`);
  }
  return new Secret(readFileSync(path, 'utf8'));
}

function coreSettings(config: Config): CoreSettings {
  return {
    create: config.create,
    reads: config.reads,
    tokens: config.tokens,
    reconcile: config.reconcile,
    merchants: { ...config.merchants, stage: config.routing.default_stage },
    notices: config.notices,
    routing: config.routing,
    moves: config.moves,
    safety: config.safety,
    sweep: { per_second: config.reconcile.sweep_per_second, age_ms: config.reconcile.sweep_age_ms },
  };
}

// The tables and clients that the stories are handed: what they do for a call is noted in its exchange.

/** The draft of the exchange at hand; null where no call is being served, and then nothing is noted. */
type Current = () => ExchangeDraft | null;

/** Calls and rows kept of one exchange; a page of a search makes the most, and what comes after a hundred tells nothing new. */
const MAX_NOTES = 100;
/** Longest code of an upstream error that is kept; documented ones are below 60 characters. */
const MAX_CODE = 80;

/** Tables that do the same, and note which rows fired, what was lost, and which fields no row knows. */
export function observedTables(tables: Tables, current: Current): Tables {
  const fired = <Answer extends { fired: readonly string[] }>(translated: Answer): Answer => {
    note(current()?.fired, translated.fired);
    return translated;
  };
  return {
    ...tables,
    request: (operation, source, context) => {
      const draft = current();
      try {
        const translated = fired(tables.request(operation, source, context));
        if (draft !== null) noteLosses(draft, translated);
        return translated;
      } catch (error) {
        if (draft !== null) noteRefusal(draft, error);
        throw error;
      }
    },
    answer: (operation, source, context) => fired(tables.answer(operation, source, context)),
    payment: (source, context) => fired(tables.payment(source, context)),
    collection: (source, context) => fired(tables.collection(source, context)),
    state: (family, order, declined) => {
      const row = tables.state(family, order, declined);
      note(current()?.fired, [row.row]);
      return row;
    },
    error: (family, call, status, body, context) => {
      const row = tables.error(family, call, status, body, context);
      note(current()?.fired, [row.row]);
      return row;
    },
  };
}

/** A client that does the same, puts what a payment needs first, and notes each call; the messages themselves only while the merchant is captured. */
export function observedUpstream(upstream: Upstream, current: Current): Upstream {
  return {
    isShut: (method, token) => upstream.isShut?.(method, token) ?? false,
    async send(call) {
      const draft = current();
      if (draft === null) return upstream.send(call);
      const started_ms = performance.now();
      const outcome = await upstream.send({ for_payment: draft.is_payment === true, ...call });
      noteCall(draft, call, outcome, started_ms);
      return outcome;
    },
  };
}

/** A log whose lines name the sale that the work at hand is about, unless they name one themselves. */
export function observedLog(log: Log, current: Current): Log {
  const about = (fields?: LogFields): LogFields | undefined => {
    const legacy_id = current()?.legacy_id ?? null;
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
    return text; // a call is never broken by being noted
  }
}

/** @throws PuenteError refused where the merchant's setting refuses fields that no row knows. */
function noteLosses(draft: ExchangeDraft, { losses }: Translated): void {
  if (losses.length === 0) return;
  // A create that is translated once more, with another reference, loses the same again: it is one call.
  const known = new Set(draft.losses.map(placeOf));
  for (const loss of losses) if (!known.has(placeOf(loss))) draft.losses.push(loss);
  const unknown = losses.filter((loss) => loss.unknown === true);
  for (const loss of unknown) noteUnknown(draft, 'field', loss.path);
  const [first] = unknown;
  if (first !== undefined && draft.rules?.unknown_field === 'refuse') {
    throw refusal('additional_property', first.path.replace(/^body\./, ''));
  }
}

/** A table that refuses names its row, or the field that no row knows, and the limitation that the till meets by it. */
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

function note(kept: string[] | undefined, rows: readonly string[]): void {
  if (kept === undefined) return;
  for (const row of rows) if (kept.length < MAX_NOTES * 2 && !kept.includes(row)) kept.push(row);
}
