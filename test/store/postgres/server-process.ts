/** Starts a server in a process of its own: the library that starts it ends whoever loads it with 0, whatever went wrong. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface ServerProcess {
  /** Of the database that every server has. */
  url: string;
  /** Of its first process, whose children do the work. */
  pid: number;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** @throws Error when it ends instead. */
export async function startServerProcess(): Promise<ServerProcess> {
  const child = fork(join(import.meta.dirname, 'server-child.ts'));
  const gone = once(child, 'exit');
  const ended = gone.then(([code]) => {
    throw new Error(`the PostgreSQL server ended with ${code} instead of starting`);
  });
  const [said] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => undefined);
  const { url, pid } = said as { url: string; pid: number }; // what our own process sends
  return {
    url,
    pid,
    async stop() {
      child.disconnect();
      await gone;
    },
  };
}
