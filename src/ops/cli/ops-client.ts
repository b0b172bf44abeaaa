/** Calls the ops door of a running Puente; every refusal becomes one sentence that contains the repair. */
import type { IncomingMessage, RequestOptions } from 'node:http';
import { json } from 'node:stream/consumers';
import { PuenteError } from '../../error.ts';
import { secretOf } from './environment.ts';

/** The defaults of `ops.host` and `ops.port` in `config/default.yaml`. */
export const USUAL_OPS_URL = 'http://127.0.0.1:8081';
/** An operator at a prompt should not wait longer for a local call. */
const TIMEOUT_MS = 15_000;
/** Longest pause between two parts of the answer of long work. */
export const LONG_TIMEOUT_MS = 600_000;

export interface OpsAddress {
  ops?: string;
}

export interface OpsAsk {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Includes the query. */
  path: string;
  body?: unknown;
  signal?: AbortSignal;
}

/** @throws PuenteError unauthorized without a token, unreachable without an answer, refused with the door's facts. */
export async function callOps(address: OpsAddress, ask: OpsAsk, is_long = false): Promise<unknown> {
  const answer = await send(address, ask, is_long ? LONG_TIMEOUT_MS : TIMEOUT_MS);
  return json(answer).catch(() => null);
}

/** A streamed answer in pieces of any size. @throws PuenteError as `callOps`, and unreachable when it is cut off. */
export async function* streamOps(address: OpsAddress, ask: OpsAsk): AsyncGenerator<string, void, undefined> {
  const answer = await send(address, ask, LONG_TIMEOUT_MS);
  answer.setEncoding('utf8');
  try {
    for await (const piece of answer) yield piece as string; // in the encoding that is set
  } catch (cause) {
    const message = 'The answer was cut off and is incomplete; the log of Puente says why.';
    throw new PuenteError('unreachable', message, { cause });
  }
}

/** The values of a streamed `application/x-ndjson` answer. @throws PuenteError as `streamOps`. */
export async function* linesOfOps(address: OpsAddress, ask: OpsAsk): AsyncGenerator<unknown, void, undefined> {
  let rest = '';
  for await (const piece of streamOps(address, ask)) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line);
  }
  if (rest !== '') yield JSON.parse(rest);
}

async function send(
  { ops = USUAL_OPS_URL }: OpsAddress,
  { method, path, body, signal }: OpsAsk,
  timeout_ms: number,
): Promise<IncomingMessage> {
  const url = ops.replace(/\/$/, '');
  const token = secretOf('PUENTE_OPS_TOKEN');
  if (token === null) {
    const message = 'Set PUENTE_OPS_TOKEN to your ops token; with the sandbox the start of Puente prints one.';
    throw new PuenteError('unauthorized', message);
  }
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const options = { method, headers, ...(signal === undefined ? {} : { signal }) };
  const answer = await answerTo(url + path, options, body, timeout_ms).catch((cause: unknown) => {
    if (cause instanceof PuenteError) throw cause;
    const scheme = url.includes('://') ? '' : `, with its scheme: http://${url}`;
    const message = `No Puente answers at ${url}; start it, or name its ops door with --ops${scheme}.`;
    throw new PuenteError('unreachable', message, { cause });
  });
  const { statusCode = 0 } = answer; // every answer has one
  if (statusCode >= 400) throw refusalOf(statusCode, await json(answer).catch(() => null));
  return answer;
}

/**
 * The answer once its head is there. By Node's own client, not imported, which would load its undici too: that takes longer than a call.
 * @throws PuenteError unreachable once the door has the request, which may be carried out without an answer.
 */
function answerTo(url: string, options: RequestOptions, body: unknown, timeout_ms: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
    const sent = request(url, { ...options, timeout: TIMEOUT_MS }, resolve);
    // Long work is waited for once the door has the request; until then a silent network is one without a Puente.
    let is_sent = false;
    sent.once('finish', () => {
      is_sent = true;
      sent.setTimeout(timeout_ms);
    });
    sent.once('timeout', () => sent.destroy(new Error(`no part of an answer within ${timeout_ms} ms`)));
    const noAnswer = (cause: Error): PuenteError => {
      const change = options.method === 'GET' ? '' : ' It may be under way, or done: look before you repeat it.';
      const message = `${new URL(url).origin} has taken the request and not answered it (${cause.message}).${change} If that is not the ops door of Puente, name it with --ops, its http:// or https:// included.`;
      return new PuenteError('unreachable', message, { cause });
    };
    sent.once('error', (cause) => reject(is_sent ? noAnswer(cause) : cause));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The door's sentence and facts; the fact `error` is the door's error code. */
function refusalOf(status: number, value: unknown): PuenteError {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const facts = Object.fromEntries(entries.filter(([name]) => name !== 'message'));
  const message = entries.find(([name]) => name === 'message')?.[1];
  const sentence = typeof message === 'string' ? message : `The ops door answered ${status}.`;
  return new PuenteError('refused', sentence, { facts: { ...facts, status } });
}
