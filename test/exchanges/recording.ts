/** Tables that report the rows that fired, from which the golden exchanges count their coverage. */
import type { Tables, Translated } from '../../src/mapping/tables.ts';

/** @param fired called with each row, as `table#row`. */
export function recording<T extends Tables>(tables: T, fired: (row: string) => void): T {
  const kept = (translated: Translated): Translated => {
    translated.fired.forEach(fired);
    return translated;
  };
  const recorded: T = {
    ...tables,
    of: () => recorded, // no merchant of an exchange has tables of its own
    request: (...given) => kept(refusing(fired, () => tables.request(...given))),
    answer: (...given) => kept(tables.answer(...given)),
    notice: (...given) => kept(tables.notice(...given)),
    payment: (...given) => kept(tables.payment(...given)),
    collection: (...given) => kept(tables.collection(...given)),
    state: (...given) => {
      const found = tables.state(...given);
      fired(found.row);
      return found;
    },
    error: (...given) => {
      const found = tables.error(...given);
      fired(found.row);
      return found;
    },
  };
  return recorded;
}

/** A row that refuses has fired as well; the refusal contains its id. */
function refusing<Out>(fired: (row: string) => void, translate: () => Out): Out {
  try {
    return translate();
  } catch (error) {
    const { row } = (error as { facts?: { row?: unknown } }).facts ?? {}; // undefined for errors without facts
    if (typeof row === 'string') fired(row);
    throw error;
  }
}
