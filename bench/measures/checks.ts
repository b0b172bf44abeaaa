/** Proof that the figures count real work: answers, upstream's requests and stored rows must be equal in number. */
import { BARE_TRANSLATION, GATEWAY, PUENTE, PUENTE_BESIDE, TRANSLATION_WITH_ROWS } from '../contestants/contestants.ts';
import type { Seen } from '../upstream/start.ts';
import type { Databases } from './databases.ts';

export interface Check {
  what: string;
  expected: number;
  found: number;
}

export const WITH_ORDER = 'SELECT count(*) FROM links WHERE order_id IS NOT NULL';
const LEFT_OUT = "SELECT coalesce(sum(count), 0) FROM shed WHERE reason = 'evidence'";
/** Contestants whose creates become orders, with the words for their rows; all others only proxy. */
const ROWS: Readonly<Record<string, { of: string; question: string }>> = {
  [PUENTE]: { of: '', question: WITH_ORDER },
  [PUENTE_BESIDE]: { of: ' beside', question: WITH_ORDER },
  [BARE_TRANSLATION]: { of: ' of the bare translation', question: `${WITH_ORDER} AND body IS NULL` },
  [TRANSLATION_WITH_ROWS]: {
    of: ' of the translation with rows',
    question: `${WITH_ORDER} AND sealed_body IS NULL`,
  },
};

/** @param created creates answered 2xx, by contestant; all contestants have stopped. */
export async function checkCounts(
  field: readonly string[],
  databases: Pick<Databases, 'count'>,
  seen: Seen,
  created: ReadonlyMap<string, number>,
): Promise<Check[]> {
  const checks: Check[] = [];
  const all = [...created.values()].reduce((sum, count) => sum + count, 0);
  let orders = 0;
  for (const [contestant, { of, question }] of Object.entries(ROWS)) {
    if (!field.includes(contestant)) continue;
    const made = created.get(contestant) ?? 0;
    orders += made;
    const what = `rows with their order in the database${of}`;
    checks.push({ what, expected: made, found: await databases.count(contestant, question) });
    // A call without its evidence would be cheaper than a real one.
    if (contestant === PUENTE || contestant === PUENTE_BESIDE) {
      const found = await databases.count(contestant, LEFT_OUT);
      checks.push({ what: `exchanges${of} that were left out`, expected: 0, found });
    }
  }
  const completed = created.get(GATEWAY) ?? 0;
  if (field.includes(GATEWAY))
    checks.push({
      what: 'completions upstream, translated by the gateway',
      expected: completed,
      found: seen.completions,
    });
  return [
    ...checks,
    { what: 'orders made upstream', expected: orders, found: seen.orders.length },
    { what: 'different idempotency keys upstream', expected: orders, found: seen.keys },
    { what: 'different sales upstream', expected: orders, found: new Set(seen.orders).size },
    { what: 'untouched creates upstream', expected: all - orders - completed, found: seen.intents },
    { what: 'requests that the upstream did not know', expected: 0, found: seen.unknown },
  ];
}
