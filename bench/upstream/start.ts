/** Starts the upstream that all contestants share (nginx if installed, else Node), and reads its request log. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts } from '../../test/listen.ts';
import { findProgram } from '../machine.ts';
import { type Running, startProcess } from '../processes.ts';
import { LARGE_BYTES } from './answers.ts';
import { nginxUpstream } from './nginx.ts';

export interface Upstream extends Running {
  program: 'nginx' | 'Node';
  /** Requests by route; call it after `stop`. */
  seen(): Seen;
}

/** Numbers of the counted routes, in the order of their requests. */
export interface Seen {
  orders: readonly string[];
  intents: number;
  completions: number;
  notices: number;
  /** Number of distinct idempotency keys, which must equal that of orders. */
  keys: number;
  unknown: number;
}

/** nginx writes its log this long after a request. */
const LOG_DELAY_MS = 400;

/** @throws Error when the program does not start. */
export async function startUpstream(
  directory: string,
  core: number | null,
  program = upstreamProgram(),
): Promise<Upstream> {
  const born_at = Date.now();
  const [born, born_later] = [born_at, born_at + 1000].map((at) => new Date(at).toISOString()) as [string, string]; // a pair
  const common = { name: 'upstream', core, directory };
  const running =
    program === 'nginx'
      ? await startNginx(directory, core, born, born_later)
      : await startProcess({
          ...common,
          script: 'bench/upstream/node.ts',
          arguments: [directory, born, born_later],
          ready: /(http:\S+)/,
        });
  return {
    ...running,
    program,
    async stop() {
      await pause(LOG_DELAY_MS);
      await running.stop();
    },
    seen: () => readSeen(directory),
  };
}

export function upstreamProgram(): Upstream['program'] {
  return findProgram('nginx') === null ? 'Node' : 'nginx';
}

async function startNginx(directory: string, core: number | null, born: string, later: string): Promise<Running> {
  const [port = 0] = (await freePorts(1)).map(Number);
  const file = join(directory, 'nginx.conf');
  writeFileSync(join(directory, 'large'), Buffer.alloc(LARGE_BYTES, 'x'));
  writeFileSync(file, nginxUpstream(directory, port, born, later));
  return startProcess({
    name: 'upstream',
    command: [findProgram('nginx') ?? 'nginx', '-p', directory, '-c', file],
    core,
    directory,
    port,
  });
}

function readSeen(directory: string): Seen {
  const lines = (name: string): string[] => {
    const path = join(directory, `${name}.log`);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  };
  const orders = lines('order');
  return {
    orders: orders.map((line) => line.split(' ', 1)[0] ?? ''),
    intents: lines('intent').length,
    completions: lines('completion').length,
    notices: lines('notice').length,
    unknown: lines('unknown').length,
    keys: new Set(orders.map((line) => line.split(' ')[1])).size,
  };
}
