/** The real server as a child process: started on a data directory, armed with a failpoint, killed by its pid. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');
/** Compile cache of builds that have none of their own: that of the run (`vitest.config.ts`). */
const COMPILE_CACHE = process.env.NODE_COMPILE_CACHE ?? join(ROOT, 'node_modules/.cache/puente');
/** A start takes about a second here, and much longer on shared cores; beyond this it hangs. */
const START_LIMIT_MS = 120_000;
/** A server to start: its working directory and entry file. */
export interface Build {
  cwd: string;
  entry: string;
  /** Compile cache, which makes a start cheaper; filled when the server is ready, and at a clean stop. */
  compiled?: string;
  /** Words before Node, e.g. strace and its options. */
  wrapper?: readonly string[];
  node_options?: readonly string[];
}

export const SOURCES: Build = { cwd: ROOT, entry: join('src', 'main.ts') };

/** Shown by a failing test. */
const OUTPUT_LINES = 40;

export interface Child {
  pid: number;
  process: ChildProcess;
  public_url: string;
  ops_url: string;
  alive(): boolean;
  gone: Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
  output(): string;
}

/** The server exited before its doors were open. */
export class StartRefused extends Error {
  readonly lines: string[];
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;

  constructor(lines: string[], { exitCode, signalCode }: ChildProcess) {
    super(`the server did not start, and ended with ${exitCode ?? signalCode}:\n${lines.join('\n')}`);
    this.lines = lines;
    this.code = exitCode;
    this.signal = signalCode;
  }
}

const running = new Set<ChildProcess>();

/**
 * Starts a server. Null when it was killed before its doors were open, as by a failpoint of the start.
 * @param environment the child inherits only PATH from this process.
 * @param onSpawn receives a function that kills the server while it starts.
 */
export async function startChild(
  environment: Record<string, string>,
  build: Build = SOURCES,
  onSpawn: (kill: () => void) => void = () => undefined,
): Promise<Child | null> {
  const { cwd, entry, compiled = COMPILE_CACHE, wrapper = [], node_options = [] } = build;
  const [program = '', ...words] = [...wrapper, process.execPath, ...node_options, entry];
  const child = spawn(program, words, {
    cwd,
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: compiled, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  onSpawn(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  let text = '';
  const gone = once(child, 'close').then(() => void running.delete(child));
  const opened = new Promise<boolean>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text = (text + chunk).slice(-65_536);
        lines.push(...chunk.split('\n').filter((line) => line !== ''));
        lines.splice(0, lines.length - OUTPUT_LINES);
        if (text.includes('Puente is ready.') && /new merchants/.test(text)) resolve(true);
      });
    }
    void gone.then(() => resolve(false));
  });
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, START_LIMIT_MS);
  const isOpen = await opened;
  clearTimeout(limit);
  if (!isOpen) {
    // A start that hangs is an error, not a kill that the test intended.
    if (isLate) throw new Error(`the server was not ready after ${START_LIMIT_MS} ms:\n${lines.join('\n')}`);
    if (child.signalCode === 'SIGKILL') return null;
    throw new StartRefused(lines, child);
  }
  return handle(child, gone, text, lines);
}

function handle(child: ChildProcess, gone: Promise<void>, banner: string, lines: string[]): Child {
  const address = (name: string): string => new RegExp(`${name} +(http://\\S+)`).exec(banner)?.[1] ?? '';
  return {
    pid: child.pid ?? 0,
    process: child,
    public_url: address('public door'),
    ops_url: address('ops door'),
    alive: () => child.exitCode === null && child.signalCode === null,
    gone,
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
    async stop() {
      child.kill('SIGTERM');
      await gone;
    },
    output: () => lines.join('\n'),
  };
}

export async function killChildren(): Promise<void> {
  const left = [...running];
  for (const child of left) child.kill('SIGKILL');
  await Promise.all(left.map((child) => (child.exitCode ?? child.signalCode) !== null || once(child, 'close')));
}

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
