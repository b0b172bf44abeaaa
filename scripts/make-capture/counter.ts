/** A shop's connection: every call of a till goes through here and is counted, apart from Puente's own counts. */
import { type Answer, type CallParts, send } from '../http.ts';

/** The tills' own count: what they called and how it came out. */
export interface Counts {
  calls: number;
  /** By operation name; '' for calls that Puente has no operation for. */
  operations: Record<string, { calls: number; ok: number }>;
  /** Creates that legacy took, by the family of the sale. */
  made: { point: number; qr: number };
  /** Refunds that legacy took. */
  refunds: number;
}

/** What a till's script is handed. */
export interface Connection {
  merchant: string;
  site: string;
  /** @param operation what the script means to call; '' for what Puente doesn't know. */
  call(operation: string, method: string, target: string, parts?: CallParts): Promise<Answer>;
  /** The person at the terminal or the buyer acts, on the sandbox's control door: no call of the till. */
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
