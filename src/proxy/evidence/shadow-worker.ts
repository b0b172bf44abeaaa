/** What a shadow finds of one call: the would-be order of a create, or both sides of a read; it can't write anywhere. */

import { upstreamRoutes } from '../../contract/upstream.ts';
import { fieldsThatCame } from '../../mapping/fields.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Clock } from '../clock.ts';
import { createInFlightCount } from '../concurrency.ts';
import type { Count, Log } from '../log.ts';
import { type DoubleReadTools, doubleRead, isDoubleRead, readOnly } from '../shadow/double-read.ts';
import { compareCreate, hasShadow, type ShadowTools, shadowOf } from '../shadow/shadow.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { type Exchange, noteUnknown, type ShadowFinding, type ShadowTask } from './exchange.ts';
import { type Found, nothingFound } from './findings.ts';
import { type CapturedMessages, redactValue } from './redact.ts';
import { aboutExchange, causeOf } from './writer.ts';

/** A double read that nobody waits for; a slower side is no evidence. */
const READ_TIMEOUT_MS = 5_000;
/** Double reads under way at once: what comes beyond it is left out, so that slow reads hold up no creates. */
const READS_AT_ONCE = 16;
/** Creates that wait for their seller, at once: the others wait in line, whose length is bounded. */
const CREATES_AT_ONCE = 16;

/** Calls whose merchant is not proven yet, at once: a flood of invented tokens must not hold up the others. */
const STRANGERS_AT_ONCE = 16;

/** A token that nobody told the seller of is not asked about again for so long: the vendor counts calls. */
const UNANSWERED_FOR_MS = 60_000;
/** Tokens remembered as unanswered: more than a fleet has. */
const MOST_UNANSWERED = 10_000;

export interface ShadowParts {
  tables: Tables;
  clock: Pick<Clock, 'now'>;
  log: Log;
  count: Count;
  /** For reads alone. */
  upstream: Upstream;
  /** For the control read of a double read. */
  legacy_upstream: Upstream;
  settings: { double_reads: boolean };
  /** Whose token this is, asked once and remembered (`proxy/routing/merchant-identity.ts`); null when nobody says. */
  identify?: ((token: Secret) => Promise<Seller | null>) | undefined;
  /** Names a token without showing it. */
  fingerprint: (token: Secret) => string;
}

export interface Seller {
  merchant_id: string;
  /** The rules of orders hang on it, and calls on legacy don't tell it. */
  site: string | null;
}

/** What was found; `shed` when there was no room for it. */
export type Shadowed = { exchange: Exchange; found: Found; shed: boolean };

export interface Shadow {
  /** Never throws: what goes wrong is logged, and the exchange stays as it came. */
  of(task: ShadowTask): Promise<Shadowed>;
  /** Resolves when one more create may be looked at. */
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
  const creates = createInFlightCount();
  const reads = createInFlightCount();
  const strangers = createInFlightCount();
  const look = (task: ShadowTask): Promise<Shadowed> | Shadowed => {
    // A token that legacy refused may be anybody's, and shows nothing of the work.
    if (task.exchange.outcome === 'auth') return plain(tables, task, false);
    const on_paper = hasShadow(tables, task);
    if (!on_paper && (!settings.double_reads || !isDoubleRead(tools, task))) return plain(tables, task, false);
    const looked = async (): Promise<Shadowed> => {
      const known = await identified(task);
      // It may be anybody's, and shows nothing of the work of whom its token names.
      if (known.exchange.merchant_id === null) return plain(tables, known, false);
      return on_paper ? onPaper(parts, tools, known) : onBothSides(parts, reading, known);
    };
    if (task.exchange.merchant_id === null) {
      return strangers.running() < STRANGERS_AT_ONCE ? strangers.run(looked) : plain(tables, task, false);
    }
    if (on_paper) return creates.run(looked);
    return reads.running() < READS_AT_ONCE ? reads.run(looked) : plain(tables, task, true);
  };
  return {
    async of(task) {
      try {
        return await look(task);
      } catch (error) {
        log.error('shadow failed', { ...aboutExchange(task.exchange), cause: causeOf(error) });
        return plain(tables, task, false);
      }
    },
    room: () => creates.below(CREATES_AT_ONCE),
  };
}

function plain(tables: Tables, task: ShadowTask, shed: boolean): Shadowed {
  return { exchange: exchangeOf(task), found: foundOf(tables, task), shed };
}

/** What the upstream says of the token counts more than its look; who gets no answer does not ask again for a while. */
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

async function onBothSides(
  { tables, count }: ShadowParts,
  tools: DoubleReadTools,
  task: ShadowTask,
): Promise<Shadowed> {
  const found = await doubleRead(tools, task);
  for (const { what } of found.differences) count('differences', what);
  return { exchange: exchangeOf(task), found: { ...foundOf(tables, task), ...found, compared: true }, shed: false };
}

function onPaper({ tables, count }: ShadowParts, tools: ShadowTools, task: ShadowTask): Shadowed {
  const finding = shadowOf(tools, task);
  count('shadow', finding.verdict);
  const difference = compareCreate(task, finding);
  if (difference !== null) count('differences', difference.what);
  const differences = difference === null ? [] : [difference];
  const exchange = withUnknown(exchangeOf(task, finding), finding, count);
  return { exchange, found: { ...foundOf(tables, task), differences, compared: true }, shed: false };
}

/** Fields that no table knows show only when the call is translated. */
function withUnknown(exchange: Exchange, { losses }: ShadowFinding, count: Count): Exchange {
  const unknown = [...exchange.unknown];
  for (const loss of losses) if (loss.unknown === true) noteUnknown({ unknown }, 'field', loss.path);
  for (let index = exchange.unknown.length; index < unknown.length; index++) count('unknown', 'field');
  return { ...exchange, unknown };
}

/** The exchange of a task whose shadow was left out, or with what it found. */
export function exchangeOf({ exchange, messages }: ShadowTask, finding: ShadowFinding | null = null): Exchange {
  // A merchant's wish to capture is no wish of whoever names it.
  const kept = exchange.merchant_id === null ? null : (messages ?? exchange.messages);
  return { ...exchange, shadow: finding, messages: kept === null ? null : withOrder(kept, finding) };
}

export function foundOf(tables: Tables, { exchange, request }: ShadowTask): Found {
  return { ...nothingFound, came: fieldsThatCame(tables, exchange.operation, request) };
}

/** The would-be order stands where a sent one would; it has no answer. */
function withOrder(messages: CapturedMessages, finding: ShadowFinding | null): CapturedMessages {
  if (finding === null || finding.order === null) return messages;
  const { method, path } = upstreamRoutes.create;
  const order = { method, path, body: finding.order, status: null, answer: null };
  return { ...messages, upstream: [...messages.upstream, order] };
}
