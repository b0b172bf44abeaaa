/** Starts processes that run seeds, and collects their results. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Bug, environmentOf } from './bugs/bug.ts';
import type { Trial } from './bugs/trials.ts';
import type { Violation } from './invariants.ts';
import { added, type Line, NOTHING, type Range, type Tally, type Work } from './seeds.ts';
import type { Small } from './shrink.ts';

export interface Outcome {
  tally: Tally;
  found: { seed: number; violations: Violation[]; small: Small | null }[];
}

export interface WorkerOptions {
  bug?: Bug;
  onProgress?: (tally: Tally) => void;
}

/** Beyond so many failed processes, the seeds are not the cause. */
const MOST_DEATHS = 20;

/**
 * A seed that ends its process is reported as a violation, and another process continues after it.
 * @throws Error when a process fails before its first seed, or too many fail.
 */
export async function runInProcesses(range: Range, processes: number, options: WorkerOptions = {}): Promise<Outcome> {
  const tallies: Tally[] = Array.from({ length: processes }, () => NOTHING);
  const found: Outcome['found'] = [];
  const share = async (index: number): Promise<void> => {
    const stride = range.stride * processes;
    let from = range.from + index * range.stride;
    let count = Math.floor((range.count - index - 1) / processes) + 1;
    for (let deaths = 0; count > 0; deaths++) {
      const before = tallies[index] ?? NOTHING;
      const died = await runProcess({ ...range, from, stride, count }, options.bug, (line) => {
        if (line.kind === 'violation') found.push(line);
        else tallies[index] = added(before, line.tally);
        options.onProgress?.(tallies.reduce(added, NOTHING));
      });
      if (died === null) return;
      if (died.seed === null || deaths === MOST_DEATHS) throw deathOf(died);
      found.push({ seed: died.seed, violations: [brokeOff(died)], small: null });
      const run = (died.seed - from) / stride + 1;
      // Unreported results of earlier seeds are lost: these seeds count, their contents do not.
      tallies[index] = { ...(tallies[index] ?? NOTHING), seeds: before.seeds + run };
      if (range.first) return;
      [from, count] = [died.seed + stride, count - run];
    }
  };
  await Promise.all(tallies.map((_, index) => share(index)));
  found.sort((one, other) => one.seed - other.seed);
  return { tally: tallies.reduce(added, NOTHING), found };
}

/** @throws Error when the process fails on its own. */
export async function rerunInProcess(files: string[]): Promise<Outcome> {
  const found: Outcome['found'] = [];
  let tally = NOTHING;
  const died = await runProcess({ files }, undefined, (line) => {
    if (line.kind === 'violation') found.push(line);
    else tally = line.tally;
  });
  if (died !== null) throw deathOf(died);
  return { tally, found };
}

/**
 * What each trial found, in their order. A trial that ends its process is reported as a violation, and another process
 * continues after it.
 * @throws Error when a process fails before its first trial.
 */
export async function runTrials(trials: Trial[]): Promise<Outcome['found'][]> {
  const found: Outcome['found'][] = trials.map(() => []);
  for (let next = 0; next < trials.length; ) {
    const first = next;
    const hear = (line: Heard): void => void (line.kind === 'violation' && found[first + line.seed]?.push(line));
    const died = await runProcess(trials.slice(first), undefined, hear);
    if (died === null) break;
    if (died.seed === null) throw deathOf(died);
    next = first + died.seed + 1;
    found[next - 1]?.push({ seed: died.seed, violations: [brokeOff(died)], small: null });
  }
  return found;
}

type Heard = Exclude<Line, { kind: 'begun' }>;

interface Death {
  seed: number | null;
  code: number | null;
  words: string;
}

function deathOf({ seed, code, words }: Death): Error {
  return new Error(`a simulation ended with ${code}${seed === null ? '' : ` at seed ${seed}`}: ${words}`);
}

function brokeOff(died: Death): Violation {
  return { invariant: 'run', text: deathOf(died).message };
}

const SEEDS = join(import.meta.dirname, 'seeds.ts');
const LOADER = join(import.meta.dirname, 'bugs', 'loader.ts');
const TRIALS = join(import.meta.dirname, 'bugs', 'trials.ts');
/** Compile cache, shared by all processes. */
const COMPILED = join(tmpdir(), 'puente-simulation-compiled');
/** Characters of the end of standard error, which has the reason of a failure. */
const LAST_WORDS = 2_000;

/** @returns how it failed; null when it finished its work. */
function runProcess(work: Work | Trial[], bug: Bug | undefined, hear: (line: Heard) => void): Promise<Death | null> {
  const loader = bug === undefined ? [] : ['--import', LOADER];
  const child = spawn(process.execPath, [...loader, Array.isArray(work) ? TRIALS : SEEDS, JSON.stringify(work)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_ENV: 'test',
      NODE_COMPILE_CACHE: COMPILED,
      ...(bug === undefined ? {} : environmentOf(bug)),
    },
  });
  let seed: number | null = null;
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    if (line.kind === 'begun') seed = line.seed;
    else hear(line);
  });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-LAST_WORDS);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0 ? null : { seed, code, words }));
  });
}
