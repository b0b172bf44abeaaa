/** A primary server with a synchronous standby, behind one address that leads to either of them. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Server, startServer } from '../store/postgres/server.ts';
import { startRelay } from './relay.ts';

export interface Pair {
  url: string;
  /** The primary stops waiting for the standby, which receives no later write. */
  fallBehind(): Promise<void>;
  /** Kills the primary, promotes the standby, and points the address to it. */
  failOver(): Promise<void>;
  remove(): Promise<void>;
}

export async function startPair(): Promise<Pair> {
  const primary = await startServer();
  const direct = await primary.database();
  const address = await startRelay(primary.port);
  const stream = await startRelay(primary.port);
  const standby = await follow(primary, direct, stream.urlFor(direct));
  return {
    url: address.urlFor(direct),
    async fallBehind() {
      await primary.run(direct, 'ALTER SYSTEM RESET synchronous_standby_names');
      await primary.run(direct, 'SELECT pg_reload_conf()');
      stream.stall();
    },
    async failOver() {
      await primary.kill();
      address.cut();
      const there = Object.assign(new URL(direct), { port: standby.port }).href;
      await standby.run(there, 'SELECT pg_promote()');
      address.leadTo(standby.port);
    },
    async remove() {
      await Promise.all([address.close(), stream.close()]);
      await standby.remove();
      await primary.remove();
    },
  };
}

/** Copies the folder of the stopped primary, and starts a standby on it that follows by `stream`. */
async function follow(primary: Server, url: string, stream: string): Promise<Server> {
  await primary.stop();
  const copy = mkdtempSync(join(tmpdir(), 'puente-postgres-'));
  const { status, stderr } = spawnSync('cp', ['-a', `${primary.folder}/.`, copy], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the primary's folder was not copied: ${stderr}`);
  writeFileSync(join(copy, 'standby.signal'), '');
  await primary.start();
  const { username, password, port } = new URL(stream);
  const way = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=standby`;
  const standby = await startServer([`primary_conninfo=${way}`], copy);
  await primary.run(url, 'ALTER SYSTEM SET synchronous_standby_names = standby');
  await primary.run(url, 'SELECT pg_reload_conf()');
  const IN_STEP = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`;
  while ((await primary.run(url, IN_STEP)).length === 0) await pause(50);
  return standby;
}
