/** Computes the shadow of one call: the order that a create would have made, or both sides of a read. It can't write anywhere. */

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

/** A side that takes longer is no evidence. */
const READ_TIMEOUT_MS = 5_000;
/**
 * Creates, double reads, and calls of unproven merchants that are worked on at once, each. Further creates wait in the
 * queue; further reads and unproven calls are recorded without a shadow, so that they hold up no creates.
 */
const AT_ONCE = 16;
/** Upstream counts calls, so an unanswered question about a token is not repeated for this long. */
const UNANSWERED_FOR_MS = 60_000;
/** Tokens remembered as unanswered: more than a fleet has. */
const MOST_UNANSWERED = 10_000;

export interface ShadowParts {
  tables: Tables;
  clock: Pick<Clock, 'now'>;
  log: Log;
  count: Count;
  /** Used for reads only. */
  upstream: Upstream;
  /** For the control read of a double read. */
  legacy_upstream: Upstream;
  settings: { double_reads: boolean };
  /** The seller behind a token, requested once and remembered (`proxy/routing/merchant-identity.ts`); null without an answer. */
  identify?: ((token: Secret) => Promise<Seller | null>) | undefined;
  /** Names a token without showing it. */
  fingerprint: (token: Secret) => string;
}

interface Seller {
  merchant_id: string;
  /** Calls on the legacy lane don't name it, and the rules of orders depend on it. */
  site: string | null;
}

/** `shed`: there was no room to compute it. */
interface Shadowed {
  exchange: Exchange;
  found: Found;
  shed: boolean;
}

export interface Shadow {
  /** Never throws: an error is logged, and the exchange stays as it was. */
  of(task: ShadowTask): Promise<Shadowed>;
  /** Resolves when one more create may be worked on. */
  room(): Promise<void>;
}

export function createShadow(parts: ShadowParts): Shadow {
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
    // A token that legacy refused may be anybody's, and proves nothing about the merchant's work.
    if (task.exchange.outcome === 'auth') return plain(task);
    const is_create = hasShadow(tables, task);
    if (!is_create && (!settings.double_reads || !isDoubleRead(tools, task))) return plain(task);
    const work = async (): Promise<Shadowed> => {
      const known = await identified(task);
      // Still unproven, so it counts for no merchant.
      if (known.exchange.merchant_id === null) return plain(known);
      return is_create ? shadowCreate(parts, tools, known) : readBothSides(parts, reading, known);
    };
    if (task.exchange.merchant_id === null) return strangers.running() < AT_ONCE ? strangers.run(work) : plain(task);
    if (is_create) return creates.run(work);
    return reads.running() < AT_ONCE ? reads.run(work) : plain(task, true);
  };
  return {
    async of(task) {
      try {
        return await shadowed(task);
      } catch (error) {
        log.error('shadow failed', { ...aboutExchange(task.exchange), cause: String(error) });
        return plain(task);
      }
    },
    room: () => creates.below(AT_ONCE),
  };
}

/** Upstream's answer about a token counts more than the token's look. */
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

async function readBothSides(
  { tables, count }: ShadowParts,
  tools: DoubleReadTools,
  task: ShadowTask,
): Promise<Shadowed> {
  const found = await doubleRead(tools, task);
  for (const { what } of found.differences) count('differences', what);
  return { exchange: exchangeOf(task), found: { ...foundOf(tables, task), ...found, compared: true }, shed: false };
}

function shadowCreate({ tables, count }: ShadowParts, tools: ShadowTools, task: ShadowTask): Shadowed {
  const finding = shadowOf(tools, task);
  count('shadow', finding.verdict);
  const difference = compareCreate(task, finding);
  if (difference !== null) count('differences', difference.what);
  const differences = difference === null ? [] : [difference];
  const exchange = exchangeOf(task, finding);
  // Fields that no table knows show only when the call is translated.
  const unknown = [...exchange.unknown];
  for (const loss of finding.losses) if (loss.unknown === true) noteUnknown({ unknown }, 'field', loss.path);
  for (let index = exchange.unknown.length; index < unknown.length; index++) count('unknown', 'field');
  const found = { ...foundOf(tables, task), differences, compared: true };
  return { exchange: { ...exchange, unknown }, found, shed: false };
}

/** The exchange of a task, with its shadow or without. The would-be order stands where a sent one would, without an answer. */
export function exchangeOf({ exchange, messages }: ShadowTask, shadow: ShadowFinding | null = null): Exchange {
  // Only a proven merchant's setting may capture messages.
  const kept = exchange.merchant_id === null ? null : (messages ?? exchange.messages);
  if (kept === null || shadow === null || shadow.order === null) return { ...exchange, shadow, messages: kept };
  const { method, path } = upstreamRoutes.create;
  const order: CapturedMessages['upstream'][number] = { method, path, body: shadow.order, status: null, answer: null };
  return { ...exchange, shadow, messages: { ...kept, upstream: [...kept.upstream, order] } };
}

export function foundOf(tables: Tables, { exchange, request }: ShadowTask): Found {
  return { ...nothingFound, came: fieldsThatCame(tables, exchange.operation, request) };
}
