/** The addresses behind a receiver's name, looked up so that names that hang hold up nobody else. */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a host name; handed in by tests. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** How long a DNS server may take; the second try takes about twice as long, and both are well below a notice's 22 s. */
const TIMEOUT_MS = 4_000;
const TRIES = 2;
/** The name, or its addresses, do not exist: that is its owner's fault. */
const NOTHING_THERE: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/**
 * Asks the DNS servers themselves. The system's own lookup waits in one of two threads of this process, behind which the
 * name of the payments service would wait too: a merchant whose names never answer could keep everybody's sales there.
 * @param servers in place of those of this machine. It rejects with ENOTFOUND, or with EAI_AGAIN as the system's would.
 */
export function publicResolver(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    const is_nothing = answers.every((one) => one.status === 'rejected' && NOTHING_THERE.includes(one.reason?.code));
    throw Object.assign(new Error('no address was found'), { code: is_nothing ? 'ENOTFOUND' : 'EAI_AGAIN' });
  };
}

/** What this machine makes of a name, by its hosts file and its own network, too: for a sandbox or a closed network. */
export const systemResolver: Resolve = (hostname) => lookup(hostname, { all: true });
