/** The address that tills and the upstream call: it outlives restarts of Puente, and loses answers on their way. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  port: number;
  /** Where Puente listens now; null: every connection is refused. */
  target: number | null;
  /** Resolves when the next answer was lost: its first bytes come to the relay, and both sockets are destroyed. */
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
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
