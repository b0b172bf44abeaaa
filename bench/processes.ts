/** Starts the processes of the benchmark, each on its core, and stops them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { TASKSET } from './machine.ts';

export interface Running {
  pid: number;
  /** The URL for requests, or whatever the first group of `ready` matched. */
  said: string;
  child: ChildProcess;
  log: string;
  ready_ms: number;
  /** @throws Error when the process does not end cleanly. */
  stop(): Promise<void>;
}

export interface ProcessPlan {
  name: string;
  /** A script below a checkout's root, run by Node; or `command`, a program with its arguments. */
  script?: string;
  /** The checkout; by default this one. */
  root?: string;
  arguments?: string[];
  command?: string[];
  env?: Record<string, string>;
  /** Null leaves it to the system. */
  core: number | null;
  /** Directory of its output file: a pipe would cost time during a measurement. */
  directory: string;
  /** Matches its output when it is ready; or `port`, which then accepts connections. */
  ready?: RegExp;
  port?: number;
  node_options?: string[];
  fsync_delay_us?: number;
  /** Time limit of the start; a large database needs longer. */
  start_limit_ms?: number;
}

export const ROOT = join(import.meta.dirname, '..');
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 60_000;
const POLL_MS = 5;

/** @throws Error with the process's output when it ends or is not ready in time. */
export async function startProcess(plan: ProcessPlan): Promise<Running> {
  const log = join(plan.directory, `${plan.name}.log`);
  const output = openSync(log, 'w');
  const [command = '', ...rest] = commandOf(plan);
  const started = performance.now();
  const child = spawn(command, rest, {
    cwd: plan.directory,
    env: { ...process.env, NODE_ENV: 'production', ...plan.env },
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.on('error', () => undefined); // a missing program, reported below by name
  const said = await untilReady(plan, child, log);
  const ready_ms = performance.now() - started;
  return { pid: child.pid ?? 0, said, child, log, ready_ms, stop: () => stop(plan, child) };
}

const running = new Set<ChildProcess>();

/** Kills all processes that still run, at the end of the benchmark. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

function commandOf(plan: ProcessPlan): string[] {
  const node = [
    process.execPath,
    ...(plan.node_options ?? []),
    join(plan.root ?? ROOT, plan.script ?? ''),
    ...(plan.arguments ?? []),
  ];
  const own = plan.command ?? node;
  const pinned = plan.core === null ? own : [TASKSET, '-c', String(plan.core), ...own];
  return plan.fsync_delay_us === undefined ? pinned : slowDiskCommand(plan.fsync_delay_us, plan.core, pinned);
}

/**
 * A slow disk: strace delays each fsync of one process and all its threads. `--seccomp-bpf` stops the process only for
 * these calls, so nothing else gets slower; `-D` keeps it our child. The tracer runs on core 0 with the load, so that
 * it takes no time from a pinned contestant.
 */
function slowDiskCommand(delay_us: number, core: number | null, command: readonly string[]): string[] {
  const strace = [
    'strace',
    '-D',
    '-f',
    '--seccomp-bpf',
    '-o',
    '/dev/null',
    '-e',
    'trace=fsync,fdatasync',
    '-e',
    `inject=fsync,fdatasync:delay_enter=${delay_us}`,
    ...command,
  ];
  return core === null ? strace : ['taskset', '-c', '0', ...strace];
}

async function untilReady(plan: ProcessPlan, child: ChildProcess, log: string): Promise<string> {
  const limit = Date.now() + (plan.start_limit_ms ?? START_LIMIT_MS);
  for (;;) {
    const text = readFileSync(log, 'utf8');
    const found = plan.ready?.exec(text);
    if (found != null) return found[1] ?? '';
    if (plan.port !== undefined && (await takesConnections(plan.port))) return `http://127.0.0.1:${plan.port}`;
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null || Date.now() > limit) {
      child.kill('SIGKILL');
      throw new Error(`${plan.name} did not start: ${text.trim() || 'it said nothing'}`);
    }
    await pause(POLL_MS);
  }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

async function stop({ name, command }: ProcessPlan, child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(limit);
  // Our processes exit by themselves on the signal; HAProxy dies of it, which is fine.
  const isEnded = child.exitCode === 0 || (command !== undefined && child.signalCode === 'SIGTERM');
  if (!isEnded) throw new Error(`${name} did not stop cleanly: ${child.signalCode ?? child.exitCode}.`);
}

export interface StartScript {
  environment: Record<string, string>;
  options: string[];
}

/** Parses `scripts.start` of `package.json`: variables, `exec node`, options, and the script. */
export function readStartScript(root: string): StartScript {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const words = String(scripts.start).split(' ');
  const variables = words.slice(0, words.indexOf('exec')).map((word) => word.split('=') as [string, string]); // NAME=value
  const environment: Record<string, string> = Object.fromEntries(variables);
  // npm runs it in the root; a contestant runs in its own folder and would otherwise compile everything at each start.
  const { NODE_COMPILE_CACHE: cache } = environment;
  if (cache !== undefined) environment.NODE_COMPILE_CACHE = resolve(root, cache);
  return { environment, options: words.filter((word) => word.startsWith('--')) };
}
