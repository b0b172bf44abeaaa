/** An address in front of a PostgreSQL server, like a virtual address or a proxy: redirected, cut or stalled. */
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../listen.ts';

export interface Relay {
  urlFor(direct: string): string;
  /** Points the address to another port, and ends every connection. */
  leadTo(port: number): void;
  cut(): void;
  /** Stops all traffic without closing a connection. @returns resumes it. */
  stall(): () => void;
  /**
   * Commits a write of a sale, drops the answer and ends the connection. @param skip answers so many such writes
   * before. @returns when it has happened.
   */
  swallowCommit(skip: number): Promise<void>;
  close(): Promise<void>;
}

/** The message that prepares a statement: its name and its text. */
const PREPARED = /P[\s\S]{4}([0-9a-f]{32})\0([^\0]*)\0/g;
const OF_SALES = /\b(?:INSERT INTO|UPDATE) links\b/;
/** The message ReadyForQuery, outside of a transaction. */
const READY = 'Z\0\0\0\x05I';

/** One connection: whether it writes a sale now, and whether that write may be answered. */
interface Line {
  writes: boolean;
  is_passed: boolean;
}

interface Pending {
  skip: number;
  happened(): void;
}

export async function startRelay(port: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const names = new Set<string>();
  const state = { port, is_stalled: false, pending: null as Pending | null };
  const server = createServer((incoming) => {
    const outgoing = connect(state.port, '127.0.0.1');
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(one);
      if (state.is_stalled) one.pause();
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    const line: Line = { writes: false, is_passed: false };
    incoming.on('data', (bytes) => {
      const asked = bytes.toString('latin1');
      for (const [, name = '', text = ''] of asked.matchAll(PREPARED)) if (OF_SALES.test(text)) names.add(name);
      line.writes ||= [...names].some((name) => asked.includes(name));
      outgoing.write(bytes);
    });
    outgoing.on('data', passing(state, line, incoming));
  });
  const own = await listen(server);
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    urlFor: (direct) => Object.assign(new URL(direct), { port: own }).href,
    leadTo(other) {
      state.port = other;
      cut();
    },
    cut,
    stall() {
      state.is_stalled = true;
      for (const socket of sockets) socket.pause();
      return () => {
        state.is_stalled = false;
        for (const socket of sockets) socket.resume();
      };
    },
    swallowCommit: (skip) =>
      new Promise((resolve) => {
        state.pending = { skip, happened: resolve };
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

/** Forwards the server's messages, except for an answer to be dropped. */
function passing(state: { pending: Pending | null }, line: Line, incoming: Socket): (bytes: Buffer) => void {
  let happened: (() => void) | null = null;
  return (bytes) => {
    const is_over = bytes.toString('latin1').endsWith(READY);
    const { pending } = state;
    if (happened === null && line.writes && !line.is_passed && pending !== null) {
      line.is_passed = pending.skip-- > 0;
      if (!line.is_passed) {
        state.pending = null;
        happened = pending.happened;
      }
    }
    if (is_over) Object.assign(line, { writes: false, is_passed: false });
    if (happened === null) return void incoming.write(bytes);
    if (!is_over) return;
    incoming.destroy();
    happened();
  };
}
