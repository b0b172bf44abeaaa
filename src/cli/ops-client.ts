/** Calls the ops door of a running Puente; every refusal becomes one sentence with the repair in it. */
import { request } from 'undici';
import { PuenteError } from '../error.ts';

const DEFAULT_URL = 'http://127.0.0.1:8081';
/** An operator at a prompt should not wait longer for a local call. */
const TIMEOUT_MS = 15_000;

export interface OpsAddress {
  ops?: string;
}

/**
 * One call on the ops API.
 * @throws PuenteError unauthorized without a usable token, unreachable when nothing answers, or what the door refused.
 */
export async function callOps(
  address: OpsAddress,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
): Promise<unknown> {
  const url = (address.ops ?? process.env.PUENTE_OPS_URL ?? DEFAULT_URL).replace(/\/$/, '');
  const token = process.env.PUENTE_OPS_TOKEN;
  if (token === undefined || token === '') {
    throw new PuenteError('unauthorized', 'Set PUENTE_OPS_TOKEN to the ops token that the start of Puente printed.');
  }
  const answer = await request(url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new PuenteError('unreachable', `No Puente answers at ${url}; start it, or name its ops door with --ops.`, {
      cause: error,
    });
  });
  const value = await answer.body.json().catch(() => null);
  if (answer.statusCode >= 400)
    throw new PuenteError('refused', messageOf(value) ?? `The ops door answered ${answer.statusCode}.`);
  return value;
}

function messageOf(value: unknown): string | null {
  if (value === null || typeof value !== 'object' || !('message' in value)) return null;
  return typeof value.message === 'string' ? value.message : null;
}
