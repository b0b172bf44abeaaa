/** The exchange of a call, from its arrival until its answer has left; a proxied answer is observed, not changed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import type { RequestHandler } from 'express';
import { decodeUtf8, parseJson } from '../../contract/json.ts';
import type { Operation } from '../../mapping/tables.ts';
import { createDrain } from '../concurrency.ts';
import type { ExchangeDraft } from '../evidence/exchange.ts';
import { forExchange, openDraft, type Ports } from '../ports.ts';
import type { ProxiedSale } from '../routing/legacy-ledger.ts';
import type { Merchant, Stage, UnknownPolicy } from '../routing/merchant.ts';
import { claimedMerchant, rememberedMerchant } from '../routing/merchant-identity.ts';
import type { Secret } from '../vault.ts';
import { CALL_ID, type Identified } from './answer.ts';
import { singleHeaders } from './request.ts';

/** A call in progress, filled step by step. */
export interface Ongoing {
  readonly id: string;
  /** Epoch ms of arrival. */
  readonly at: number;
  readonly draft: ExchangeDraft;
  /** The ports for this call: they note its upstream calls and rows in the draft. */
  readonly ports: Ports;
  operation: Operation | null;
  token: Secret | null;
  /** Claimed by the token, maybe not verified. */
  merchant_id: string | null;
  /** The verified owner of the token; null until known. */
  proven_id: string | null;
  /** Null for a merchant without a row. */
  merchant: Merchant | null;
  lane: 'legacy' | 'orders';
  /** The orders API refused the token of this proxied call. */
  is_token_refused: boolean;
  /** In force when the lane was chosen; null for a call without a lane. */
  stage: Stage | null;
  path: Record<string, string>;
  /** Slot of the unit that the call names. */
  unit: string | null;
  /** Parsed body, where it was read. */
  body: unknown;
  /** Refused by a brown-out: neither side failed. */
  is_drill: boolean;
  /** Epoch ms when the call was proxied; null when it was not. */
  proxied_at: number | null;
  /** Monotonic instants: durations come from these, because epoch times may be set. */
  proxied_tick_ms: number | null;
  closed_tick_ms: number | null;
  /** The answer of legacy; null while there is none. */
  watched: WatchedAnswer | null;
  /** The row of a create that is being proxied. */
  sale: ProxiedSale | null;
  /** Epoch ms when the till had its answer, or disconnected. */
  closed_at: number | null;
  /** Settles when the call has been served, which may be after the till disconnected. */
  work: Promise<void>;
}

/** The exchanges of a door. */
export interface Exchanges {
  /** Middleware in front of all handlers whose calls are exchanges. */
  open: RequestHandler;
  /** Resolves when the work after all sent answers is done. */
  settled(): Promise<void>;
}

/** @param afterAnswer runs after an answer has left, off the request path; its errors are logged. */
export function createExchanges(
  ports: Ports,
  afterAnswer: (call: Ongoing, request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Exchanges {
  const following = createDrain();
  const follow = async (call: Ongoing, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const ticket = following.begin();
    try {
      await call.work;
      // No till waits for upstream calls from here on.
      call.draft.is_payment = false;
      await afterAnswer(call, request, response);
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown';
      const { legacy_id } = call.draft;
      ports.log.error('what follows an answer failed', {
        ...(legacy_id === null ? {} : { legacy_id }),
        operation: call.operation?.name ?? 'none',
        cause,
      });
    } finally {
      following.done(ticket);
    }
  };
  return {
    open: (request, response, next) => {
      const call = openCall(ports);
      (request as Called)[CALL] = call;
      (request as Identified)[CALL_ID] = call.id;
      response.once('close', () => {
        call.closed_at = ports.clock.now();
        call.closed_tick_ms = performance.now();
        const done = follow(call, request, response);
        // After a till disconnected, the remaining work may take long, so `evidence.settled` does not wait for it.
        if (response.writableFinished) ports.evidence.coming(done);
      });
      next();
    },
    settled: following.settled,
  };
}

/**
 * The call is a property of its request: values of a WeakMap survive a young collection even when their key is gone,
 * and the collector's threads would take a third more for each read of a terminal sale.
 */
const CALL = Symbol('call');
type Called = IncomingMessage & { [CALL]?: Ongoing };

/** The exchange of a request. @throws Error for a request of a door without exchanges. */
export function ongoingOf(request: IncomingMessage): Ongoing {
  const call = (request as Called)[CALL];
  if (call === undefined) throw new Error('the request has no exchange: its door opens none');
  return call;
}

/** Settles when the call of a request has been served; at once for a request without an exchange. */
export function workOf(request: IncomingMessage): Promise<void> {
  return (request as Called)[CALL]?.work ?? Promise.resolve();
}

/** Observes the proxied answer of a request. Runs in a hook of the proxy library, so it must not throw. */
export function watchCall(request: IncomingMessage, answer: IncomingMessage): void {
  const call = (request as Called)[CALL];
  if (call !== undefined) call.watched = watchAnswer(answer);
}

const NOTHING_YET = Promise.resolve();

function openCall(ports: Ports): Ongoing {
  const at = ports.clock.now();
  const draft = openDraft(performance.now());
  return {
    id: ports.memory.ids.legacyId(at),
    at,
    draft,
    ports: forExchange(ports, draft),
    operation: null,
    token: null,
    merchant_id: null,
    proven_id: null,
    merchant: null,
    lane: 'legacy',
    is_token_refused: false,
    stage: null,
    path: {},
    unit: null,
    body: undefined,
    is_drill: false,
    proxied_at: null,
    proxied_tick_ms: null,
    closed_tick_ms: null,
    watched: null,
    sale: null,
    closed_at: null,
    work: NOTHING_YET,
  };
}

// Observes an answer of the legacy upstream, without changing or delaying a byte of it.

/** The largest legacy answer of use, a page of fifty sales, is below 256 KiB; a larger one is proxied unread. */
const MAX_WATCHED_BYTES = 256 * 1024;
/** Longest decompressed answer; only a decompression bomb is longer. */
const MAX_UNPACKED_BYTES = 2 * 1024 * 1024;

/** A proxied answer, complete or still arriving. */
interface WatchedAnswer {
  status: number;
  headers: Record<string, string>;
  /** Chunks so far; null for an answer that is too long. */
  chunks: Buffer[] | null;
  length: number;
  /** True once the answer is complete; stays false when it breaks off. */
  whole: boolean;
}

/** Keeps references to the chunks, and can't throw. Set in the tick of the pipe, so that both get every byte. */
function watchAnswer(answer: IncomingMessage): WatchedAnswer {
  const watched: WatchedAnswer = {
    status: answer.statusCode ?? 0,
    headers: singleHeaders(answer),
    chunks: [],
    length: 0,
    whole: false,
  };
  answer.on('data', (chunk: Buffer) => {
    watched.length += chunk.length;
    if (watched.length > MAX_WATCHED_BYTES) watched.chunks = null;
    else watched.chunks?.push(chunk);
  });
  answer.once('end', () => {
    watched.whole = answer.complete;
  });
  return watched;
}

/** The body as parsed JSON, else as text; null when unreadable. Never throws; runs after the answer has left. */
export async function bodyOf(watched: WatchedAnswer): Promise<unknown> {
  if (!watched.whole || watched.chunks === null) return null;
  try {
    const bytes = await unpacked(Buffer.concat(watched.chunks), watched.headers['content-encoding']);
    return bytes === null ? null : readBody(bytes);
  } catch {
    return null;
  }
}

/** @throws TypeError when the bytes are not UTF-8. */
function readBody(bytes: Buffer): unknown {
  const text = decodeUtf8(bytes);
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const limit = { maxOutputLength: MAX_UNPACKED_BYTES };
const unpackers: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: (bytes) => promisify(gunzip)(bytes, limit),
  'x-gzip': (bytes) => promisify(gunzip)(bytes, limit),
  // Some servers send the raw stream, without the zlib envelope (RFC 9110 §8.4.1.2).
  deflate: (bytes) => promisify(inflate)(bytes, limit).catch(() => promisify(inflateRaw)(bytes, limit)),
  br: (bytes) => promisify(brotliDecompress)(bytes, limit),
  zstd: (bytes) => promisify(zstdDecompress)(bytes, limit),
};

/** Null for an unsupported content encoding, or several of them. */
async function unpacked(bytes: Buffer, encoding: string | undefined): Promise<Buffer | null> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity' || bytes.length === 0) return bytes;
  return (await unpackers[name]?.(bytes)) ?? null;
}

// The merchant of a call, as far as it is known without a network call, and what its settings say.

/** Names the merchant by the token's claim or last owner. Never throws: calls are proxied also without the store. */
export async function nameCaller(ports: Ports, call: Ongoing, token: Secret | null): Promise<void> {
  call.token = token;
  if (token === null) return;
  try {
    await nameMerchant(ports, call, claimedMerchant(token) ?? (await rememberedMerchant(ports, token)));
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'unknown';
    ports.log.warn('the merchant of a proxied call could not be read', {
      merchant: call.merchant_id ?? 'none',
      cause,
    });
  }
}

/** @throws PuenteError of the store. */
export async function nameMerchant(ports: Ports, call: Ongoing, merchant_id: string | null): Promise<void> {
  call.merchant_id = merchant_id;
  if (merchant_id !== null) setMerchant(ports, call, await ports.store.merchants.merchant(merchant_id));
}

/** From here on the exchange is recorded as the merchant's settings say. */
export function setMerchant(ports: Ports, call: Ongoing, merchant: Merchant | null): void {
  call.merchant = merchant;
  call.merchant_id = merchant?.id ?? call.merchant_id;
  call.draft.rules = {
    captured: merchant?.settings.capture ?? ports.settings.merchants.capture,
    unknown_field: policyOf(ports, merchant, 'unknown_field'),
  };
}

/** The merchant's policy for unknown input, or the default. */
export function policyOf(
  ports: Ports,
  merchant: Merchant | null,
  what: 'unknown_endpoint' | 'unknown_field' | 'unknown_header',
): UnknownPolicy {
  return merchant?.settings[what] ?? ports.settings.merchants[what];
}
