/** Instructions of one translated create: a number that other work on the machine does not move, so that a regression shows. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPuente } from '../contestants/puente.ts';
import { askLoad, startLoad } from '../load/start.ts';
import { findProgram } from '../machine.ts';
import { startUpstream } from '../upstream/start.ts';
import { untilQuiet } from './quiet.ts';

export interface InstructionsResult {
  /** Which program counted. */
  counter: 'perf' | 'callgrind';
  creates: number;
  per_create: number;
}

/** How each counter is used: valgrind is some fifty times slower than the processor, so that it sees fewer creates. */
const COUNTERS = {
  perf: { warm_up: 10_000, counted: 10_000, in_flight: 16 },
  callgrind: { warm_up: 300, counted: 300, in_flight: 4 },
} as const;
const SLICE_MS = 2000;
/** A machine too busy for so many creates in this time says so, instead of counting timers. */
const LIMIT_MS = 180_000;
const START_LIMIT_MS = 300_000;

/** Null where instructions can be counted; otherwise why they can't. */
export function instructionsMissing(): string | null {
  return counter() === null ? 'this machine shows no instruction counter to perf, and valgrind is not installed' : null;
}

/** @throws Error when there is no counter. */
export async function measureInstructions(directory: string): Promise<InstructionsResult> {
  const chosen = counter();
  if (chosen === null) throw new Error(instructionsMissing() ?? '');
  const { warm_up, counted, in_flight } = COUNTERS[chosen];
  const upstream = await startUpstream(directory, null);
  const load = await startLoad(directory, null);
  const out = join(directory, 'callgrind.out');
  const wrapper =
    chosen === 'perf'
      ? []
      : [
          'valgrind',
          '--tool=callgrind',
          '--instr-atstart=no',
          '--smc-check=all-non-file',
          `--callgrind-out-file=${out}`,
        ];
  const ground = { upstream: upstream.said, core: null, directory, wrapper };
  // Slow as it is under valgrind, a create may take longer than a till would wait.
  const slow = { PUENTE_CREATE_ATTEMPTS: '1', PUENTE_LIMITS_LAG_MS: '60000' };
  const puente = await startPuente(ground, chosen === 'perf' ? {} : slow, START_LIMIT_MS);
  const common = { url: puente.said, case_name: 'create', targets: [], translated: true, in_flight, rate: null };
  let first = 1;
  const make = async (least: number): Promise<number> => {
    const started = first;
    for (const limit = performance.now() + LIMIT_MS; first - started < least; ) {
      if (performance.now() > limit)
        throw new Error(`only ${first - started} of ${least} creates in ${LIMIT_MS / 1000} s`);
      const { sent, faults } = await askLoad(load, { ...common, first, duration_ms: SLICE_MS });
      if (faults.length > 0) throw new Error(faults.join('; '));
      first += sent;
    }
    return first - started;
  };
  await make(warm_up);
  await untilQuiet(puente.pid);
  const end = startCounting(chosen, puente.pid);
  const creates = await make(counted);
  await untilQuiet(puente.pid);
  const ended = await end();
  await puente.stop();
  const instructions = ended ?? readTotal(out);
  load.child.disconnect();
  await upstream.stop();
  return { counter: chosen, creates, per_create: instructions / creates };
}

function counter(): InstructionsResult['counter'] | null {
  const perf = spawnSync('perf', ['stat', '-x,', '-e', 'instructions:u', 'true'], { encoding: 'utf8' });
  if (perf.status === 0 && /^\d+,/m.test(perf.stderr)) return 'perf';
  return findProgram('valgrind') === null || findProgram('callgrind_control') === null ? null : 'callgrind';
}

/** Ends with the count; null when the program tells it at its own end. */
function startCounting(chosen: 'perf' | 'callgrind', pid: number): () => Promise<number | null> {
  if (chosen === 'callgrind') {
    spawnSync('callgrind_control', ['--instr=on', String(pid)]);
    return async () => {
      spawnSync('callgrind_control', ['--instr=off', String(pid)]);
      return null;
    };
  }
  const perf = spawn('perf', ['stat', '-x,', '-e', 'instructions:u', '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  perf.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  return async () => {
    perf.kill('SIGINT');
    await once(perf, 'close');
    return Number(/^(\d+),/m.exec(text)?.[1]);
  };
}

/** Threads have totals of their own. */
function readTotal(out: string): number {
  const totals = [...readFileSync(out, 'utf8').matchAll(/^(?:totals|summary): (\d+)/gm)].map(([, count]) =>
    Number(count),
  );
  return Math.max(...totals);
}
