/** A worker's side: says that it is ready, and answers for the numbers of all workers. */
import process from 'node:process';
import { AggregatorRegistry } from 'prom-client';
import type { Reading } from '../proxy/telemetry/metrics.ts';
import { type FromWorker, readMessage, type ToWorker } from './worker-messages.ts';

export interface WorkerSide {
  ready(banner: string): void;
  /** Another one has taken its place, so that no balancer has to be told that it leaves. */
  isReplaced(): boolean;
  /** The page of `/metrics`, over all workers. Another worker that does not answer in time is left out. */
  pageOfAll(): Promise<{ type: string; text: string }>;
}

/** @param read this worker's own numbers. */
export function joinWorkers(read: () => Promise<Reading[]>): WorkerSide {
  const waiting = new Map<number, (readings: Reading[][]) => void>();
  let asked = 0;
  let is_replaced = false;
  const tell = (message: FromWorker): void => void process.send?.(message);
  process.on('message', (raw) => {
    const message = readMessage<ToWorker>(raw);
    if (message?.puente === 'replaced') {
      is_replaced = true;
      process.kill(process.pid, 'SIGTERM');
    }
    if (message?.puente === 'read') {
      // Who asked waits a bounded time, and goes without these numbers.
      read().then(
        (readings) => tell({ puente: 'readings', id: message.id, readings }),
        () => undefined,
      );
    }
    if (message?.puente === 'all') {
      waiting.get(message.id)?.(message.readings);
      waiting.delete(message.id);
    }
  });
  return {
    isReplaced: () => is_replaced,
    ready: (banner) => tell({ puente: 'ready', banner }),
    async pageOfAll() {
      const id = ++asked;
      const all = new Promise<Reading[][]>((resolve) => waiting.set(id, resolve));
      tell({ puente: 'asks', id });
      const registry = AggregatorRegistry.aggregate(await all);
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}
