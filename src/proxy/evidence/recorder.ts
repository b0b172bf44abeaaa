/** Takes finished exchanges off the request path: shadows them, evaluates them, writes them; under load the shadow goes first. */
import { createDrain, yieldToEventLoop } from '../concurrency.ts';
import type { Evidence, Exchange, ShadowTask } from './exchange.ts';
import { type Found, nothingFound } from './findings.ts';
import { createShadow, exchangeOf, foundOf, type ShadowParts } from './shadow-worker.ts';
import { startWriter, type WriterParts } from './writer.ts';

/** A stop waits so long for the store to take what is left; then it is counted as lost. */
const STOP_MS = 5_000;
/** A store that hangs is not waited for to be told so; the log has it. */
const TELL_MS = 500;

export interface EvidenceSettings {
  /** Exchanges that may wait to be written. */
  queue: number;
  batch_ms: number;
  kept_ms: number;
  messages_kept_ms: number;
  /** Calls that may wait for their shadow, by number and by bytes. */
  shadow_queue: number;
  shadow_queue_bytes: number;
  double_reads: boolean;
}

export type EvidenceParts = Omit<WriterParts, 'settings'> &
  Omit<ShadowParts, 'settings'> & {
    settings: EvidenceSettings;
    /** True while payments need the time that shadows take. */
    isBusy?: () => boolean;
  };

export interface RunningEvidence extends Omit<Evidence, 'safety'> {
  /** Takes nothing more, leaves out the shadows that wait, and writes what is left within a bounded time. */
  stop(): Promise<void>;
}

export function startEvidence(parts: EvidenceParts): RunningEvidence {
  const { shadow_queue, shadow_queue_bytes } = parts.settings;
  const writer = startWriter(parts);
  const shadow = createShadow(parts);
  const taken = createDrain();
  let stopping: Promise<void> | null = null;
  /** Who waits for everything to be written doesn't wait for a beat. */
  let waiters = 0;
  const coming = createDrain();

  const record = (exchange: Exchange, found: Found, ticket: number): void => {
    writer.add({ exchange, found, bytes: exchangeBytes(exchange), done: () => taken.done(ticket) });
    if (waiters > 0) writer.hasten();
  };
  const leaveOut = ({ task, ticket }: WaitingTask): void => {
    writer.shed('shadow');
    record(exchangeOf(task), foundOf(parts.tables, task), ticket);
  };
  const serve = async (waiting: WaitingTask): Promise<void> => {
    const { exchange, found, shed } = await shadow.of(waiting.task);
    if (shed) writer.shed('shadow');
    record(exchange, found, waiting.ticket);
  };
  const line = createShadowLine({ tasks: shadow_queue, bytes: shadow_queue_bytes }, shadow.room, (waiting) => {
    if (writer.isBehind()) leaveOut(waiting);
    else void serve(waiting);
  });
  const finish = async (): Promise<void> => {
    for (const waiting of line.empty()) leaveOut(waiting);
    writer.stop();
    await within(STOP_MS, taken.settled());
    const lost = taken.open();
    if (lost > 0) {
      parts.log.warn('evidence lost at the end', { count: lost });
      writer.shed('evidence', lost);
    }
    await within(TELL_MS, writer.tellShed());
  };
  return {
    finished(exchange, came = []) {
      if (stopping === null) record(exchange, { ...nothingFound, came }, taken.begin());
      else writer.shed('evidence');
    },
    shadowed(task) {
      if (stopping !== null) return writer.shed('evidence');
      const waiting = { task, ticket: taken.begin() };
      if (parts.isBusy?.() === true || writer.isBehind() || !line.join(waiting)) leaveOut(waiting);
    },
    coming(work) {
      const ticket = coming.begin();
      const done = (): void => coming.done(ticket);
      work.then(done, done);
    },
    async settled() {
      // Whoever has just had an answer may ask before the process has noticed that it has left.
      await yieldToEventLoop();
      await coming.settled();
      const all = taken.settled();
      waiters++;
      writer.hasten();
      await all;
      waiters--;
    },
    stop() {
      stopping ??= finish();
      return stopping;
    },
  };
}

/** Resolves when the work is done, or the time is over. */
async function within(duration_ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, duration_ms);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}

// The line of calls that wait for their shadow: bounded by number and by bytes, served one a turn of the process.

export interface WaitingTask {
  task: ShadowTask;
  ticket: number;
}

export interface ShadowLine {
  /** @returns false when there is no room. */
  join(waiting: WaitingTask): boolean;
  /** Sends everybody away. */
  empty(): WaitingTask[];
}

/**
 * @param room is waited for before each task.
 * @param serve is handed one task a turn, so that whatever else the process has to do comes in between.
 */
export function createShadowLine(
  limits: { tasks: number; bytes: number },
  room: () => Promise<void>,
  serve: (waiting: WaitingTask) => void,
): ShadowLine {
  const line: (WaitingTask & { weight: number })[] = [];
  let bytes = 0;
  let serving = false;
  const serveAll = async (): Promise<void> => {
    serving = true;
    while (line.length > 0) {
      await yieldToEventLoop();
      await room();
      const first = line.shift();
      if (first === undefined) break;
      bytes -= first.weight;
      serve(first);
    }
    serving = false;
  };
  return {
    join({ task, ticket }) {
      const weight = taskBytes(task);
      if (line.length >= limits.tasks || bytes + weight > limits.bytes) return false;
      line.push({ task, ticket, weight });
      bytes += weight;
      if (!serving) void serveAll();
      return true;
    },
    empty() {
      bytes = 0;
      return line.splice(0);
    },
  };
}

// How much memory a value holds on to, roughly and quickly, so that what waits can be bounded in bytes.

/** An object, its keys aside; what V8 takes for a small one. */
const OBJECT_BYTES = 48;
const NUMBER_BYTES = 8;
/** An exchange without messages: ids, times, the names of some twenty rows. */
const EXCHANGE_BYTES = 1_500;

export function exchangeBytes(exchange: Exchange): number {
  return EXCHANGE_BYTES + (exchange.messages === null ? 0 : bytesOf(exchange.messages));
}

/** The captured messages of a task are those of its exchange, or go into it. */
export function taskBytes({ exchange, request, legacy_body, messages }: ShadowTask): number {
  return exchangeBytes({ ...exchange, messages }) + bytesOf(request) + bytesOf(legacy_body);
}

/** Depth is bounded by the parsers that made the value (`contract/json.ts`). */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length * 2;
  if (value === null || typeof value !== 'object') return NUMBER_BYTES;
  let sum = OBJECT_BYTES;
  for (const [key, inner] of Object.entries(value)) sum += key.length * 2 + bytesOf(inner);
  return sum;
}
