/** A port that neither accepts nor refuses connections: a listener with a full queue whose thread is blocked. */
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A queue of length 1 holds two connections on Linux; two more make sure that it is full. */
const FILLERS = 4;

const LISTENER = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  setImmediate(() => Atomics.wait(new Int32Array(workerData), 0, 0));
});`;

/** Connections to `url` hang until the client's timeout. */
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

/** Connects until the queue is full; a filler that hangs is fine too. */
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
