/** One batch of exchanges into the store: evaluated in slices, tried again with growing pauses, given up in the end. */

import { PuenteError } from '../../error.ts';
import type { EvidenceStore, RecordedExchange } from '../records/evidence.ts';
import { nextTurn } from '../rounds.ts';
import type { Clock, Log, LogFields } from '../runtime.ts';
import type { Exchange } from './exchange.ts';
import type { Found } from './findings.ts';

/** Exchanges are evaluated in one go for so long: some hundred reads, or a few dozen creates; calls have their turn in between. */
const SLICE_MS = 1;
/** Tries while the store takes nothing, and the pause after the first; it grows with each, ten seconds in all. */
const TRIES = 5;
const RETRY_PAUSE_MS = 1_000;
/** Refusals in a row that finding one bad exchange takes at most; after more of them the store may be what is wrong. */
const MOST_REFUSALS = 16;

export interface BatchParts {
  store: Pick<EvidenceStore, 'recordExchanges'>;
  evaluate: (exchange: Exchange, found: Found) => RecordedExchange;
  clock: Clock;
  log: Log;
}

/**
 * What the store refuses goes again in halves, down to the single exchange that is bad: whatever is wrong with one costs no
 * other. A store that is away is waited for.
 * @returns the ids of those that the store has refused to the last try.
 */
export async function writeBatch(parts: BatchParts, batch: readonly WaitingForBatch[]): Promise<ReadonlySet<string>> {
  const { store, clock, log } = parts;
  /** The last one is next. */
  const pieces: Piece[] = [{ exchanges: await evaluatedAll(parts, batch) }];
  const lost: RecordedExchange[] = [];
  let [tries, in_a_row, has_taken] = [1, 0, false];
  for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) {
    try {
      await store.recordExchanges(piece.exchanges);
      [tries, in_a_row, has_taken] = [1, 0, true];
    } catch (error) {
      const told = { cause: causeOf(error), attempts: tries, count: piece.exchanges.length };
      if (isAway(error)) pieces.push(piece);
      else if (piece.exchanges.length > 1) pieces.push(...halvesOf(piece));
      else if (has_taken) {
        // The store takes others, so it is this one.
        log.warn('evidence not written', told);
        lost.push(...piece.exchanges);
        continue;
      } else pieces.unshift({ ...piece, is_refused: true });
      const goes_on = !isAway(error) && ++in_a_row < MOST_REFUSALS && (has_taken || pieces.at(-1)?.is_refused !== true);
      if (goes_on) continue;
      log.warn('evidence not written', told);
      if (tries === TRIES) lost.push(...pieces.splice(0).flatMap(({ exchanges }) => exchanges));
      else await clock.sleep(RETRY_PAUSE_MS * tries++);
      in_a_row = 0;
    }
  }
  return new Set(lost.map(({ id }) => id));
}

interface WaitingForBatch {
  exchange: Exchange;
  found: Found;
}

interface Piece {
  exchanges: RecordedExchange[];
  /** A single exchange that was refused before the store has taken any. */
  is_refused?: true;
}

function halvesOf({ exchanges }: Piece): Piece[] {
  const half = Math.ceil(exchanges.length / 2);
  return [exchanges.slice(half), exchanges.slice(0, half)].map((some) => ({ exchanges: some }));
}

/** What `storeFailed` says of these is nothing that the exchanges have done. */
const AWAY: readonly unknown[] = ['full', 'busy', 'gone', 'fatal'];

function isAway(error: unknown): boolean {
  return error instanceof PuenteError && AWAY.includes(error.facts.failure);
}

async function evaluatedAll(
  { evaluate, log }: BatchParts,
  batch: readonly WaitingForBatch[],
): Promise<RecordedExchange[]> {
  const recorded: RecordedExchange[] = [];
  let began_ms = performance.now();
  for (const { exchange, found } of batch) {
    recorded.push(evaluated(evaluate, log, exchange, found));
    if (performance.now() - began_ms < SLICE_MS) continue;
    await nextTurn();
    began_ms = performance.now();
  }
  return recorded;
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
