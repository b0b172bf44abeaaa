/** The writer thread as the main thread has it. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { PuenteError } from '../../error.ts';
import type { Heap } from '../../proxy/records/upkeep.ts';
import { storeUnusable } from './failure.ts';
import type { FromWriter, ToWriter, WriterSetup } from './messages.ts';
import { pack } from './packed.ts';
import type { Committer } from './queue.ts';

/**
 * Starts the writer thread on a prepared file.
 * @throws PuenteError store_unusable when the writer refuses the file.
 */
export async function startWriterThread(setup: WriterSetup): Promise<Committer> {
  // The writer runs on Node's own type stripping, whatever loader the main thread was started with.
  const worker = new Worker(new URL('./writer.ts', import.meta.url), { workerData: setup, execArgv: [] });
  await untilReady(worker, setup.path);
  const thread = threadOf(worker);
  thread.heap();
  return thread;
}

function threadOf(worker: Worker): Committer {
  return {
    core: availableParallelism() > 1 ? 'own' : 'shared',
    post: (units) => worker.postMessage({ kind: 'group', units: pack(units) } satisfies ToWriter),
    close: () => worker.postMessage({ kind: 'close' } satisfies ToWriter),
    heap: heapOf(worker),
    listen(ear) {
      worker.on('message', ear.message);
      worker.on('error', (error) => ear.failed(`the writer thread failed: ${error.message}`));
      worker.on('exit', ear.ended);
    },
  };
}

/** A thread that waits for its disk does not answer, so nobody waits for it. */
function heapOf(worker: Worker): () => Heap | null {
  let known: Heap | null = null;
  let is_asked = false;
  const ask = async (): Promise<void> => {
    const { used_heap_size, total_heap_size } = await worker.getHeapStatistics();
    known = { used_bytes: used_heap_size, total_bytes: total_heap_size };
    is_asked = false;
  };
  return () => {
    if (!is_asked) {
      is_asked = true;
      // Refused by a thread that has ended, which is never asked again.
      void ask().catch(() => undefined);
    }
    return known;
  };
}

function untilReady(worker: Worker, path: string): Promise<void> {
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
