/** Takes finished exchanges off the request path: shadows them, evaluates them, writes them; under load the shadow goes first. */

import { createRounds, nextTurn } from '../rounds.ts';
import type { Evidence } from '../runtime.ts';
import { createShadowLine, type WaitingTask } from './evidence-line.ts';
import { createShadow, exchangeOf, foundOf, type ShadowParts } from './evidence-shadow.ts';
import { exchangeBytes } from './evidence-weight.ts';
import { startWriter, type WriterParts } from './evidence-writer.ts';
import type { Exchange } from './exchange.ts';
import { type Found, nothingFound } from './findings.ts';

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

export interface RunningEvidence extends Evidence {
  /** Takes nothing more, leaves out the shadows that wait, and writes what is left within a bounded time. */
  stop(): Promise<void>;
}

export function startEvidence(parts: EvidenceParts): RunningEvidence {
  const { shadow_queue, shadow_queue_bytes } = parts.settings;
  const writer = startWriter(parts);
  const shadow = createShadow(parts);
  const taken = createRounds();
  let stopping: Promise<void> | null = null;
  /** Who waits for everything to be written doesn't wait for a beat. */
  let waiters = 0;
  const coming = createRounds();

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
      await nextTurn();
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
