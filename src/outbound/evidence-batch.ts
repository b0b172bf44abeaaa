/** One batch of exchanges into the store: evaluated in slices, tried again with growing pauses, given up in the end. */
import type { Found } from '../core/evidence/findings.ts';
import type { Exchange } from '../core/exchange.ts';
import type { EvidenceStore, RecordedExchange } from '../core/records/evidence.ts';
import { nextTurn } from '../core/rounds.ts';
import type { Clock, Log, LogFields } from '../core/runtime.ts';

/** Exchanges are evaluated in one go for so long: some hundred reads, or a few dozen creates; calls have their turn in between. */
const SLICE_MS = 1;
/** So many go together once the whole was refused. */
const PIECE = 100;
/** Tries of one batch, and the pause after the first; it grows with each, ten seconds in all. */
const TRIES = 5;
const RETRY_PAUSE_MS = 1_000;

export interface BatchParts {
  store: Pick<EvidenceStore, 'recordExchanges'>;
  evaluate: (exchange: Exchange, found: Found) => RecordedExchange;
  clock: Clock;
  log: Log;
}

/**
 * What was refused goes again in pieces, the first of which goes last: whatever is wrong with one exchange costs few others.
 * @returns the ids of those that the store has refused to the last try.
 */
export async function writeBatch(
  { store, evaluate, clock, log }: BatchParts,
  batch: readonly { exchange: Exchange; found: Found }[],
): Promise<ReadonlySet<string>> {
  const recorded: RecordedExchange[] = [];
  let began_ms = performance.now();
  for (const { exchange, found } of batch) {
    recorded.push(evaluated(evaluate, log, exchange, found));
    if (performance.now() - began_ms < SLICE_MS) continue;
    await nextTurn();
    began_ms = performance.now();
  }
  let pieces = [recorded];
  for (let tries = 1; tries <= TRIES; tries++) {
    try {
      for (; pieces[0] !== undefined; pieces = pieces.slice(1)) await store.recordExchanges(pieces[0]);
      break;
    } catch (error) {
      log.warn('evidence not written', { cause: causeOf(error), attempts: tries, count: pieces.flat().length });
      const [refused = [], ...others] = pieces;
      pieces = [...others, ...piecesOf(refused)];
      if (tries < TRIES) await clock.sleep(RETRY_PAUSE_MS * tries);
    }
  }
  return new Set(pieces.flat().map(({ id }) => id));
}

function piecesOf(batch: RecordedExchange[]): RecordedExchange[][] {
  const count = Math.ceil(batch.length / PIECE);
  return Array.from({ length: count }, (_, index) => batch.slice(index * PIECE, (index + 1) * PIECE));
}

/** One that can't be evaluated is kept as it is: a mistake of ours in one must not cost the others of its batch. */
function evaluated(evaluate: BatchParts['evaluate'], log: Log, exchange: Exchange, found: Found): RecordedExchange {
  try {
    return evaluate(exchange, found);
  } catch (error) {
    log.error('exchange not evaluated', { ...aboutExchange(exchange), cause: causeOf(error) });
    return { ...exchange, limitations: null, cells: [], lost: [], differences: [], compared: false };
  }
}

/** What a log line about an exchange names. */
export function aboutExchange({ legacy_id, operation }: Exchange): LogFields {
  return { ...(legacy_id === null ? {} : { legacy_id }), operation: operation ?? 'none' };
}

export function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
