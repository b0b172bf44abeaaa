/** Starts processes that run seeds, and gathers what they say. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Violation } from './invariants.ts';
import { added, type Line, NOTHING, type Range, type Tally, type Work } from './seeds.ts';
import type { Small } from './shrink.ts';

export interface Outcome {
  tally: Tally;
  found: { seed: number; violations: Violation[]; small: Small | null }[];
}

export interface WorkerOptions {
  /** Name of the bug that the product is given (`bugs/list.ts`). */
  bug?: string;
  onProgress?: (tally: Tally) => void;
}

/**
 * Runs a range of seeds in as many processes as are asked for.
 * @throws Error when a process fails by itself.
 */
export async function runInProcesses(range: Range, processes: number, options: WorkerOptions = {}): Promise<Outcome> {
  const tallies: Tally[] = Array.from({ length: processes }, () => NOTHING);
  const found: Outcome['found'] = [];
  const hear = (index: number) => (line: Line) => {
    if (line.kind === 'violation') found.push(line);
    else tallies[index] = line.tally;
    options.onProgress?.(tallies.reduce(added, NOTHING));
  };
  await Promise.all(
    tallies.map((_, index) => {
      const count = Math.floor((range.count - index - 1) / processes) + 1;
      const share = { ...range, from: range.from + index * range.stride, stride: range.stride * processes, count };
      return runProcess(share, options.bug, hear(index));
    }),
  );
  found.sort((one, other) => one.seed - other.seed);
  return { tally: tallies.reduce(added, NOTHING), found };
}

/** Replays plans from files, with a seeded bug where one is named. */
export async function replayInProcess(files: string[], bug?: string): Promise<Outcome> {
  const found: Outcome['found'] = [];
  let tally = NOTHING;
  await runProcess({ files }, bug, (line) => {
    if (line.kind === 'violation') found.push(line);
    else tally = line.tally;
  });
  return { tally, found };
}

const SEEDS = join(import.meta.dirname, 'seeds.ts');
const LOADER = join(import.meta.dirname, 'bugs', 'loader.ts');
/** What one process has compiled the next one need not. */
const COMPILED = join(tmpdir(), 'puente-simulation-compiled');
/** A process that fails says why at the end of what it writes. */
const LAST_WORDS = 2_000;

function runProcess(work: Work, bug: string | undefined, hear: (line: Line) => void): Promise<void> {
  const loader = bug === undefined ? [] : ['--import', LOADER];
  const child = spawn(process.execPath, [...loader, SEEDS, JSON.stringify(work)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_ENV: 'test',
      NODE_COMPILE_CACHE: COMPILED,
      ...(bug === undefined ? {} : { PUENTE_SEEDED_BUG: bug }),
    },
  });
  createInterface({ input: child.stdout }).on('line', (line) => hear(JSON.parse(line) as Line));
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-LAST_WORDS);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`a simulation ended with ${code}: ${words}`)),
    );
  });
}
