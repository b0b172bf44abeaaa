/** Starts the processes of the benchmark, each on its core, and stops them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TASKSET } from './machine.ts';

export interface Running {
  pid: number;
  /** What the first group of `ready` caught, usually the URL. */
  said: string;
  child: ChildProcess;
  /** @throws Error when the process does not end cleanly. */
  stop(): Promise<void>;
}

export interface ProcessPlan {
  name: string;
  /** Path below the repository's root. */
  script: string;
  arguments?: string[];
  env?: Record<string, string>;
  /** Null leaves it to the system. */
  core: number | null;
  /** Where its output goes: a file, so that reading it costs nobody anything during a measurement. */
  directory: string;
  /** What it prints when it is ready. */
  ready: RegExp;
  node_options?: string[];
}

const ROOT = join(import.meta.dirname, '..');
const START_LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 30_000;
const POLL_MS = 20;

/** @throws Error with the process's own output when it ends, or says nothing in time. */
export async function startProcess(plan: ProcessPlan): Promise<Running> {
  const log = join(plan.directory, `${plan.name}.log`);
  const output = openSync(log, 'w');
  const node = [process.execPath, ...(plan.node_options ?? []), join(ROOT, plan.script), ...(plan.arguments ?? [])];
  const [command = '', ...rest] = plan.core === null ? node : [TASKSET, '-c', String(plan.core), ...node];
  const child = spawn(command, rest, {
    cwd: plan.directory,
    env: { ...process.env, NODE_ENV: 'production', ...plan.env },
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  running.add(child);
  child.once('exit', () => running.delete(child));
  const said = await untilReady(plan, child, log);
  return { pid: child.pid ?? 0, said, child, stop: () => stop(plan.name, child) };
}

const running = new Set<ChildProcess>();

/** Ends whatever still runs, at once; for the end of the benchmark itself. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

async function untilReady(plan: ProcessPlan, child: ChildProcess, log: string): Promise<string> {
  const limit = Date.now() + START_LIMIT_MS;
  for (;;) {
    const text = readFileSync(log, 'utf8');
    const found = plan.ready.exec(text);
    if (found !== null) return found[1] ?? '';
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > limit) {
      child.kill('SIGKILL');
      throw new Error(`${plan.name} did not start: ${text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function stop(name: string, child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(limit);
  if (child.exitCode !== 0) throw new Error(`${name} did not stop cleanly: ${child.signalCode ?? child.exitCode}.`);
}
