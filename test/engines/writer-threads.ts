/**
 * Writer threads that serve the stores of a test process one after another: a thread of its own for each store is half
 * the processor time of a start (about 105 of 240 ms). What they run is the product's own (`src/store/sqlite/writer.ts`).
 */
import { MessageChannel, Worker } from 'node:worker_threads';
import type { BeginWriter, WriterThread } from '../../src/store/sqlite/group-commit.ts';

const idle: Worker[] = [];

/** A thread that serves no store at the moment, for a new one; it is free again when that store has closed. */
export const beginWriter: BeginWriter = (setup) => {
  const thread =
    idle.pop() ?? new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData: null, execArgv: [] });
  const { port1: port, port2 } = new MessageChannel();
  thread.postMessage({ port: port2, setup }, [port2]);
  // The open port keeps the process alive as a thread does; an idle thread does not.
  thread.unref();
  port.once('close', () => {
    idle.push(thread);
    port.emit('exit', 0);
  });
  // A port has the methods of a thread that a store calls, except this one.
  return Object.assign(port, { getHeapStatistics: () => thread.getHeapStatistics() }) as unknown as WriterThread;
};
