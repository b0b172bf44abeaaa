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
/** Between two reads of an order that is about to change; the pages say within 10 s (`docs/field-notes.md` Orders §6). */
const POLL_MS = 250;
const PATIENCE_MS = 20_000;

export interface Reply {
  status: number;
  /** The code of the first error, in any family's envelope; '' without one. */
  code: string;
  body: Json;
}

export interface Ask {
  body?: unknown;
  key?: string;
  headers?: Record<string, string>;
  /** False sends no token. */
  is_signed?: boolean;
}

export interface Account {
  /** What upstream has written, fit to be printed: see `withoutToken`. */
  printable(text: string, longest?: number): string;
  calls(): number;
  call(method: string, path: string, ask?: Ask): Promise<Reply>;
  /** `POST /v1/orders` with a new key, unless `ask` has one; an order that is made is ended at the end of the run. */
  create(body: object, ask?: Ask): Promise<Reply>;
  read(id: string): Promise<Reply>;
  /** With a new key, unless `ask` has one. */
  cancel(id: string, ask?: Ask): Promise<Reply>;
  /** Reads the order until it holds, at most so long. @returns the last reply. */
  waitFor(id: string, holds: (order: Json) => boolean, patience_ms?: number): Promise<Reply>;
  /** Cancels what is open, and refunds what the simulator has paid. @returns ids that could not be ended. */
  endAll(): Promise<string[]>;
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

export function newKey(): string {
  return randomUUID();
}

/** A shorter piece of a token proves nothing to anybody. */
const TOKEN_PIECE = 8;
const LONGEST_SHOWN = 120;
export const LONGEST_REASON = 400;

/** One line without control characters, at most so long, in which any piece of the token of 8 characters or more is hidden. */
export function withoutToken(text: string, token: string, longest = LONGEST_SHOWN): string {
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

/** @param base_url without a trailing slash. @throws PuenteError refused beyond the bounds, unreachable without an answer. */
export function openAccount(base_url: string, token: string, now: () => number): Account {
  const agent = new Agent({ connect: { timeout: CALL_MS } });
  const until = now() + RUN_MS;
  const made = new Set<string>();
  let count = 0;

  const call: Account['call'] = async (method, path, { body, key, headers, is_signed = true } = {}) => {
    if (++count > MOST_CALLS || now() > until)
      throw new PuenteError(
        'refused',
        `The run has reached its bound of ${MOST_CALLS} calls or ${RUN_MS / 60_000} minutes.`,
      );
    try {
      const answer = await request(base_url + path, {
        method: method as 'GET', // undici's list of methods is narrower
        dispatcher: agent,
        signal: AbortSignal.timeout(CALL_MS),
        headers: {
          ...(is_signed ? { authorization: `Bearer ${token}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'x-idempotency-key': key }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const read = bodyOf(await answer.body.text());
      return { status: answer.statusCode, code: codeOf(read), body: read };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const told = withoutToken(`${method} ${path} had no answer: ${why}.`, token, LONGEST_REASON);
      throw new PuenteError('unreachable', told, { cause: error });
    }
  };
  const read: Account['read'] = (id) => call('GET', `/v1/orders/${id}`);
  const cancel: Account['cancel'] = (id, ask = {}) =>
    call('POST', `/v1/orders/${id}/cancel`, { key: newKey(), ...ask });
  return {
    printable: (text, longest) => withoutToken(text, token, longest),
    calls: () => count,
    call,
    async create(body, ask = {}) {
      const reply = await call('POST', '/v1/orders', { key: newKey(), ...ask, body });
      const id = textAt(reply.body, 'id');
      if (reply.status < 300 && id !== '') made.add(id);
      return reply;
    },
    read,
    cancel,
    async waitFor(id, holds, patience_ms = PATIENCE_MS) {
      const patience = now() + patience_ms;
      for (;;) {
        const reply = await read(id);
        if (holds(reply.body) || now() > patience) return reply;
        await pause(patience_ms > PATIENCE_MS ? POLL_MS * 8 : POLL_MS);
      }
    },
    async endAll() {
      const left: string[] = [];
      for (const id of made) if (!(await ended({ call, read, cancel }, id).catch(() => false))) left.push(id);
      return left.map((id) => withoutToken(id, token));
    },
    close: () => agent.destroy(),
  };
}

/** Ends one order, whatever its state. @returns false when it stays open. */
async function ended({ call, read, cancel }: Pick<Account, 'call' | 'read' | 'cancel'>, id: string): Promise<boolean> {
  const status = textAt((await read(id)).body, 'status');
  if (status === 'created') return (await cancel(id)).status < 300;
  if (status === 'at_terminal') {
    const headers = { 'x-allow-cancelable-status': 'at_terminal' };
    return (await cancel(id, { headers })).status < 300;
  }
  if (status === 'processed') return (await call('POST', `/v1/orders/${id}/refund`, { key: newKey() })).status < 300;
  return ['canceled', 'refunded', 'failed', 'expired', 'action_required'].includes(status);
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
