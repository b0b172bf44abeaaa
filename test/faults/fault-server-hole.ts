/** A port on which connections are neither taken nor refused: a listener with a full queue, whose thread sleeps. */
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A queue of length 1 holds two connections on Linux; some more make sure that it is full. */
const FILLERS = 4;

const LISTENER = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  setImmediate(() => Atomics.wait(new Int32Array(workerData), 0, 0));
});`;

/** Connections to `url` hang until their own timeout. */
export async function startBlackHole(): Promise<{ url: string; close(): Promise<void> }> {
  const latch = new SharedArrayBuffer(4);
  const worker = new Worker(LISTENER, { eval: true, workerData: latch });
  const port = await new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const fillers = await fill(port);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const socket of fillers) socket.destroy();
      Atomics.store(new Int32Array(latch), 0, 1);
      Atomics.notify(new Int32Array(latch), 0);
      await worker.terminate();
    },
  };
}

/** Connects until the queue takes no more; a filler that hangs is as good as one that got in. */
async function fill(port: number): Promise<Socket[]> {
  const fillers: Socket[] = [];
  for (let number = 0; number < FILLERS; number++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    fillers.push(socket);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 100);
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(null);
      });
    });
  }
  return fillers;
}
