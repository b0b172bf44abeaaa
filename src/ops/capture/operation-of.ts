/** Finds the operation of a captured request by the legacy routes, and splits the request for the tables. */
import { readQuery } from '../../contract/legacy-body.ts';
import type { Operation, Tables } from '../../mapping/tables.ts';
import type { Exchange, ShadowTask } from '../../proxy/evidence/exchange.ts';
import type { CapturedMessages } from '../../proxy/evidence/redact.ts';
import type { ShadowTools, shadowInput } from '../../proxy/shadow/shadow.ts';
import { Secret } from '../../proxy/vault.ts';

export interface Match {
  operation: Operation;
  /** Decoded path parameters. */
  path: Record<string, string>;
}

/** @returns a function of method and path (without query), which returns null when no operation matches. */
export function matcherOf(operations: readonly Operation[]): (method: string, path: string) => Match | null {
  const byShape = new Map<string, { operation: Operation; parts: string[] }[]>();
  for (const operation of operations) {
    for (const path of pathsOf(operation)) {
      const parts = path.split('/');
      const shape = `${operation.method} ${parts.length}`;
      byShape.set(shape, [...(byShape.get(shape) ?? []), { operation, parts }]);
    }
  }
  return (method, path) => {
    const given = path.split('/');
    // The door answers HEAD as GET, without the body.
    const shape = `${method === 'HEAD' ? 'GET' : method} ${given.length}`;
    for (const { operation, parts } of byShape.get(shape) ?? []) {
      const found = fill(parts, given);
      if (found !== null) return { operation, path: found };
    }
    return null;
  };
}

/** Legacy accepts some paths with a trailing slash (`docs/field-notes.md` QR §2, §3). */
function pathsOf({ family, path }: Operation): string[] {
  const mayEndSo = family === 'payments' || /^\/merchant_orders\/./.test(path);
  return mayEndSo ? [path, `${path}/`] : [path];
}

function fill(parts: readonly string[], given: readonly string[]): Record<string, string> | null {
  const found: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== value) return null;
      continue;
    }
    const text = decoded(value);
    if (text === null || text === '') return null;
    found[part.slice(1)] = text;
  }
  return found;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

// A captured request in the parts that the tables translate.

/** @returns null when no operation matches. */
export function requestOf(
  match: ReturnType<typeof matcherOf>,
  { method, target, headers, body }: CapturedMessages['request'],
): { operation: Operation; request: ShadowTask['request'] } | null {
  const [, path = '', query_text = ''] = /^([^?]*)\??(.*)$/s.exec(target) ?? [];
  const found = match(method, path);
  if (found === null) return null;
  const query = Object.fromEntries(readQuery(query_text));
  return { operation: found.operation, request: { path: found.path, query, headers, body: body ?? undefined } };
}

/** @param site null when unknown. */
export function taskOf(
  exchange: Exchange,
  request: ShadowTask['request'],
  site: string | null,
  voucher: ShadowTask['voucher'],
): ShadowTask {
  const { messages } = exchange;
  return { exchange, request, legacy_body: messages?.answer.body ?? null, token: NO_TOKEN, site, voucher, messages };
}

/** A placeholder: nothing here makes a network call. */
const NO_TOKEN = new Secret('none');

// A captured exchange with all that a replay on paper needs.

export interface ReplayTools extends ShadowTools {
  /** Today's tables. */
  tables: Tables;
}

export interface ExchangeTools extends ReplayTools {
  match: ReturnType<typeof matcherOf>;
}

export interface Again {
  tools: ExchangeTools;
  exchange: Exchange;
  messages: CapturedMessages;
  task: ShadowTask;
  input: ReturnType<typeof shadowInput>;
}
