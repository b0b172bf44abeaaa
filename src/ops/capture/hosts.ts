/** Which calls of a capture are legacy's: a browser's export and a shared server's log have calls to other hosts. */

/** The two names of the legacy API (`docs/field-notes.md` QR finding 4); tills call either. */
const VENDOR_HOSTS: readonly string[] = ['api.mercadopago.com', 'api.mercadolibre.com'];
/** Calls that wait until it is known whether their host is legacy's, and hosts with a count of their own. */
const MOST_HELD = 200;
const MOST_HOSTS = 200;
/** Hosts that a sentence names. */
const MOST_NAMED = 5;

interface Waiting<Call> {
  calls: number;
  held: Call[];
}

/**
 * A host is legacy's when it is the vendor's, or when one of its calls is an operation, as a proxy of the shop has. Its
 * first calls before that one are held; later ones before it count as foreign.
 * @param named only these hosts are legacy's; empty: as above.
 */
export function createHosts<Call>(named: readonly string[]) {
  const ours = new Set(named.length > 0 ? named : VENDOR_HOSTS);
  const others = new Map<string, Waiting<Call>>();
  let foreign = 0;
  return {
    /** @returns the calls to count now: none, this one, or with those that waited for it. */
    admit(host: string | null, call: Call, is_operation: boolean): Call[] {
      if (host === null || ours.has(host)) return [call];
      const waiting = others.get(host) ?? { calls: 0, held: [] };
      if (is_operation && named.length === 0) {
        ours.add(host);
        const { held } = waiting;
        foreign -= held.length;
        if (waiting.calls === held.length) others.delete(host);
        else others.set(host, { calls: waiting.calls - held.length, held: [] });
        return [...held, call];
      }
      foreign++;
      if (others.has(host) || others.size < MOST_HOSTS) others.set(host, waiting);
      waiting.calls++;
      if (waiting.held.length < MOST_HELD) waiting.held.push(call);
      return [];
    },
    /** Calls to other hosts, which are left out. */
    foreign: () => foreign,
    /** The hosts with most of them, as a sentence; null when nothing was left out. */
    remark(): string | null {
      if (foreign === 0) return null;
      const most = [...others].sort(([, one], [, other]) => other.calls - one.calls);
      const named = most.slice(0, MOST_NAMED).map(([host, { calls }]) => `${host} (${calls})`);
      const more = most.length > MOST_NAMED ? ` and ${most.length - MOST_NAMED} more` : '';
      return `${foreign} calls to other hosts were left out: ${named.join(', ')}${more}. If one of them is how tills reach legacy, name it with --host.`;
    },
  };
}
