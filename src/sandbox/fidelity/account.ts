/** A test account at an upstream: bounded calls with its token, and every order that was made in it is ended at last. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { isObject, type Json, parseJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';

/** All probes take some eighty; more is a loop. */
const MOST_CALLS = 200;
/** Each call, and the whole run: an order that must expire waits 30 s. */
const CALL_MS = 15_000;
const RUN_MS = 5 * 60_000;
/** Of its own, so that a run that has reached its bound still ends what it made: all its orders, and for each of them. */
const END_MS = 3 * 60_000;
const CALLS_TO_END = 8;
/** A status may change between the read and the cancel. */
const TRIES_TO_END = 3;
/** Between two reads of an order that is about to change; the pages say within 10 s (`docs/field-notes.md` Orders §6). */
const POLL_MS = 250;
const PATIENCE_MS = 20_000;

export interface Reply {
  status: number;
  /** The code of the first error, in any family's envelope; '' without one. */
  code: string;
  body: Json;
}

interface CallOptions {
  body?: unknown;
  /** Null: a create without one. */
  key?: string | null;
  headers?: Record<string, string>;
  /** False sends no token. */
  is_signed?: boolean;
}

export interface Account {
  /** What upstream has written, fit to be printed: see `withoutToken`. */
  printable(text: string, longest?: number): string;
  /** Calls sent so far, those without an answer too. */
  calls(): number;
  /** @throws PuenteError refused beyond the bounds of the run or after an interrupt, unreachable without an answer. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** `POST /v1/orders` with a new key, unless `options` has one; an order that is or may have been made is ended by `endAll`. */
  create(body: object, options?: CallOptions): Promise<Reply>;
  /** `GET /v1/orders/{id}`. */
  read(id: string): Promise<Reply>;
  /** With a new key, unless `options` has one. */
  cancel(id: string, options?: CallOptions): Promise<Reply>;
  /** Reads a path until its answer holds, at most so long. @returns the last reply. */
  readUntil(path: string, holds: (body: Json) => boolean, patience_ms: number): Promise<Reply>;
  /** Reads an order so. */
  waitFor(id: string, holds: (order: Json) => boolean, patience_ms?: number): Promise<Reply>;
  /** Has `endAll` send this call, for a change whose answer may be lost. @returns a function that marks it as done. */
  owe(what: string, method: string, path: string): () => void;
  /**
   * Cancels what is open, and refunds what the simulator has paid. A create without an answer is sent again with its
   * key, so that its order is known. @returns what could not be ended: ids, references, and what is owed.
   */
  endAll(): Promise<string[]>;
  /** Closes the connections; a call under way fails. */
  close(): Promise<void>;
}

/** A value by path, such as `transactions.payments.0.status`; null where there is none. */
export function at(body: Json, path: string): Json {
  return path.split('.').reduce<Json>((value, name) => {
    if (Array.isArray(value)) return value[Number(name)] ?? null;
    return isObject(value) ? (value[name] ?? null) : null;
  }, body);
}

/** As `at`; '' where there is no text. */
export function textAt(body: Json, path: string): string {
  const value = at(body, path);
  return typeof value === 'string' ? value : '';
}

/** An idempotency key that no call has had. */
export function newKey(): string {
  return randomUUID();
}

/** A shorter piece of a token proves nothing to anybody. */
const TOKEN_PIECE = 8;
const LONGEST_SHOWN = 120;
export const LONGEST_REASON = 400;

/** One line without control characters, at most so long, in which any piece of the token of 8 characters or more is hidden. */
function withoutToken(text: string, token: string, longest = LONGEST_SHOWN): string {
  const line = text.slice(0, longest + token.length).replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ');
  const [lower, secret] = [line.toLowerCase(), token.toLowerCase()];
  let shown = '';
  for (let from = 0; from < line.length; ) {
    let size = 0;
    while (from + size < line.length && secret.includes(lower.slice(from, from + size + 1))) size++;
    const is_secret = size >= Math.min(TOKEN_PIECE, token.length);
    shown += is_secret ? '[token]' : line.charAt(from);
    from += is_secret ? size : 1;
  }
  return shown.length > longest ? `${shown.slice(0, longest)}…` : shown;
}

/** Calls within the bounds of the run, and later within those of its end. */
function openCalls(base_url: string, token: string, now: () => number, stop: AbortSignal) {
  const agent = new Agent({ connect: { timeout: CALL_MS } });
  let bound = { calls: MOST_CALLS, until: now() + RUN_MS, stop: [stop] };
  let count = 0;
  const call: Account['call'] = async (method, path, { body, key, headers, is_signed = true } = {}) => {
    if (bound.stop.some(({ aborted }) => aborted)) throw new PuenteError('refused', 'The run was interrupted.');
    if (++count > bound.calls || now() > bound.until)
      throw new PuenteError(
        'refused',
        `The run has reached its bound of ${MOST_CALLS} calls or ${RUN_MS / 60_000} minutes.`,
      );
    try {
      const answer = await request(base_url + path, {
        method: method as 'GET', // undici's list of methods is narrower
        dispatcher: agent,
        signal: AbortSignal.any([AbortSignal.timeout(CALL_MS), ...bound.stop]),
        headers: {
          ...(is_signed ? { authorization: `Bearer ${token}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(typeof key === 'string' ? { 'x-idempotency-key': key } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const read = bodyOf(await answer.body.text());
      return { status: answer.statusCode, code: codeOf(read), body: read };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = withoutToken(`${method} ${path} had no answer: ${why}.`, token, LONGEST_REASON);
      throw new PuenteError('unreachable', message, { cause: error });
    }
  };
  return {
    call,
    calls: () => count,
    /** From here on only the end of so many things is bounded, and nothing stops it. */
    end(things: number): void {
      bound = { calls: count + things * CALLS_TO_END, until: now() + END_MS, stop: [] };
    },
    close: (): Promise<void> => agent.destroy(),
  };
}

/**
 * @param base_url without a trailing slash. @param stop refuses all calls but those of `endAll`.
 * @throws PuenteError refused beyond the bounds, unreachable without an answer.
 */
export function openAccount(base_url: string, token: string, now: () => number, stop: AbortSignal): Account {
  const { call, calls, end, close } = openCalls(base_url, token, now, stop);
  const made = new Set<string>();
  /** Keys that have made an order: another answer to one of them leaves no doubt. */
  const keys = new Set<string | null>();
  /** Creates that may have made an order which has no known id. */
  const doubts = new Set<Doubt>();
  const owed = new Map<string, { method: string; path: string }>();

  const read: Account['read'] = (id) => call('GET', `/v1/orders/${id}`);
  const cancel: Account['cancel'] = (id, options = {}) =>
    call('POST', `/v1/orders/${id}/cancel`, { key: newKey(), ...options });
  const create: Account['create'] = async (body, { key = newKey(), ...options } = {}) => {
    const doubt = { key, body };
    doubts.add(doubt);
    const reply = await call('POST', '/v1/orders', { ...options, key, body }).catch((error: unknown) => {
      if (error instanceof PuenteError && error.code === 'refused') doubts.delete(doubt); // it was not sent
      throw error;
    });
    const id = madeId(reply);
    if (id !== '') made.add(id);
    if (id !== '' && key !== null) keys.add(key);
    if (id !== '' || keys.has(key) || isRefusal(reply)) doubts.delete(doubt);
    return reply;
  };
  const waitFor: Account['waitFor'] = (id, holds, patience_ms = PATIENCE_MS) =>
    readUntil(`/v1/orders/${id}`, holds, patience_ms);
  const readUntil: Account['readUntil'] = async (path, holds, patience_ms) => {
    const patience = now() + patience_ms;
    for (;;) {
      const reply = await call('GET', path);
      if (holds(reply.body) || now() > patience) return reply;
      await pause(patience_ms > PATIENCE_MS ? POLL_MS * 8 : POLL_MS);
    }
  };
  const account: Omit<Account, 'endAll'> = {
    ...{ call, calls, close, create, read, cancel, waitFor, readUntil },
    printable: (text, longest) => withoutToken(text, token, longest),
    owe(what, method, path) {
      owed.set(what, { method, path });
      return () => void owed.delete(what);
    },
  };
  return {
    ...account,
    async endAll() {
      end(made.size + doubts.size + owed.size);
      const left: string[] = [];
      // First what keeps a terminal busy: a create in doubt would be refused there.
      for (const id of made) if (!(await endOrder(account, id).catch(() => false))) left.push(id);
      for (const doubt of doubts) left.push(...(await endDoubt(account, doubt)));
      for (const [what, { method, path }] of owed) {
        const reply = await call(method, path).catch(() => null);
        if (reply === null || (reply.status >= 300 && !isRefusal(reply))) left.push(what);
      }
      return left.map((one) => withoutToken(one, token));
    },
  };
}

interface Doubt {
  /** Null: sent without one. */
  key: string | null;
  body: object;
}

/** Sends a create again, so that its order is known, and ends it. @returns what is left open. */
async function endDoubt(account: Ending, { key, body }: Doubt): Promise<string[]> {
  const reply = key === null ? null : await account.call('POST', '/v1/orders', { key, body }).catch(() => null);
  const id = reply === null ? '' : madeId(reply);
  if (id !== '') return (await endOrder(account, id).catch(() => false)) ? [] : [id];
  return [`the order with the reference ${textAt(body as Json, 'external_reference')}, if it was made`]; // a body is JSON
}

/** Of the order that a create has made; '' without one. */
function madeId({ status, body }: Reply): string {
  return status < 300 ? textAt(body, 'id') : '';
}

/** True when nothing was done; after a fault or a late request (408) it may have been. */
function isRefusal({ status }: Reply): boolean {
  return status >= 400 && status < 500 && status !== 408;
}

type Ending = Pick<Account, 'call' | 'read' | 'cancel' | 'waitFor'>;
const ENDED = ['canceled', 'refunded', 'failed', 'expired'];

/** Ends one order, whatever its state. @returns false when it stays open, also after an unconfirmed cancel. */
async function endOrder({ call, read, cancel, waitFor }: Ending, id: string): Promise<boolean> {
  for (let nth = 1; nth <= TRIES_TO_END; nth++) {
    const status = textAt((await read(id)).body, 'status');
    if (ENDED.includes(status)) return true;
    if (status === 'created') await cancel(id);
    if (status === 'at_terminal') {
      const { status: canceled } = await cancel(id, { headers: { 'x-allow-cancelable-status': 'at_terminal' } });
      if (canceled === 202) await waitFor(id, (order) => textAt(order, 'status') !== status);
    }
    if (status === 'processed') {
      const refund = await call('POST', `/v1/orders/${id}/refund`, { key: newKey() });
      if (refund.status < 300) return true;
    }
    if (status === 'action_required') {
      // No cancel takes it; the simulator does, or answers 400 for an order that never changes again.
      const event = await call('POST', `/v1/orders/${id}/events`, { body: { status: 'canceled' } });
      if (event.status === 400) return true;
    }
  }
  return ENDED.includes(textAt((await read(id)).body, 'status'));
}

function bodyOf(text: string): Json {
  try {
    return parseJson(text) as Json;
  } catch {
    return text;
  }
}

function codeOf(body: Json): string {
  for (const path of ['errors.0.code', 'code', 'error', 'cause.0.code']) {
    const value = at(body, path);
    if (typeof value === 'string' || typeof value === 'number') return String(value);
  }
  return '';
}
