/** The only thing a shadow may ask of the outside: a read. Its type has no method, no body and no key, so no create fits into it. */
import type { Secret } from '../secret.ts';

/** The calls of the orders API that read (`interface.md` Endpoints), and a read of the legacy API. */
export const readNames = ['get', 'terminals_list', 'legacy_read'] as const;
export type ReadName = (typeof readNames)[number];

export interface ReadCall {
  name: ReadName;
  /** Absolute path, ids already checked against their pattern. */
  path: string;
  query: Record<string, string>;
  token: Secret;
  timeout_ms: number;
}

/** `answered`: a complete answer; otherwise there is nothing to compare. */
export type ReadOutcome =
  | { kind: 'answered'; status: number; body: unknown }
  | { kind: 'not_sent' | 'broken'; cause: string };

export interface ReadOnlyUpstream {
  /** Reads once. Never throws for what the network does. */
  read(call: ReadCall): Promise<ReadOutcome>;
}
