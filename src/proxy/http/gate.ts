/** The gate of the public door: a call that is too much is told so before anything of it is read, asked or written. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { matchPath } from '../../mapping/path-pattern.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { Runtime } from '../runtime.ts';
import type { Store } from '../store.ts';
import type { Admission, CallClass } from './admission.ts';
import { sendAnswer } from './answer.ts';
import { isHeldBack } from './expect.ts';
import { refused } from './legacy-answer.ts';
import { workOf } from './ongoing.ts';
import { familyOf } from './passthrough.ts';
import { readToken } from './request.ts';

/** Tills and upstream try again after so long; by then what is under way is mostly done. */
const RETRY_AFTER_S = 1;
/** A short body is taken in and thrown away, so that the connection stays for the next try. */
const SHORT_BODY_BYTES = 8_192;
const WEBHOOK_PATH = '/webhooks/orders';

/**
 * Whose call it is is told by its token alone: addresses and `X-Forwarded-For` are anybody's to choose, and are never
 * looked at (`reliability.md` F99, F100).
 */
export function admissionGate(
  runtime: Pick<Runtime, 'tables' | 'vault' | 'store'>,
  admission: Admission,
): RequestHandler {
  const classOf = callClasses(runtime.tables.operations);
  const admit = (fingerprint: string | null, ...[request, response, next]: Handled): void => {
    if (response.closed) return;
    const kind = classOf(request.method, request.url);
    const come = request.complete ? NOTHING : admission.upload(kind, fingerprint);
    const leave = come === null ? null : admission.enter(kind, fingerprint);
    if (come === null || leave === null) {
      come?.();
      shed(request, response);
      return;
    }
    request.once('end', come);
    response.once('close', () => {
      come();
      workOf(request).then(leave, leave); // a create goes on when its till has gone
    });
    next();
  };
  return (...handled) => {
    const token = readToken(handled[0]);
    const fingerprint = token === null ? null : runtime.vault.fingerprint(token);
    if (fingerprint === null || !admission.isCrowdedOut(fingerprint)) return admit(fingerprint, ...handled);
    void recognise(runtime.store, admission, fingerprint).finally(() => admit(fingerprint, ...handled));
  };
}

const NOTHING = (): void => undefined;
type Handled = Parameters<RequestHandler>;

/** A start has forgotten whose tokens are good; a flood of invented ones must not keep theirs out until they are told again. */
async function recognise(store: Pick<Store, 'token'>, admission: Admission, fingerprint: string): Promise<void> {
  try {
    if ((await store.token(fingerprint)) !== null) admission.noteKnown(fingerprint);
  } catch {
    // A store that can't be read says nothing for the token.
  }
}

/** It makes, cancels or refunds something. */
export function isPayment({ method, kind }: Pick<Operation, 'method' | 'kind'>): boolean {
  return method !== 'GET' && kind !== 'devices';
}

/** Of these methods nothing is made, cancelled or refunded. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * What a call is, by method and path. What no table knows is carried, and may be a payment at legacy: it counts as one
 * unless its method only reads, and whoever floods with it has only its own room.
 */
export function callClasses(operations: readonly Operation[]): (method: string, target: string) => CallClass {
  const harmless = operations.filter(({ method, kind }) => method !== 'GET' && kind === 'devices');
  return (method, target) => {
    if (READING.has(method)) return 'read';
    const asked = target.split('?', 1)[0] ?? '';
    if (method === 'POST' && matchPath(WEBHOOK_PATH, asked) !== null) return 'event';
    const is_harmless = harmless.some((one) => one.method === method && matchPath(one.path, asked) !== null);
    return is_harmless ? 'read' : 'payment';
  };
}

function shed(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  const stays =
    response.shouldKeepAlive && !isHeldBack(request) && encoding === undefined && Number(length) <= SHORT_BODY_BYTES;
  const headers = { 'retry-after': String(RETRY_AFTER_S), ...(stays ? { connection: 'keep-alive' } : {}) };
  sendAnswer(response, refused(familyOf(request.url ?? ''), 'unavailable', null, headers));
}
