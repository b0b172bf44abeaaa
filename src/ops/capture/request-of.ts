/** A captured request in the parts that the tables translate. */
import { readQuery } from '../../contract/legacy-body.ts';
import type { CapturedMessages } from '../../proxy/evidence/exchange.ts';
import type { ShadowTask } from '../../proxy/runtime.ts';
import type { matcherOf } from './match.ts';

/** @returns null for a request that Puente has no operation for. */
export function requestOf(
  match: ReturnType<typeof matcherOf>,
  { method, target, headers, body }: CapturedMessages['request'],
): ShadowTask['request'] | null {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const found = match(method, path);
  if (found === null) return null;
  const query = Object.fromEntries(readQuery(mark === -1 ? '' : target.slice(mark + 1)));
  return { path: found.path, query, headers, body: body ?? undefined };
}
