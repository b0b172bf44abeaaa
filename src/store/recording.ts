/** Recording exchanges: each once, and all its sums in the same transaction. */

import { PuenteError } from '../error.ts';
import type { RecordedExchange } from '../proxy/records/evidence.ts';
import type { Room } from '../proxy/records/upkeep.ts';
import type { Store } from '../proxy/store.ts';
import type { CommitResult, Reader, Writer } from './engine.ts';
import { storeFailed } from './failure.ts';
import { EXCHANGES_LOCK } from './locks.ts';
import { type NameKeeper, nameKeeper } from './names.ts';
import { sumSteps } from './sums.ts';
import type { Step } from './unit.ts';

/** One that is told again has the same time: where rows lie by their time, only those of a batch's own are looked at. */
export const KNOWN_IDS = `SELECT id FROM exchanges INDEXED BY sqlite_autoindex_exchanges_1
  WHERE id IN (SELECT value FROM json_each(?)) AND at >= (SELECT ?) AND at <= (SELECT ?)`;

/**
 * Calls where no token told whose they are, and calls of no operation, count in no sum but the unknown names.
 * @param rowsOf what writes the rows of a batch, in the engine's own way, and notes where they lie.
 */
export function recordingMethods(
  reader: Reader,
  writer: Writer,
  room: () => Room,
  rowsOf: (batch: readonly RecordedExchange[]) => Step[],
): Pick<Store, 'recordExchanges'> {
  const knownIds = reader.prepare<[string, number, number], { id: string }>(KNOWN_IDS);
  const keepNames = nameKeeper(reader);
  let writing: Promise<void> = Promise.resolve();

  /** Each once. A batch that is told again is the exception: what is known of it is only looked for when a rule was broken. */
  async function record(batch: readonly RecordedExchange[]): Promise<void> {
    const once = [...new Map(batch.map((exchange) => [exchange.id, exchange])).values()];
    if ((await add(once)).kind === 'done') return;
    const known = await knownOf(once);
    const fresh = once.filter((exchange) => !known.has(exchange.id));
    const result = await add(fresh);
    if (result.kind === 'done') return;
    const cause = result.kind === 'constraint' ? result.text : result.kind;
    throw new PuenteError('store_failed', `${fresh.length} exchanges were not recorded (${cause}): record them again.`);
  }

  /** All in one unit. An id that is there already breaks the rule that ids are unique: no sum counts it twice. */
  async function add(batch: readonly RecordedExchange[]): Promise<CommitResult> {
    if (batch.length === 0) return { kind: 'done' };
    const names = await keepNames(batch);
    const named = batch.map((one) => withDifferences(one, names));
    return writer.commit({
      steps: [...rowsOf(named), ...sumSteps(named, names)],
      locks: { alone: [EXCHANGES_LOCK] },
    });
  }

  async function knownOf(batch: readonly RecordedExchange[]): Promise<Set<string>> {
    const ids = JSON.stringify(batch.map((exchange) => exchange.id));
    const times = batch.map((exchange) => exchange.at).sort((one, other) => one - other);
    const rows = await knownIds.all(ids, times[0] ?? 0, times.at(-1) ?? 0);
    return new Set(rows.map((row) => row.id));
  }

  return {
    recordExchanges(batch) {
      // What is left of the disk is for payments: evidence waits, and is left out and counted when it waits for too long.
      if (room().level !== 'enough') return Promise.reject(storeFailed('full', 'the disk is nearly full'));
      // One after the other, because which names are kept already is read before a batch is summed.
      const written = writing.then(() => record(batch));
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

/** Its row names the groups under which its differences are counted, so that reports find them. */
function withDifferences(one: RecordedExchange, names: NameKeeper): RecordedExchange {
  const { merchant_id, differences } = one;
  if (merchant_id === null || differences.length === 0) return one;
  return { ...one, differences: differences.map((difference) => names.difference(merchant_id, difference)) };
}
