/** Looks up the addresses of a receiver's host, so that a slow name delays no other call. */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a host name; tests hand in their own. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Per DNS server; the second try takes longer. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** Limit of the whole lookup, which must end well before the sender's limit for connecting (10 s). */
const LONGEST_MS = 6_000;
/** Wait for the other family once one has an address: some name servers never answer for IPv6. */
const OTHER_FAMILY_MS = 300;
/** New servers are used within this time after a change of network. */
const SERVERS_KEPT_MS = 5_000;
const NOTHING_THERE: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/** For tests. */
interface ResolverParts {
  /** Replaces the servers of this machine. */
  servers?: () => readonly string[];
  longest_ms?: number;
  /** Monotonic, ms. */
  now?: () => number;
}

/**
 * Queries the DNS servers directly. The system's lookup blocks one of a few threads that upstream's name needs too: a
 * merchant whose names never answer could block all sales. One family with an address is enough. Rejects with ENOTFOUND
 * or EAI_AGAIN, as the system's lookup does.
 */
export function publicResolver({
  servers,
  longest_ms = LONGEST_MS,
  now = () => performance.now(),
}: ResolverParts = {}): Resolve {
  const open = (): Resolver => {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers());
    return resolver;
  };
  const current = currentServers(open, now);
  return async (hostname) => {
    const resolver = current.resolver();
    const queries = [
      resolver.resolve4(hostname).then(...answerOf(4)),
      resolver.resolve6(hostname).then(...answerOf(6)),
    ] as const;
    const answers = await inTime(queries, longest_ms);
    const found = answers.flatMap((answer) => answer.found).sort((one, other) => one.family - other.family);
    if (found.length > 0) return found;
    const is_nothing = answers.length === queries.length && answers.every(({ code }) => NOTHING_THERE.includes(code));
    // These servers may be those of an earlier network.
    if (!is_nothing) current.doubt();
    throw Object.assign(new Error('no address was found'), { code: is_nothing ? 'ENOTFOUND' : 'EAI_AGAIN' });
  };
}

/** Keeps a resolver while the machine's servers are the same, because it remembers which of them answer. */
function currentServers(open: () => Resolver, now: () => number): { resolver(): Resolver; doubt(): void } {
  let kept = open();
  let looked_at = now();
  return {
    resolver() {
      if (now() - looked_at < SERVERS_KEPT_MS) return kept;
      looked_at = now();
      const fresh = open();
      if (fresh.getServers().join() !== kept.getServers().join()) kept = fresh;
      return kept;
    },
    doubt() {
      looked_at = Number.NEGATIVE_INFINITY;
    },
  };
}

interface Answer {
  found: LookupAddress[];
  /** Empty with addresses. */
  code: string;
}

function answerOf(family: 4 | 6): [(addresses: string[]) => Answer, (error: NodeJS.ErrnoException) => Answer] {
  return [
    (addresses) => ({ found: addresses.map((address) => ({ address, family })), code: '' }),
    (error) => ({ found: [], code: error.code ?? '' }),
  ];
}

/** All answers, or those that arrive shortly after the first one with an address. */
function inTime(queries: readonly Promise<Answer>[], longest_ms: number): Promise<Answer[]> {
  return new Promise((resolve) => {
    const answers: Answer[] = [];
    const end = (): void => {
      clearTimeout(timer);
      resolve([...answers]);
    };
    let timer = setTimeout(end, longest_ms);
    for (const one of queries) {
      void one.then((answer) => {
        answers.push(answer);
        if (answers.length === queries.length) return end();
        if (answer.found.length === 0) return;
        clearTimeout(timer);
        timer = setTimeout(end, Math.min(OTHER_FAMILY_MS, longest_ms));
      });
    }
  });
}

/** The system's lookup, with its hosts file: for a sandbox or a closed network. */
export const systemResolver: Resolve = (hostname) => lookup(hostname, { all: true });
