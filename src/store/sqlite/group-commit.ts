/** Group commit: gathers units on the main thread, posts one group at a time to the writer, resolves when durable. */

import type { KeyObject } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type Failpoint, noFailpoint } from '../../proxy/process-memory.ts';
import type { Heap } from '../../proxy/records/upkeep.ts';
import { type CommitResult, type Failure, storeFailed, type Unit, type UnitResult, type Value } from '../engine.ts';
import { storeUnusable } from './failure.ts';
import { createKnownRows, type KnownRows } from './reader.ts';

/** A bound on one commit, so that no unit waits for a whole backlog. */
const GROUP_LIMIT = 512;
/**
 * A group smaller than `enough` gathers for up to `ticks` event-loop ticks, unless units come one by one. An fsync
 * takes as much processor time as several rows, so larger groups are less work on one core (0.9 × that of a create, 64
 * in flight). A writer thread on its own core works while more units gather; a longer wait made the threads wait for
 * each other in turn (0.91 × the creates a second, 64 in flight on two cores).
 */
const GATHERING = { shared: { enough: 32, ticks: 3 }, own: { enough: 16, ticks: 1 } };
/** Further units are refused: a disk that is this far behind must not fill the memory. */
const WAITING_LIMIT = 20_000;
/** How often a full disk is probed while nothing else is written. */
const PROBE_INTERVAL_MS = 1_000;
const PROBE: Unit = {
  steps: [
    { write: 'probe_fill', values: [] },
    { write: 'probe_clear', values: [] },
  ],
};

interface Waiting {
  unit: Unit;
  resolve: (result: CommitResult) => void;
  reject: (error: PuenteError) => void;
}

/** Commits the groups: the writer thread, or a simulation in this thread. */
export interface Committer {
  /** Whether it has its own core, or shares that of this thread. */
  core: 'own' | 'shared';
  /** Commits the units in their order; one message has the results of all. */
  post(units: Unit[]): void;
  /** Ends the committer after all groups are committed. */
  close(): void;
  /** As last reported; null before the first report. */
  heap(): Heap | null;
  /** Called once, before the first `post`. */
  listen(listener: { message(message: FromWriter): void; failed(text: string): void; ended(): void }): void;
}

/**
 * The writer has one group at a time; later units gather for the next, so a slow disk makes larger groups. When the
 * next group is large, or units come one by one, it is posted before the callers of the last group continue: the writer
 * works while they do (1.07 to 1.16 × the creates a second, 64 in flight on one core; 1.05 to 1.10 × on two with an
 * fsync of 1 ms).
 */
export class WriteQueue {
  readonly #committer: Committer;
  readonly #onFatal: (error: PuenteError) => void;
  readonly #failpoint: Failpoint;
  readonly #gathering: { enough: number; ticks: number };
  readonly #exited: Promise<void>;
  readonly #known = createKnownRows();
  readonly #waiting: Waiting[] = [];
  #inFlight: Waiting[] = [];
  #scheduled = false;
  /** The last group had more than one unit: more are expected. */
  #is_busy = false;
  #well = true;
  #ended: PuenteError | null = null;
  #probe: NodeJS.Timeout | undefined;

  /** @param onFatal called once when the disk or the file can't be trusted any more; the process must stop then. */
  constructor(committer: Committer, onFatal: (error: PuenteError) => void, failpoint: Failpoint = noFailpoint) {
    this.#committer = committer;
    this.#onFatal = onFatal;
    this.#failpoint = failpoint;
    this.#gathering = GATHERING[committer.core];
    const exited = Promise.withResolvers<void>();
    this.#exited = exited.promise;
    committer.listen({
      message: (message) => {
        if (message.kind === 'results') this.#answer(message.results);
        if (message.kind === 'fatal') this.fail(message.text);
      },
      failed: (text) => this.fail(text),
      ended: () => {
        this.fail('the writer thread ended');
        exited.resolve();
      },
    });
  }

  /**
   * As in `Writer`; also @throws PuenteError store_failed when WAITING_LIMIT units wait, and after the store has ended.
   */
  commit(unit: Unit): Promise<CommitResult> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    if (this.#waiting.length >= WAITING_LIMIT) {
      return Promise.reject(storeFailed('failed', `${WAITING_LIMIT} writes are waiting`));
    }
    const committed = new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push({ unit, resolve, reject });
      this.#schedule();
    });
    return this.#known.during(unit, committed);
  }

  /** Cached rows: every write passes through the queue. */
  known(): KnownRows {
    return this.#known;
  }

  /** Null before the writer thread has reported it. */
  writerHeap(): Heap | null {
    return this.#committer.heap();
  }

  /**
   * False after a group that found the disk full or the file locked, until a later one succeeds; and once the store has
   * ended.
   */
  healthy(): boolean {
    return this.#well && this.#ended === null;
  }

  /** Ends the store because the disk or the file can't be trusted any more; without effect once it has ended. */
  fail(text: string): void {
    if (this.#ended !== null) return;
    const error = storeFailed('fatal', text);
    this.#end(error);
    this.#onFatal(error);
  }

  /** The error of a failed read; a `fatal` one ends the store. */
  readFailed(failure: Failure, text: string): PuenteError {
    if (failure === 'fatal') this.fail(text);
    return storeFailed(failure, text);
  }

  /** Commits waiting units, empties the write-ahead log and ends the writer thread. */
  async close(): Promise<void> {
    while (this.#ended === null && this.#waiting.length + this.#inFlight.length > 0) {
      await this.commit({ steps: [] }).catch(() => undefined);
    }
    this.#end(new PuenteError('store_failed', say('store.closed', {})));
    this.#committer.close();
    await this.#exited;
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight.length > 0 || this.#waiting.length === 0) return;
    this.#scheduled = true;
    this.#gather(this.#is_busy ? this.#gathering.ticks : 1);
  }

  #gather(ticks: number): void {
    setImmediate(() => {
      const { enough } = this.#gathering;
      if (this.#ended === null && ticks > 1 && this.#waiting.length < enough) return this.#gather(ticks - 1);
      this.#scheduled = false;
      if (this.#ended === null) this.#postGroup();
    });
  }

  #postGroup(): void {
    this.#inFlight = this.#waiting.splice(0, GROUP_LIMIT);
    this.#is_busy = this.#inFlight.length > 1;
    this.#committer.post(this.#inFlight.map((entry) => entry.unit));
    this.#failpoint('store.group_posted');
  }

  #answer(results: UnitResult[]): void {
    const fatal = results.find((result) => result.kind === 'fatal');
    if (fatal?.kind === 'fatal') {
      this.fail(fatal.text);
      return;
    }
    this.#well = !results.some((result) => result.kind === 'full' || result.kind === 'busy');
    const committed = this.#inFlight.splice(0);
    try {
      if (this.#waiting.length >= (this.#is_busy ? this.#gathering.enough : 1)) this.#postGroup();
      else this.#schedule();
    } finally {
      resolveAll(committed, results);
    }
    clearTimeout(this.#probe);
    if (!this.#well) {
      this.#probe = setTimeout(() => void this.commit(PROBE).catch(() => undefined), PROBE_INTERVAL_MS).unref();
    }
  }

  #end(reason: PuenteError): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    clearTimeout(this.#probe);
    for (const entry of [...this.#inFlight.splice(0), ...this.#waiting.splice(0)]) entry.reject(reason);
  }
}

function resolveAll(group: Waiting[], results: UnitResult[]): void {
  for (const [index, { resolve, reject }] of group.entries()) {
    const result = results[index] ?? { kind: 'failed', text: 'the writer gave no answer' };
    if (result.kind === 'done' || result.kind === 'conflict' || result.kind === 'constraint') resolve(result);
    else reject(storeFailed(result.kind, result.text));
  }
}

// The main thread's side of the writer thread.

/** What the main thread needs of a thread that serves one store. */
export type WriterThread = Pick<Worker, 'postMessage' | 'on' | 'once' | 'off' | 'getHeapStatistics'>;
export type BeginWriter = (setup: WriterSetup) => WriterThread;

/**
 * Starts the writer on a prepared file.
 * @param begin starts a thread on a setup; by default one for this store alone.
 * @throws PuenteError store_unusable when the writer refuses the file.
 */
export async function startWriterThread(setup: WriterSetup, begin: BeginWriter = beginWriter): Promise<Committer> {
  const worker = begin(setup);
  await untilReady(worker, setup.path);
  const thread = threadOf(worker);
  thread.heap();
  return thread;
}

function beginWriter(setup: WriterSetup): WriterThread {
  // The thread uses Node's own type stripping, also when the main thread was started with another loader.
  return new Worker(new URL('./writer.ts', import.meta.url), { workerData: setup, execArgv: [] });
}

function threadOf(worker: WriterThread): Committer {
  return {
    core: availableParallelism() > 1 ? 'own' : 'shared',
    post: (units) => worker.postMessage({ kind: 'group', units: pack(units) } satisfies ToWriter),
    close: () => worker.postMessage({ kind: 'close' } satisfies ToWriter),
    heap: heapOf(worker),
    listen(listener) {
      worker.on('message', listener.message);
      worker.on('error', (error) => listener.failed(`the writer thread failed: ${error.message}`));
      worker.on('exit', listener.ended);
    },
  };
}

/** The last known heap, without a wait: a thread that waits for its disk does not answer. */
function heapOf(worker: WriterThread): () => Heap | null {
  let known: Heap | null = null;
  let is_requested = false;
  const read = async (): Promise<void> => {
    const { used_heap_size, total_heap_size } = await worker.getHeapStatistics();
    known = { used_bytes: used_heap_size, total_bytes: total_heap_size };
    is_requested = false;
  };
  return () => {
    if (!is_requested) {
      is_requested = true;
      // A thread that has ended rejects this.
      void read().catch(() => undefined);
    }
    return known;
  };
}

function untilReady(worker: WriterThread, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromWriter) => {
      worker.off('error', onError);
      if (message.kind === 'ready') resolve();
      else if (message.kind === 'refused') reject(new PuenteError('store_unusable', message.message));
    };
    const onError = (error: Error) => {
      worker.off('message', onMessage);
      reject(storeUnusable(path, `the writer thread did not start (${error.message})`, 'Report this', error));
    };
    worker.once('message', onMessage);
    worker.once('error', onError);
  });
}

// The messages between the main thread and the writer thread.

export interface WriterSetup {
  path: string;
  opened_at: number;
  /** Upper limit of the file in pages; 0 leaves SQLite's own. */
  max_pages: number;
  /** A KeyObject is passed to the thread without its text. */
  cover_key?: KeyObject;
}

export type ToWriter = { kind: 'group'; units: Packed } | { kind: 'close' };
export type FromWriter =
  | { kind: 'ready' }
  | { kind: 'refused'; message: string }
  | { kind: 'results'; results: UnitResult[] }
  | { kind: 'fatal'; text: string }
  | { kind: 'closed' };

/** One flat list. Per unit: steps, audit, newest seen, checkpoint; per step: name, rows to change, number of values, values. */
export type Packed = (Value | boolean | NonNullable<Unit['audit']>)[];

/**
 * Structured clone copies objects property by property; one list takes a create less than half the time (8 µs for 20,
 * both threads together). Locks are left out: one writer needs none.
 */
export function pack(units: readonly Unit[]): Packed {
  const packed: Packed = [];
  for (const { steps, audit = null, newest_seen = null, checkpoint = false } of units) {
    packed.push(steps.length, audit, newest_seen, checkpoint);
    for (const { write, values, changes = null } of steps) {
      packed.push(write, changes, values.length);
      for (const value of values) packed.push(value);
    }
  }
  return packed;
}
