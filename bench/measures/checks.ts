/** Proof that the figures count real work: what was answered, what the upstream saw and what is on disk must be equal. */
import { BARE_TRANSLATION, PUENTE, PUENTE_BESIDE, TRANSLATION_WITH_ROWS } from '../contestants/contestants.ts';
import type { Seen } from '../upstream/start.ts';
import type { Databases } from './databases.ts';

export interface Check {
  what: string;
  expected: number;
  found: number;
}

/** Creates that were answered 2xx. */
export interface Created {
  by_puente: number;
  by_puente_beside: number;
  by_bare_translation: number;
  by_translation_with_rows: number;
  untouched: number;
}

export const NOTHING_CREATED: Readonly<Created> = {
  by_puente: 0,
  by_puente_beside: 0,
  by_bare_translation: 0,
  by_translation_with_rows: 0,
  untouched: 0,
};

/** @param field the names of all that took part, stopped. */
export async function checkCounts(
  field: readonly string[],
  databases: Pick<Databases, 'count'>,
  seen: Seen,
  { by_puente, by_puente_beside, by_bare_translation, by_translation_with_rows, untouched }: Created,
): Promise<Check[]> {
  const orders = by_puente + by_puente_beside + by_bare_translation + by_translation_with_rows;
  const rows = (contestant: string, what: string, expected: number, question: string): Promise<Check[]> =>
    field.includes(contestant)
      ? databases.count(contestant, question).then((found) => [{ what, expected, found }])
      : Promise.resolve([]);
  return [
    ...(await rows(PUENTE, 'rows with their order in the database', by_puente, WITH_ORDER)),
    // Without its evidence a call is cheaper than it is.
    ...(await rows(PUENTE, 'exchanges that were left out', 0, LEFT_OUT)),
    ...(await rows(PUENTE_BESIDE, 'rows with their order in the database beside', by_puente_beside, WITH_ORDER)),
    ...(await rows(PUENTE_BESIDE, 'exchanges beside that were left out', 0, LEFT_OUT)),
    ...(await rows(
      BARE_TRANSLATION,
      'rows with their order in the database of the bare translation',
      by_bare_translation,
      `${WITH_ORDER} AND body IS NULL`,
    )),
    ...(await rows(
      TRANSLATION_WITH_ROWS,
      'rows with their order in the database of the translation with rows',
      by_translation_with_rows,
      `${WITH_ORDER} AND sealed_body IS NULL`,
    )),
    { what: 'orders made upstream', expected: orders, found: seen.orders.length },
    { what: 'different idempotency keys upstream', expected: orders, found: seen.keys },
    { what: 'different sales upstream', expected: orders, found: new Set(seen.orders).size },
    { what: 'untouched creates upstream', expected: untouched, found: seen.intents },
    { what: 'requests that the upstream did not know', expected: 0, found: seen.unknown },
  ];
}

export const WITH_ORDER = 'SELECT count(*) FROM links WHERE order_id IS NOT NULL';
const LEFT_OUT = "SELECT coalesce(sum(count), 0) FROM shed WHERE reason = 'evidence'";
