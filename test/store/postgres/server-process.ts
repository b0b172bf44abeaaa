/** Starts a server in its own process: the library that starts it exits its process with 0, even after errors. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface ServerProcess {
  url: string;
  /** Of the server's main process. */
  pid: number;
  stop(): Promise<void>;
}

/** @throws Error when the server ends instead. */
export async function startServerProcess(): Promise<ServerProcess> {
  const child = fork(join(import.meta.dirname, 'server-child.ts'));
  const gone = once(child, 'exit');
  const ended = gone.then(([code]) => {
    throw new Error(`the PostgreSQL server ended with ${code} instead of starting`);
  });
  const [said] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => undefined);
  const { url, pid } = said as { url: string; pid: number }; // sent by `server-child.ts`
  return {
    url,
    pid,
    async stop() {
      child.disconnect();
      await gone;
    },
  };
}
