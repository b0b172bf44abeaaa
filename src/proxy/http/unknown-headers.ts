/** Headers of translated calls that no table knows: they never reach the order, so whoever sends them should know. */
import type { IncomingMessage } from 'node:http';
import { unknownHeaderNames } from './known-headers.ts';

/** Lower-case names, each once. */
export function unknownHeaders(request: IncomingMessage): string[] {
  return unknownHeaderNames(Object.keys(request.headers));
}
