/** Duration of a start after `kill -9` on a file with many links, by step; in turn with another checkout. */
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareSales } from '../cases/prepare.ts';
import { PUENTE, PUENTE_BESIDE } from '../contestants/contestants.ts';
import { databaseOf, startPuente } from '../contestants/puente.ts';
import { cpuSeconds } from '../machine.ts';
import { type Spread, spreadOf } from '../statistics.ts';
import { startUpstream } from '../upstream/start.ts';
import type { Check } from './checks.ts';
import { fillLinks } from './large-database.ts';

export interface StartsResult {
  links: number;
  /** This checkout first. */
  lines: StartsLine[];
  /** Time of the first creates after a start over that of as many once warm, start by start. */
  first_calls: Spread;
  checks: Check[];
}

export interface StartsLine {
  who: string;
  /** From the start of the process until its ready message, and its processor time until then. */
  ready_ms: Spread;
  cpu_ms: Spread;
  /** Ready time over that of this checkout, start by start. */
  ratio: Spread;
  /** Medians of each step, s, as Puente prints them; empty for a checkout that does not. */
  steps: Record<string, number>;
}

export interface StartsPlan {
  directory: string;
  beside: string | null;
  links: number;
  repetitions: number;
  progress(text: string): void;
}

const FIRST_CALLS = 1_000;
/** Between the first calls and those that they are compared with. */
const WARMING_CALLS = 20_000;

/** A start without the compile cache and proofs of an earlier one. */
const FIRST = `${PUENTE}, first start`;
/** Above the number of every other sale. */
const FIRST_SALE = 4_000_000_000;
const FIRST_CALL_SALE = FIRST_SALE + 1;
const FIRST_SALE_APART = 100_000;

interface Entry {
  who: string;
  root: string | null;
  directory: string;
  found: { ready_ms: number; cpu_ms: number; steps: Record<string, number> }[];
}

export async function measureStarts(plan: StartsPlan): Promise<StartsResult> {
  const { directory, beside, links, repetitions, progress } = plan;
  const upstream = await startUpstream(directory, null);
  const model = join(directory, 'model');
  mkdirSync(model);
  const small = await startPuente({ upstream: upstream.said, core: null, directory: model });
  await prepareSales(small.said, 'F', FIRST_SALE, 1);
  await small.stop();
  fillLinks(databaseOf(model), links, (text) => progress(`starts: ${text}`));
  const entries = [
    { who: PUENTE, root: null },
    ...(beside === null ? [] : [{ who: PUENTE_BESIDE, root: beside }]),
    { who: FIRST, root: null },
  ].map(({ who, root }, index): Entry => {
    const own = join(directory, `start-${index}`);
    cpSync(model, own, { recursive: true, filter: (path) => !path.endsWith('.lock') });
    return { who, root, directory: own, found: [] };
  });
  // The first start follows a clean stop, not a kill, so it is not counted.
  for (let turn = 0; turn <= repetitions; turn++)
    for (const entry of entries) {
      const found = await startOnce(upstream.said, entry, turn);
      if (turn === 0) continue;
      entry.found.push(found);
      progress(`starts: ${entry.who} ready after ${Math.round(found.ready_ms)} ms (${turn})`);
    }
  const first_calls: number[] = [];
  for (let turn = 0; turn <= repetitions; turn++) {
    const ratio = await firstCalls(upstream.said, directory, FIRST_CALL_SALE + turn * FIRST_SALE_APART);
    // The first turn warms the load sender.
    if (turn === 0) continue;
    first_calls.push(ratio);
    progress(
      `starts: the first ${FIRST_CALLS} creates take ${ratio.toFixed(2)} × the time of as many when warm (${turn})`,
    );
  }
  await upstream.stop();
  const own = entries[0]?.found ?? [];
  return {
    links,
    lines: entries.map(({ who, found }) => lineOf(who, found, own)),
    first_calls: spreadOf(first_calls),
    checks: [
      { what: 'starts', expected: entries.length * repetitions, found: entries.flatMap((one) => one.found).length },
    ],
  };
}

/** Of a process that starts as in any installation, with a compile cache. */
async function firstCalls(upstream: string, directory: string, first: number): Promise<number> {
  const own = join(directory, `calls-${first}`);
  const running = await startPuente({ upstream, core: null, directory: own });
  const timed = async (from: number): Promise<number> => {
    const begun = performance.now();
    await prepareSales(running.said, 'N', from, FIRST_CALLS);
    return performance.now() - begun;
  };
  const cold_ms = await timed(first);
  await prepareSales(running.said, 'N', first + FIRST_CALLS, WARMING_CALLS);
  const warm_ms = await timed(first + FIRST_CALLS + WARMING_CALLS);
  await running.stop();
  return cold_ms / warm_ms;
}

async function startOnce(upstream: string, entry: Entry, turn: number): Promise<Entry['found'][number]> {
  const { who, root, directory } = entry;
  const nothing_kept = { NODE_COMPILE_CACHE: join(directory, `compiled-${turn}`) };
  const ground = { upstream, core: null, directory, ...(root === null ? {} : { root }) };
  const running = await startPuente(ground, who === FIRST ? nothing_kept : {});
  const cpu_ms = (cpuSeconds(running.pid) ?? Number.NaN) * 1000;
  const said = /ready after +\S+ s: (.*)/.exec(readFileSync(running.log, 'utf8'))?.[1] ?? '';
  const steps = [...said.matchAll(/(\w+) (\d+\.\d+)/g)].map(([, step, took]) => [String(step), Number(took)] as const);
  const ended = once(running.child, 'exit');
  running.child.kill('SIGKILL');
  await ended;
  return { ready_ms: running.ready_ms, cpu_ms, steps: Object.fromEntries(steps) };
}

function lineOf(who: string, found: Entry['found'], own: Entry['found']): StartsLine {
  const names = Object.keys(found[0]?.steps ?? {});
  return {
    who,
    ready_ms: spreadOf(found.map(({ ready_ms }) => ready_ms)),
    cpu_ms: spreadOf(found.map(({ cpu_ms }) => cpu_ms)),
    ratio: spreadOf(found.map(({ ready_ms }, turn) => ready_ms / (own[turn]?.ready_ms ?? Number.NaN))),
    steps: Object.fromEntries(
      names.map((name) => [name, spreadOf(found.map(({ steps }) => steps[name] ?? Number.NaN)).median]),
    ),
  };
}
