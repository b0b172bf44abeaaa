/** Computes the shadow of one call: the order of a create, or both sides of a read. It can't write anywhere. */
import { upstreamRoutes } from '../../contract/upstream.ts';
import { fieldsThatCame } from '../../mapping/assemble.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Clock } from '../clock.ts';
import { createInFlightCount } from '../concurrency.ts';
import type { Count, Log } from '../log.ts';
import { type DoubleReadTools, doubleRead, isDoubleRead, readOnly } from '../shadow/double-read.ts';
import { compareCreate, hasShadow, type ShadowTools, shadowOf } from '../shadow/shadow.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { aboutExchange, type Exchange, noteUnknown, type ShadowFinding, type ShadowTask } from './exchange.ts';
import { type Found, nothingFound } from './findings.ts';
import { type CapturedMessages, redactValue } from './redact.ts';

/** A read that takes longer is no evidence. */
const READ_TIMEOUT_MS = 5_000;
/**
 * How many creates, double reads and calls of unproven merchants (each) run at once. Further creates wait in the queue;
 * further reads and unproven calls are recorded without a shadow, so that they hold up no create.
 */
const AT_ONCE = 16;
/** Upstream counts calls, so an identification that got no answer is not repeated for this long. */
const UNANSWERED_FOR_MS = 60_000;
/** Tokens without an answer that are remembered: more than a fleet has. */
const MOST_UNANSWERED = 10_000;

export interface ShadowParts {
  tables: Tables;
  clock: Pick<Clock, 'now'>;
  log: Log;
  count: Count;
  upstream: Upstream;
  /** For the control read of a double read. */
  legacy_upstream: Upstream;
  settings: { double_reads: boolean };
  /** The seller of a token, requested once (`proxy/routing/merchant-identity.ts`); null without an answer. */
  identify?: ((token: Secret) => Promise<Seller | null>) | undefined;
  /** The vault's keyed fingerprint, by which answers about a token are kept without the token. */
  fingerprint: (token: Secret) => string;
}

interface Seller {
  merchant_id: string;
  /** Not in calls on the legacy lane; the rules of orders depend on it. */
  site: string | null;
}

/** `shed`: not computed, because too many waited. */
interface Shadowed {
  exchange: Exchange;
  found: Found;
  shed: boolean;
}

/** Translates a proxied call on paper, and reads both APIs to compare them where its operation allows that. */
export function createShadow(parts: ShadowParts) {
  const { tables, settings, log } = parts;
  const tools: ShadowTools = { tables, redact: redactValue, clock: performance };
  const reading: DoubleReadTools = {
    ...tools,
    orders: readOnly(parts.upstream),
    legacy: readOnly(parts.legacy_upstream),
    settings: { timeout_ms: READ_TIMEOUT_MS },
  };
  const identified = createIdentified(parts);
  const [creates, reads, strangers] = [createInFlightCount(), createInFlightCount(), createInFlightCount()];
  const plain = (task: ShadowTask, shed = false): Shadowed => {
    return { exchange: exchangeOf(task), found: foundOf(tables, task), shed };
  };
  const shadowed = (task: ShadowTask): Promise<Shadowed> | Shadowed => {
    // A token that legacy refused proves nothing about the merchant's calls.
    if (task.exchange.outcome === 'auth') return plain(task);
    const is_create = hasShadow(tables, task);
    if (!is_create && (!settings.double_reads || !isDoubleRead(tools, task))) return plain(task);
    const work = async (): Promise<Shadowed> => {
      const known = await identified(task);
      // Still unproven: the call counts for no merchant.
      if (known.exchange.merchant_id === null) return plain(known);
      const own = tables.of(known.exchange.merchant_id);
      const judged = { ...known, exchange: { ...known.exchange, tables_revision: own.revision } };
      if (is_create) return shadowCreate(parts, { ...tools, tables: own }, judged);
      return readBothSides(parts, { ...reading, tables: own }, judged);
    };
    if (task.exchange.merchant_id === null) return strangers.running() < AT_ONCE ? strangers.run(work) : plain(task);
    if (is_create) return creates.run(work);
    return reads.running() < AT_ONCE ? reads.run(work) : plain(task, true);
  };
  return {
    /** Never throws: an error is logged, and the exchange stays as it was. */
    async of(task: ShadowTask): Promise<Shadowed> {
      try {
        return await shadowed(task);
      } catch (error) {
        log.error('shadow failed', { ...aboutExchange(task.exchange), cause: String(error) });
        return plain(task);
      }
    },
    untilFree: (): Promise<void> => creates.below(AT_ONCE),
  };
}

/** Names the merchant by upstream's answer about the token, not by the token's form. */
function createIdentified({ identify, fingerprint, clock }: ShadowParts): (task: ShadowTask) => Promise<ShadowTask> {
  const unanswered = new Map<string, number>();
  return async (task) => {
    if (identify === undefined) return task;
    const token = fingerprint(task.token);
    if ((unanswered.get(token) ?? 0) > clock.now()) return task;
    const seller = await identify(task.token);
    if (seller === null) {
      if (unanswered.size >= MOST_UNANSWERED) unanswered.clear();
      unanswered.set(token, clock.now() + UNANSWERED_FOR_MS);
      return task;
    }
    unanswered.delete(token);
    const exchange = { ...task.exchange, merchant_id: seller.merchant_id };
    return { ...task, exchange, site: seller.site ?? task.site };
  };
}

async function readBothSides({ count }: ShadowParts, tools: DoubleReadTools, task: ShadowTask): Promise<Shadowed> {
  const found = await doubleRead(tools, task);
  for (const { what } of found.differences) count('differences', what);
  return {
    exchange: exchangeOf(task),
    found: { ...foundOf(tools.tables, task), ...found, compared: true },
    shed: false,
  };
}

function shadowCreate({ count }: ShadowParts, tools: ShadowTools, task: ShadowTask): Shadowed {
  const finding = shadowOf(tools, task);
  count('shadows', finding.verdict);
  const difference = compareCreate(tools.tables, task, finding);
  if (difference !== null) count('differences', difference.what);
  const differences = difference === null ? [] : [difference];
  const exchange = exchangeOf(task, finding);
  // Only the translation shows fields that no table has.
  const unknown = [...exchange.unknown];
  for (const loss of finding.losses) if (loss.unknown === true) noteUnknown({ unknown }, 'field', loss.path);
  for (let index = exchange.unknown.length; index < unknown.length; index++) count('unknown_names', 'field');
  const found = { ...foundOf(tools.tables, task), differences, compared: true };
  return { exchange: { ...exchange, unknown }, found, shed: false };
}

/** The exchange of a task, with its shadow or without. The would-be order is listed as a sent one without an answer. */
export function exchangeOf({ exchange, messages }: ShadowTask, shadow: ShadowFinding | null = null): Exchange {
  // Only a proven merchant's setting may capture messages.
  const kept = exchange.merchant_id === null ? null : (messages ?? exchange.messages);
  if (kept === null || shadow === null || shadow.order === null) return { ...exchange, shadow, messages: kept };
  const { method, path } = upstreamRoutes.create;
  const order: CapturedMessages['upstream'][number] = { method, path, body: shadow.order, status: null, answer: null };
  return { ...exchange, shadow, messages: { ...kept, upstream: [...kept.upstream, order] } };
}

/** The fields that came with a proxied call, before its translation. */
export function foundOf(tables: Tables, { exchange, request }: ShadowTask): Found {
  const own = tables.of(exchange.merchant_id);
  return { ...nothingFound, came: fieldsThatCame(own, exchange.operation, request) };
}
