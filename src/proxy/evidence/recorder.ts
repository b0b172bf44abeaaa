/** Records finished exchanges off the request path: a bounded queue and a batch writer. Shadows are shed first. */
import { PuenteError } from '../../error.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Clock } from '../clock.ts';
import { createDrain, yieldToEventLoop } from '../concurrency.ts';
import type { Count, Log } from '../log.ts';
import { steadyTime } from '../loop.ts';
import type { RecordedExchange } from '../records/evidence.ts';
import type { Store } from '../store.ts';
import { aboutExchange, type Evidence, type Exchange, type ShadowTask } from './exchange.ts';
import { createEvaluation, type Evaluate, type Found, nothingFound } from './findings.ts';
import { createShadow, exchangeOf, foundOf, type ShadowParts } from './shadow-worker.ts';

/** A stop waits this long for the store; exchanges not written by then are counted as lost. */
const STOP_MS = 5_000;
/** A stop gives the store this long to record how much was shed; the log has it in any case. */
const NOTE_SHED_MS = 500;
/** With this many exchanges waiting, a batch is written without waiting for `batch_ms`. */
const FULL_BATCH = 200;
/** Exchanges of one transaction: about 20 ms of the writer, for which commits of payments wait. */
const LARGEST_BATCH = 1_000;
/** With captured messages a batch has fewer exchanges. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Bounds the memory while the store hangs: captured messages are large. */
const QUEUE_BYTES = 64 * 1024 * 1024;

/** How much evidence may wait, and how long it is kept (ms). */
export interface EvidenceSettings {
  queue: number;
  batch_ms: number;
  kept_ms: number;
  messages_kept_ms: number;
  /** Calls that may wait for their shadow, by number and by bytes. */
  shadow_queue: number;
  shadow_queue_bytes: number;
  double_reads: boolean;
}

export interface EvidenceParts extends Omit<ShadowParts, 'settings'> {
  store: Pick<Store, 'exchanges' | 'legacy_sales' | 'upkeep'>;
  tables: Tables;
  clock: Clock;
  log: Log;
  count: Count;
  settings: EvidenceSettings;
  /** True while payments need the time that shadows take. */
  isBusy?: () => boolean;
  onRecorded?: ((batch: readonly Exchange[]) => void) | undefined;
}

/** The recorder, until the process stops. */
export interface RunningEvidence extends Omit<Evidence, 'safety'> {
  /** Accepts nothing more, sheds the waiting shadows, and writes the rest within a bounded time. */
  stop(): Promise<void>;
}

/** Starts the one queue of exchanges and the shadow translations; `stop` writes what waits. */
export function startEvidence(parts: EvidenceParts): RunningEvidence {
  /** Exchanges accepted and not written yet; calls whose exchange is still being made. */
  const accepted = createDrain();
  const coming = createDrain();
  const upkeep = createUpkeep(parts);
  let stopping: Promise<void> | null = null;
  let waiters = 0;
  const queue = createQueue(parts, upkeep, accepted, () => stopping !== null || waiters > 0);
  const shadows = createShadowQueue(parts, upkeep, queue);
  const finish = async (): Promise<void> => {
    shadows.leaveOut();
    queue.write();
    await within(STOP_MS, accepted.settled());
    const lost = accepted.open();
    if (lost > 0) {
      parts.log.warn('evidence lost at the end', { count: lost });
      upkeep.shed('evidence', lost);
    }
    await within(NOTE_SHED_MS, upkeep.noteShed());
  };
  return {
    finished(exchange, came = []) {
      if (stopping === null) queue.add(exchange, { ...nothingFound, came }, accepted.begin());
      else upkeep.shed('evidence');
    },
    shadowed(task) {
      if (stopping === null) shadows.add(task, accepted.begin());
      else upkeep.shed('evidence');
    },
    coming(work) {
      const ticket = coming.begin();
      const done = (): void => coming.done(ticket);
      work.then(done, done);
    },
    async settled() {
      // A caller may have its answer before this process has noticed that the answer left.
      await yieldToEventLoop();
      await coming.settled();
      const all = accepted.settled();
      waiters++;
      queue.write();
      await all;
      waiters--;
    },
    stop() {
      stopping ??= Promise.resolve().then(finish);
      return stopping;
    },
  };
}

async function within(duration_ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, duration_ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

interface Waiting {
  exchange: Exchange;
  found: Found;
  bytes: number;
  ticket: number;
}

type Queue = ReturnType<typeof createQueue>;
type Upkeep = ReturnType<typeof createUpkeep>;

/** The bounded queue and its batch writer. @param isUrgent a caller waits for the writes. */
function createQueue(
  parts: EvidenceParts,
  upkeep: Upkeep,
  accepted: ReturnType<typeof createDrain>,
  isUrgent: () => boolean,
) {
  const { settings, log } = parts;
  const evaluate = createEvaluation(parts.tables);
  const queue: Waiting[] = [];
  let [queue_bytes, writing] = [0, false];
  let timer: NodeJS.Timeout | undefined;
  /** In a small queue a batch is full before the queue is half full and shadows are shed. */
  const full_batch = Math.min(FULL_BATCH, Math.ceil(settings.queue / 4));

  const schedule = (): void => {
    if (isUrgent() || queue.length >= full_batch) write();
    else timer ??= setTimeout(write, settings.batch_ms);
  };
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (writing || queue.length === 0) return;
    writing = true;
    void writeQueue().finally(() => {
      writing = false;
      if (queue.length > 0) schedule();
    });
  };
  /** Writes one batch of any size, then only full ones: many small commits cost twice as much per exchange. */
  const writeQueue = async (): Promise<void> => {
    do {
      const batch = queue.splice(0, sizeOfBatch(queue));
      const lost = await writeBatch(parts, await evaluateAll(evaluate, log, batch));
      if (lost.size > 0) upkeep.shed('evidence', lost.size);
      const written = batch.map(({ exchange }) => exchange).filter(({ id }) => !lost.has(id));
      if (written.length > 0) {
        publish(parts, written);
        await upkeep.afterBatch(written.length);
      }
      for (const { bytes, ticket } of batch) {
        queue_bytes -= bytes;
        accepted.done(ticket);
      }
    } while (queue.length >= (isUrgent() ? 1 : full_batch));
  };
  return {
    add(exchange: Exchange, found: Found, ticket: number): void {
      const bytes = exchangeBytes(exchange);
      if (queue.length < settings.queue && queue_bytes + bytes <= QUEUE_BYTES) {
        queue.push({ exchange, found, bytes, ticket });
        queue_bytes += bytes;
        schedule();
      } else {
        upkeep.shed('evidence');
        accepted.done(ticket);
      }
    },
    write,
    isBehind: (): boolean => queue.length * 2 >= settings.queue || queue_bytes * 2 >= QUEUE_BYTES,
  };
}

interface WaitingTask {
  task: ShadowTask;
  bytes: number;
  ticket: number;
}

/** Calls that wait for their shadow: one per event-loop tick, so that requests are served in between. */
function createShadowQueue(parts: EvidenceParts, upkeep: Upkeep, queue: Queue) {
  const { settings, isBusy, tables } = parts;
  const shadow = createShadow(parts);
  const tasks: WaitingTask[] = [];
  let [task_bytes, running] = [0, false];

  const addWithoutShadow = ({ task, ticket }: WaitingTask): void => {
    upkeep.shed('shadow');
    queue.add(exchangeOf(task), foundOf(tables, task), ticket);
  };
  const addWithShadow = async ({ task, ticket }: WaitingTask): Promise<void> => {
    const { exchange, found, shed } = await shadow.of(task);
    if (shed) upkeep.shed('shadow');
    queue.add(exchange, found, ticket);
  };
  const run = async (): Promise<void> => {
    running = true;
    while (tasks.length > 0) {
      await yieldToEventLoop();
      await shadow.untilFree();
      const next = tasks.shift();
      if (next === undefined) break;
      task_bytes -= next.bytes;
      if (queue.isBehind()) addWithoutShadow(next);
      else void addWithShadow(next);
    }
    running = false;
  };
  return {
    add(task: ShadowTask, ticket: number): void {
      const waiting = { task, bytes: taskBytes(task), ticket };
      const is_full = tasks.length >= settings.shadow_queue || task_bytes + waiting.bytes > settings.shadow_queue_bytes;
      if (is_full || isBusy?.() === true || queue.isBehind()) addWithoutShadow(waiting);
      else {
        tasks.push(waiting);
        task_bytes += waiting.bytes;
        if (!running) void run();
      }
    },
    leaveOut(): void {
      for (const waiting of tasks.splice(0)) addWithoutShadow(waiting);
    },
  };
}

/** At least one. */
function sizeOfBatch(queue: readonly Waiting[]): number {
  let [size, sum] = [0, 0];
  for (const { bytes } of queue.slice(0, LARGEST_BATCH)) {
    sum += bytes;
    if (size > 0 && sum > BATCH_BYTES) break;
    size++;
  }
  return size;
}

/** A listener that fails must not stop the writing. */
function publish({ onRecorded, log }: EvidenceParts, batch: readonly Exchange[]): void {
  try {
    onRecorded?.(batch);
  } catch (error) {
    log.error('a listener of evidence failed', { cause: String(error) });
  }
}

/** Exchanges are evaluated for this long without a break: some hundred reads, or a few dozen creates. */
const SLICE_MS = 1;

async function evaluateAll(evaluate: Evaluate, log: Log, batch: readonly Waiting[]): Promise<RecordedExchange[]> {
  const recorded: RecordedExchange[] = [];
  let began_ms = performance.now();
  for (const { exchange, found } of batch) {
    try {
      recorded.push(evaluate(exchange, found));
    } catch (error) {
      // A defect in evaluating one exchange must not cost the others of its batch.
      log.error('exchange not evaluated', { ...aboutExchange(exchange), cause: String(error) });
      recorded.push({ ...exchange, limitations: null, cells: [], lost: [], differences: [], compared: false });
    }
    if (performance.now() - began_ms < SLICE_MS) continue;
    await yieldToEventLoop();
    began_ms = performance.now();
  }
  return recorded;
}

/** Attempts while the store is down, and the first pause; pauses grow, ten seconds in all. */
const TRIES = 5;
const RETRY_PAUSE_MS = 1_000;
/** One bad exchange is found with fewer refusals in a row; after this many the store may be at fault. */
const MOST_REFUSALS = 16;

/** Waits for a store that is down. @returns the ids of the exchanges that were not written. */
async function writeBatch({ store, clock, log }: EvidenceParts, batch: RecordedExchange[]): Promise<Set<string>> {
  const lost = new Set<string>();
  let left = batch;
  for (let attempts = 1; left.length > 0; attempts++) {
    const pass = await writePass(store, left);
    left = pass.left;
    const given_up = [...pass.refused, ...(attempts === TRIES ? left.splice(0) : [])];
    for (const { id } of given_up) lost.add(id);
    const count = given_up.length + left.length;
    if (count > 0) log.warn('evidence not written', { cause: pass.cause, attempts, count });
    if (left.length > 0) await clock.sleep(RETRY_PAUSE_MS * attempts);
  }
  return lost;
}

interface Pass {
  /** Refused by a store that accepted others, so these are at fault. */
  refused: RecordedExchange[];
  left: RecordedExchange[];
  cause: string;
}

/** A refused batch is tried again in halves, down to the one bad exchange, so that no other is lost. */
async function writePass(store: EvidenceParts['store'], batch: RecordedExchange[]): Promise<Pass> {
  const pieces = [batch];
  const refused: RecordedExchange[] = [];
  let [refusals, has_taken, cause] = [0, false, ''];
  for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) {
    try {
      await store.exchanges.recordExchanges(piece);
      // Earlier refusals may come from a store that accepted nothing at that time.
      if (!has_taken) pieces.unshift(...refused.splice(0).map((one) => [one]));
      has_taken = true;
      refusals = 0;
    } catch (error) {
      cause = String(error);
      if (isAway(error) || ++refusals >= MOST_REFUSALS) {
        pieces.push(piece);
        break;
      }
      const half = Math.ceil(piece.length / 2);
      if (piece.length > 1) pieces.push(piece.slice(half), piece.slice(0, half));
      else refused.push(...piece);
    }
  }
  return has_taken
    ? { refused, left: pieces.flat(), cause }
    : { refused: [], left: [...refused, ...pieces.flat()], cause };
}

/** Failures of `storeFailed` that say nothing about the exchanges. */
const AWAY: readonly unknown[] = ['full', 'busy', 'gone', 'fatal'];

function isAway(error: unknown): boolean {
  return error instanceof PuenteError && AWAY.includes(error.facts.failure);
}

/** How often old exchanges and legacy sales are deleted, and the rows of one step, for which other writes wait. */
const TIDY_EVERY_MS = 60 * 60_000;
const TIDY_ROWS = 500;

/** Work after each batch: records in the store how much was shed, and deletes old rows. */
function createUpkeep({ store, clock, log, count, settings }: EvidenceParts) {
  const unrecorded = { shadow: 0, evidence: 0 };
  const steady = steadyTime({ store, clock });
  let tidied_at = Number.NEGATIVE_INFINITY;
  let round: number | null = null; // the time of its steps, epoch ms

  const noteAllShed = async (): Promise<void> => {
    for (const reason of ['shadow', 'evidence'] as const) {
      const number = unrecorded[reason];
      if (number === 0) continue;
      // Reset first: a batch and a stop may record it at the same time.
      unrecorded[reason] = 0;
      try {
        await store.exchanges.noteShed(reason, number, clock.now());
      } catch (error) {
        unrecorded[reason] += number;
        throw error;
      }
    }
  };
  const tidy = async (): Promise<void> => {
    const now = clock.now();
    // `abs`: a clock that was set back must not stop the deletion.
    if (Math.abs(now - tidied_at) < TIDY_EVERY_MS) return;
    round ??= await steady();
    const { kept_ms, messages_kept_ms } = settings;
    const rows = await store.exchanges.tidyExchanges(round - kept_ms, round - messages_kept_ms, TIDY_ROWS);
    const sales = await store.legacy_sales.tidyLegacySales(round - kept_ms, round, TIDY_ROWS);
    if (rows >= TIDY_ROWS || sales >= TIDY_ROWS) return;
    tidied_at = now;
    round = null;
  };
  /** Never throws: failed work is repeated after the next batch. */
  const logged = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.warn('evidence not tidied', { cause: String(error) });
    }
  };
  return {
    /** Counts what is shed; the store records it after the next batch. */
    shed(reason: 'shadow' | 'evidence', number = 1): void {
      unrecorded[reason] += number;
      for (let index = 0; index < number; index++) count('shed', reason, 'queue');
    },
    noteShed: () => logged(noteAllShed),
    /** Deletes in one step, in more after a large batch, so that it keeps up. */
    afterBatch: (rows: number) =>
      logged(async () => {
        await noteAllShed();
        for (let added = 0; added < rows; added += TIDY_ROWS) await tidy();
      }),
  };
}

/** Rough sizes in memory, to bound the queues in bytes. Objects: a small one in V8, without keys. */
const OBJECT_BYTES = 48;
const NUMBER_BYTES = 8;
/** An exchange without messages: ids, times, names of some twenty rows. */
const EXCHANGE_BYTES = 1_500;

function exchangeBytes({ messages }: Pick<Exchange, 'messages'>): number {
  return EXCHANGE_BYTES + (messages === null ? 0 : bytesOf(messages));
}

function taskBytes({ request, legacy_body, messages }: ShadowTask): number {
  return exchangeBytes({ messages }) + bytesOf(request) + bytesOf(legacy_body);
}

/** Depth is bounded by the parsers that made the value (`contract/json.ts`). */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length * 2;
  if (value === null || typeof value !== 'object') return NUMBER_BYTES;
  let sum = OBJECT_BYTES;
  for (const [key, inner] of Object.entries(value)) sum += key.length * 2 + bytesOf(inner);
  return sum;
}
