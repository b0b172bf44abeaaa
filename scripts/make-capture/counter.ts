/** A shop's connection: counts every call of a till, independently of Puente's counts. */
import { type Answer, type CallParts, send } from '../http.ts';

export interface Counts {
  calls: number;
  /** By operation name; '' for a call that is no operation. */
  operations: Record<string, { calls: number; ok: number }>;
  /** Creates that succeeded, by the family of the sale. */
  made: { point: number; qr: number };
  refunds: number;
}

export interface Connection {
  merchant: string;
  site: string;
  /** @param operation the intended operation; '' for a call that is none. */
  call(operation: string, method: string, target: string, parts?: CallParts): Promise<Answer>;
  /** An act of the person at the terminal or the buyer, on the sandbox's control door. */
  act(path: string): Promise<Answer>;
  counts: Counts;
}

export function newCounts(): Counts {
  return { calls: 0, operations: {}, made: { point: 0, qr: 0 }, refunds: 0 };
}

/** @param door the public door of Puente. @param sandbox base URL of the sandbox. */
export function connect(door: string, sandbox: string, merchant: string, site: string, counts: Counts): Connection {
  const authorization = `Bearer APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant}`;
  return {
    merchant,
    site,
    counts,
    async call(operation, method, target, { body, headers } = {}) {
      const answer = await send(method, door + target, { body, headers: { authorization, ...headers } });
      counts.calls++;
      const count = counts.operations[operation] ?? { calls: 0, ok: 0 };
      counts.operations[operation] = count;
      count.calls++;
      if (answer.status < 400) count.ok++;
      return answer;
    },
    act: (path) => send('POST', `${sandbox}/_sandbox${path}`, { body: {} }),
  };
}
