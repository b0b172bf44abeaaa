/** How much memory a value holds on to, roughly and quickly, so that what waits can be bounded in bytes. */

import type { ShadowTask } from '../runtime.ts';
import type { Exchange } from './exchange.ts';

/** An object, its keys aside; what V8 takes for a small one. */
const OBJECT_BYTES = 48;
const NUMBER_BYTES = 8;
/** An exchange without messages: ids, times, the names of some twenty rows. */
const EXCHANGE_BYTES = 1_500;

export function exchangeBytes(exchange: Exchange): number {
  return EXCHANGE_BYTES + (exchange.messages === null ? 0 : bytesOf(exchange.messages));
}

/** The captured messages of a task are those of its exchange, or go into it. */
export function taskBytes({ exchange, request, legacy_body, messages }: ShadowTask): number {
  return exchangeBytes({ ...exchange, messages }) + bytesOf(request) + bytesOf(legacy_body);
}

/** Depth is bounded by the parsers that made the value (`contract/json.ts`). */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length * 2;
  if (value === null || typeof value !== 'object') return NUMBER_BYTES;
  let sum = OBJECT_BYTES;
  for (const [key, inner] of Object.entries(value)) sum += key.length * 2 + bytesOf(inner);
  return sum;
}
