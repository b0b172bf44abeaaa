/** Writes finished exchanges in batches, at its own pace: a store that fails or hangs costs evidence, never a payment. */

import { PuenteError } from '../../error.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Clock } from '../clock.ts';
import { steadyTime } from '../clock-watch.ts';
import { yieldToEventLoop } from '../concurrency.ts';
import type { Count, Log, LogFields } from '../log.ts';
import type { RecordedExchange } from '../records/evidence.ts';
import type { Store } from '../store.ts';
import type { Exchange } from './exchange.ts';
import { createEvaluation, type Found } from './findings.ts';

/** Exchanges of one transaction: the payments' own commits wait behind it, so it is kept to a few milliseconds. */
const BATCH = 200;
/**
 * While many wait: a batch takes some turns of the process, and with 256 calls under way 600 more have come until it is
 * written. It takes the writer some 20 ms, which is what a turn takes then.
 */
const LARGE_BATCH = 1_000;
const MANY = 500;
/** Captured messages make a batch of fewer. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** What may wait in bytes: captured messages are large, and a store that hangs must not use up the memory. */
const WAITING_BYTES = 64 * 1024 * 1024;

export type WriterParts = Omit<BatchParts, 'evaluate'> &
  EvidenceChoreParts & {
    store: BatchParts['store'] & EvidenceChoreParts['store'];
    tables: Tables;
    settings: EvidenceChoreParts['settings'] & { queue: number; batch_ms: number };
    /** After a batch was written. */
    onRecorded?: ((batch: readonly Exchange[]) => void) | undefined;
  };

export interface WaitingExchange {
  exchange: Exchange;
  found: Found;
  bytes: number;
  /** It is written, or given up. */
  done(): void;
}

export interface EvidenceWriter {
  /** Takes it, or sheds it at once when too much waits. */
  add(waiting: WaitingExchange): void;
  /** Half of what may wait does: what can be left out should be. */
  isBehind(): boolean;
  shed(reason: 'shadow' | 'evidence', count?: number): void;
  /** Writes now what waits, instead of at the next beat. */
  hasten(): void;
  /** From now on nothing waits for a beat. */
  stop(): void;
  /** Tells the store what was left out since the last batch. Never throws. */
  tellShed(): Promise<void>;
}

export function startWriter(parts: WriterParts): EvidenceWriter {
  const { queue, batch_ms } = parts.settings;
  const chores = createEvidenceChores(parts);
  const batchParts: BatchParts = { ...parts, evaluate: createEvaluation(parts.tables) };
  const waiting: WaitingExchange[] = [];
  let bytes = 0;
  let running = false;
  let stopped = false;
  /** Of those that wait: whoever waits for them doesn't wait for a beat. */
  let hastened = 0;
  /** In a small queue a batch is whole before it is half full, from where on shadows are left out. */
  const whole = Math.min(BATCH, Math.ceil(queue / 4));
  let timer: NodeJS.Timeout | undefined;

  const run = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (running || waiting.length === 0) return;
    running = true;
    void writeAll().finally(() => {
      running = false;
      if (waiting.length > 0) beat();
    });
  };
  const beat = (): void => {
    if (stopped || waiting.length >= whole) run();
    else timer ??= setTimeout(run, batch_ms);
  };
  /** The first batch however small, and more while they are whole: a commit for each few costs twice as much of each. */
  const writeAll = async (): Promise<void> => {
    do {
      const batch = waiting.splice(0, sizeOfBatch(waiting));
      hastened = Math.max(0, hastened - batch.length);
      const lost = await writeBatch(batchParts, batch);
      if (lost.size > 0) chores.shed('evidence', lost.size);
      const written = batch.filter(({ exchange }) => !lost.has(exchange.id));
      if (written.length > 0) {
        tell(parts, written);
        await chores.afterBatch(written.length);
      }
      for (const one of batch) {
        bytes -= one.bytes;
        one.done();
      }
    } while (waiting.length >= (stopped || hastened > 0 ? 1 : whole));
  };
  return {
    add(one) {
      if (waiting.length >= queue || bytes + one.bytes > WAITING_BYTES) {
        chores.shed('evidence');
        return one.done();
      }
      waiting.push(one);
      bytes += one.bytes;
      beat();
    },
    isBehind: () => waiting.length * 2 >= queue || bytes * 2 >= WAITING_BYTES,
    shed: chores.shed,
    hasten() {
      hastened = waiting.length;
      run();
    },
    stop() {
      stopped = true;
      run();
    },
    tellShed: chores.tellShed,
  };
}

/** How many of those that wait go next; one at least. */
function sizeOfBatch(waiting: readonly WaitingExchange[]): number {
  const most = Math.min(waiting.length, waiting.length > MANY ? LARGE_BATCH : BATCH);
  let [size, bytes] = [0, 0];
  for (const one of waiting.slice(0, most)) {
    bytes += one.bytes;
    if (size > 0 && bytes > BATCH_BYTES) break;
    size++;
  }
  return size;
}

/** Who listens must not be able to stop the writing. */
function tell({ onRecorded, log }: WriterParts, batch: readonly WaitingExchange[]): void {
  try {
    onRecorded?.(batch.map(({ exchange }) => exchange));
  } catch (error) {
    log.error('a listener of evidence failed', { cause: causeOf(error) });
  }
}

// One batch of exchanges into the store: evaluated in slices, tried again with growing pauses, given up in the end.

/** Exchanges are evaluated in one go for so long: some hundred reads, or a few dozen creates; calls have their turn in between. */
const SLICE_MS = 1;
/** Tries while the store takes nothing, and the pause after the first; it grows with each, ten seconds in all. */
const TRIES = 5;
const RETRY_PAUSE_MS = 1_000;
/** Refusals in a row that finding one bad exchange takes at most; after more of them the store may be what is wrong. */
const MOST_REFUSALS = 16;

export interface BatchParts {
  store: Pick<Store, 'exchanges'>;
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
      await store.exchanges.recordExchanges(piece.exchanges);
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
    await yieldToEventLoop();
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

// What goes along with the batches: saying what could not be kept, and deleting what is old.

/** Old exchanges and sales born on legacy are looked for this often, and deleted in steps of so many rows, which other writes wait for: one with each batch, and more with one of more rows. */
const TIDY_EVERY_MS = 60 * 60_000;
const TIDY_ROWS = 500;

export interface EvidenceChoreParts {
  store: Pick<Store, 'exchanges' | 'legacy_sales' | 'upkeep'>;
  clock: Clock;
  log: Log;
  count: Count;
  settings: { kept_ms: number; messages_kept_ms: number };
}

export interface EvidenceChores {
  /** Counts what could not be kept; the store is told with the next batch that it takes. */
  shed(reason: 'shadow' | 'evidence', count?: number): void;
  /** The store has taken a batch. Never throws: what fails comes again with the next one. */
  afterBatch(rows: number): Promise<void>;
  /** Tells the store without a batch, at the end. Never throws. */
  tellShed(): Promise<void>;
}

export function createEvidenceChores({ store, clock, log, count, settings }: EvidenceChoreParts): EvidenceChores {
  const untold = { shadow: 0, evidence: 0 };
  const steady = steadyTime({ store, clock });
  let tidied_at = Number.NEGATIVE_INFINITY;
  /** What the round under way goes by, over all its steps. */
  let round: number | null = null;

  const tellShed = async (now: number): Promise<void> => {
    for (const reason of ['shadow', 'evidence'] as const) {
      const number = untold[reason];
      if (number === 0) continue;
      // Taken off first: a batch and the end may tell at the same time.
      untold[reason] = 0;
      try {
        await store.exchanges.noteShed(reason, number, now);
      } catch (error) {
        untold[reason] += number;
        throw error;
      }
    }
  };
  /** One step of deleting. */
  const tidy = async (now: number): Promise<void> => {
    // A clock that was set back must not silence it.
    if (Math.abs(now - tidied_at) < TIDY_EVERY_MS) return;
    round ??= await steady();
    const { kept_ms, messages_kept_ms } = settings;
    const rows = await store.exchanges.tidyExchanges(round - kept_ms, round - messages_kept_ms, TIDY_ROWS);
    const sales = await store.legacy_sales.tidyLegacySales(round - kept_ms, round, TIDY_ROWS);
    if (rows >= TIDY_ROWS || sales >= TIDY_ROWS) return;
    tidied_at = now;
    round = null;
  };
  const untroubled = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.warn('evidence not tidied', { cause: causeOf(error) });
    }
  };
  return {
    shed(reason, number = 1) {
      untold[reason] += number;
      for (let index = 0; index < number; index++) count('shed', reason);
    },
    afterBatch: (rows) =>
      untroubled(async () => {
        const now = clock.now();
        await tellShed(now);
        for (let added = 0; added < rows; added += TIDY_ROWS) await tidy(now);
      }),
    tellShed: () => untroubled(() => tellShed(clock.now())),
  };
}
