/** Calls the ops door of a running Puente; every refusal becomes one sentence that contains the repair. */
import type { Dispatcher } from 'undici';
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
  return answer.body.json().catch(() => null);
}

/** A streamed answer in pieces of any size. @throws PuenteError as `callOps`, and unreachable when it is cut off. */
export async function* streamOps(address: OpsAddress, ask: OpsAsk): AsyncGenerator<string, void, undefined> {
  const answer = await send(address, ask, LONG_TIMEOUT_MS);
  const decoder = new TextDecoder();
  try {
    for await (const piece of answer.body) yield decoder.decode(piece as Uint8Array, { stream: true }); // undici yields bytes
    yield decoder.decode();
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
): Promise<Dispatcher.ResponseData> {
  const url = ops.replace(/\/$/, '');
  const token = secretOf('PUENTE_OPS_TOKEN');
  if (token === null) {
    const message = 'Set PUENTE_OPS_TOKEN to your ops token; with the sandbox the start of Puente prints one.';
    throw new PuenteError('unauthorized', message);
  }
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const { request } = await import('undici'); // a hundred modules, which help and completion do not need
  const answer = await request(url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    headersTimeout: timeout_ms,
    bodyTimeout: timeout_ms,
    ...json,
    ...(signal === undefined ? {} : { signal }),
  }).catch((cause: unknown) => {
    const message = `No Puente answers at ${url}; start it, or name its ops door with --ops.`;
    throw new PuenteError('unreachable', message, { cause });
  });
  if (answer.statusCode >= 400) throw refusalOf(answer.statusCode, await answer.body.json().catch(() => null));
  return answer;
}

/** The door's sentence and facts; the fact `error` is the door's error code. */
function refusalOf(status: number, value: unknown): PuenteError {
  const told = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const facts = Object.fromEntries(told.filter(([name]) => name !== 'message'));
  const message = told.find(([name]) => name === 'message')?.[1];
  const sentence = typeof message === 'string' ? message : `The ops door answered ${status}.`;
  return new PuenteError('refused', sentence, { facts: { ...facts, status } });
}
