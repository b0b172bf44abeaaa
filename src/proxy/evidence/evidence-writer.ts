/** Writes finished exchanges in batches, at its own pace: a store that fails or hangs costs evidence, never a payment. */

import type { Tables } from '../../mapping/tables.ts';
import { createEvaluation } from './evaluation.ts';
import { type BatchParts, causeOf, writeBatch } from './evidence-batch.ts';
import { createEvidenceChores, type EvidenceChoreParts } from './evidence-chores.ts';
import type { Exchange } from './exchange.ts';
import type { Found } from './findings.ts';

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
