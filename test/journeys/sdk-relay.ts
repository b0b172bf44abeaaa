/** The address that tills and upstream call: it survives restarts of Puente, and can lose answers. */
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../listen.ts';

export interface Relay {
  port: number;
  /** Puente's current port; null refuses every connection. */
  target: number | null;
  /** Resolves when the next answer is lost: its first bytes reach the relay, which destroys both sockets. */
  loseNextAnswer(): Promise<void>;
  close(): Promise<void>;
}

export async function startRelay(): Promise<Relay> {
  const sockets = new Set<Socket>();
  let lost: (() => void) | null = null;
  const server = createServer((till) => {
    if (relay.target === null) return void till.destroy();
    const puente = connect(relay.target, '127.0.0.1');
    for (const [one, other] of [
      [till, puente],
      [puente, till],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    till.pipe(puente);
    puente.on('data', (bytes) => {
      if (lost === null) return void till.write(bytes);
      lost();
      lost = null;
      till.resetAndDestroy();
    });
    puente.on('end', () => till.end());
  });
  const port = await listen(server);
  const relay: Relay = {
    port,
    target: null,
    loseNextAnswer: () =>
      new Promise((resolve) => {
        lost = resolve;
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return relay;
}
