/** One Puente on a database of so many links: made, started, and ready. */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { prepareSales } from '../cases/prepare.ts';
import type { Ground } from '../contestants/contestants.ts';
import { databaseOf, startPuente } from '../contestants/puente.ts';
import { residentMb } from '../machine.ts';
import type { Running } from '../processes.ts';
import { makeDoubts } from './doubts.ts';
import { fillLinks } from './links.ts';
import { untilQuiet } from './quiet.ts';

export interface StartFigures {
  links: number;
  in_doubt: number;
  database_mb: number;
  /** From the start of the process until `/readyz` said yes. */
  ready_ms: number;
  /** When nothing was left to do after the start. */
  resident_mb: number | null;
}

export interface LargePuente {
  figures: StartFigures;
  running: Running;
  /** Legacy ids of some paid sales, spread over the table. */
  ids: string[];
}

/** The goal is told with so many creates in doubt at the start. */
const DOUBTS = 1000;
const START_LIMIT_MS = 120_000;
/** Numbers of the paid sales that are copied; above those of every measurement. */
const FIRST_MODEL = 4_000_000_000;

/** The file lies in the system's cache when the process starts, as after a restart and unlike after a reboot. */
export async function startLarge(
  ground: Ground,
  links: number,
  progress: (text: string) => void,
): Promise<LargePuente> {
  mkdirSync(ground.directory, { recursive: true });
  const path = databaseOf(ground.directory);
  const unpinned = { ...ground, core: null };
  const small = await startPuente(unpinned);
  await prepareSales(small.said, 'F', FIRST_MODEL + links, 1);
  await small.stop();
  await makeDoubts(unpinned, DOUBTS);
  const ids = fillLinks(path, links, progress);
  const in_doubt = countDoubts(path);
  const running = await startPuente(ground, {}, START_LIMIT_MS);
  const ready_ms = await untilReady(running);
  await untilResolved(path);
  await untilQuiet(running.pid);
  const database_mb = statSync(path).size / 2 ** 20;
  return { figures: { links, in_doubt, database_mb, ready_ms, resident_mb: residentMb(running.pid) }, running, ids };
}

async function untilReady(running: Running): Promise<number> {
  const ops = /ops door +(http:\/\/\S+)/.exec(readFileSync(running.log, 'utf8'))?.[1];
  const since = performance.now();
  while (!(await fetch(`${ops}/readyz`)).ok) await pause(5);
  return running.ready_ms + performance.now() - since;
}

/** Doubts are resolved at their own pace; what is left of them would be measured with the creates. */
async function untilResolved(path: string): Promise<void> {
  for (const limit = Date.now() + START_LIMIT_MS; countDoubts(path) > 0; await pause(200)) {
    if (Date.now() > limit) throw new Error('Creates in doubt are not resolved though the upstream answers.');
  }
}

const IN_DOUBT = "SELECT count(*) FROM links WHERE next_check_at IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT')";

function countDoubts(path: string): number {
  const database = new Database(path, { readonly: true, timeout: 5000 });
  try {
    return Number(database.prepare(IN_DOUBT).pluck().get());
  } finally {
    database.close();
  }
}
