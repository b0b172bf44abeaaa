/** Recording exchanges: each once, and all its sums in the same transaction. */
import type { RecordedExchange } from '../core/records/evidence.ts';
import type { Room } from '../core/records/upkeep.ts';
import type { Store } from '../core/store.ts';
import { PuenteError } from '../error.ts';
import type { Reader, Writer } from './engine.ts';
import { valuesOfExchange } from './exchange-rows.ts';
import { storeFailed } from './failure.ts';
import { EXCHANGES_LOCK } from './locks.ts';
import { nameKeeper } from './names.ts';
import { sumSteps } from './sums.ts';
import type { Step } from './unit.ts';

/** One that is told again has the same time: where rows lie by their time, only those of a batch's own are looked at. */
export const KNOWN_IDS = `SELECT id FROM exchanges INDEXED BY sqlite_autoindex_exchanges_1
  WHERE id IN (SELECT value FROM json_each(?)) AND at >= (SELECT ?) AND at <= (SELECT ?)`;

/** Calls where no token told whose they are, and calls of no operation, count in no sum but the unknown names. */
export function recordingMethods(reader: Reader, writer: Writer, room: () => Room): Pick<Store, 'recordExchanges'> {
  const knownIds = reader.prepare<[string, number, number], { id: string }>(KNOWN_IDS);
  const keepNames = nameKeeper(reader);
  let writing: Promise<void> = Promise.resolve();

  /** Leaves out what is known, sums the rest, and commits all of it in one unit. */
  async function record(batch: readonly RecordedExchange[]): Promise<void> {
    if (batch.length === 0) return;
    const ids = JSON.stringify(batch.map((exchange) => exchange.id));
    const times = batch.map((exchange) => exchange.at);
    const known = new Set((await knownIds.all(ids, Math.min(...times), Math.max(...times))).map((row) => row.id));
    const once = new Map(batch.map((exchange) => [exchange.id, exchange]));
    const fresh = [...once.values()].filter((exchange) => !known.has(exchange.id));
    if (fresh.length === 0) return;
    const rows = fresh.map((exchange): Step => ({ write: 'insert_exchange', values: valuesOfExchange(exchange) }));
    // An id that came in unseen breaks the rule that ids are unique, and with it the whole unit: no sum counts it twice.
    const result = await writer.commit({
      steps: [...rows, ...sumSteps(fresh, await keepNames(fresh))],
      locks: { alone: [EXCHANGES_LOCK] },
    });
    if (result.kind === 'done') return;
    const cause = result.kind === 'constraint' ? result.text : result.kind;
    throw new PuenteError('store_failed', `${fresh.length} exchanges were not recorded (${cause}): record them again.`);
  }

  return {
    recordExchanges(batch) {
      // What is left of the disk is for payments: evidence waits, and is left out and counted when it waits for too long.
      if (room().level !== 'enough') return Promise.reject(storeFailed('full', 'the disk is nearly full'));
      // One after the other, because what is known already is read before a batch is summed.
      const written = writing.then(() => record(batch));
      writing = written.catch(() => undefined);
      return written;
    },
  };
}
