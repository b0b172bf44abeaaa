/** A request of any legacy family in the parts that its handlers read, and whose it is. */
import type { Request } from 'express';
import { bearerToken, queryOf } from '../auth.ts';
import { bodyBytes } from '../body.ts';
import type { Merchant } from '../cast.ts';
import type { World } from '../world.ts';

export interface Parts {
  /** Owner of the token, which old clients also put into the query (DESIGN decision 12); undefined when it is nobody's. */
  merchant: Merchant | undefined;
  /** A named part of the path; empty when the route has none of that name. */
  path(name: string): string;
  query: URLSearchParams;
  /** Value of a request header, by lower-case name. */
  header(name: string): string | undefined;
  /** Raw bytes; empty where the route reads no body. */
  body: Uint8Array;
}

export function partsOf(world: World, request: Request): Parts {
  const query = queryOf(request);
  return {
    merchant: world.tokens.get(bearerToken(request) ?? query.get('access_token') ?? ''),
    path: (name) => String(request.params[name] ?? ''),
    query,
    header: (name) => request.get(name),
    body: bodyBytes(request),
  };
}
