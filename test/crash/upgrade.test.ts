/** kill -9 during an upgrade, and during its copy `<file>.before-<version>` (`docs/protocol.md` §3.4, C14). */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFile } from '../engines/keeping.ts';
import { closing } from '../open.ts';
import { finishChain } from './chain.ts';
import { type Build, killChildren } from './child.ts';
import { makeNewerBuild, NEWER_VERSION } from './newer-build.ts';
import { OUTSIDE, PLAN, REPEATS } from './plan.ts';
import { seeded } from './random.ts';
import { bundleSources, type Stand, startStand, usualBuild, warmUp } from './stand.ts';
import { startTill, type Till } from './till.ts';

const LIMIT_MS = 60_000 + REPEATS * 30_000;
const SEED = 14;

let build: Build;
let removeNewer: () => void = () => undefined;
const summaries: string[] = [];

beforeAll(async () => {
  await bundleSources();
  const newer = makeNewerBuild(usualBuild());
  build = newer.build;
  removeNewer = newer.remove;
  await warmUp(build);
}, LIMIT_MS);

afterAll(async () => {
  await killChildren();
  removeNewer();
  process.stdout.write(`${summaries.join('\n')}\n`);
});

describe('kill -9 during an upgrade', { concurrent: true, timeout: LIMIT_MS }, () => {
  it('C14 during migration: the old schema is intact, and the next start repeats it [F33 F57]', async () => {
    await upgradeUnderKills('C14 during migration', PLAN.migration);
  });

  it('C14 during the copy before it: the file is untouched, and an incomplete copy is never used as a copy [F33]', async () => {
    await upgradeUnderKills('C14 during the copy before a migration', PLAN.copy);
  });

  it('C14 during the first start: no incomplete file is left that the next start would refuse or read as empty [F57]', async () => {
    await using stand = closing(await startStand());
    for (const point of PLAN.first_start) {
      expect(await stand.start(point), point).toBeNull();
      expect(existsSync(stand.database)).toBe(false);
    }
    const till = startTill(stand, seeded(SEED));
    expect(await stand.start()).not.toBeNull();
    await Promise.all([till.sell(), till.sell(), till.sell()]);
    const outcome = await finishChain('C14 first start', SEED, stand, till);
    expect(outcome.violations).toEqual([]);
  });
});

/** Sales on this build and a kill, then upgrades that are killed, then one that is not. */
async function upgradeUnderKills(name: string, points: string[]): Promise<void> {
  const stand = await startStand();
  const kept = `${stand.data_dir}-kept`;
  try {
    const till = startTill(stand, seeded(SEED));
    await sellAndDie(stand, till);
    keepFolder(stand.data_dir, kept);
    const before = contentOf(stand.database);
    expect(before.links.length).toBeGreaterThan(0);
    for (const [kill, point] of points.entries()) {
      await killUpgrade(stand, point, kill);
      const after = contentOf(stand.database);
      // A kill from outside may hit after the upgrade, when the server already works.
      if (point !== OUTSIDE)
        expect(after.version, point).toBe(point === 'migration.committed' ? NEWER_VERSION : NEWER_VERSION - 1);
      if (point !== OUTSIDE || after.version < NEWER_VERSION) expect(after.links, point).toEqual(before.links);
      expect(after.ids, point).toEqual(before.ids);
      expect(after.tables, point).toEqual(
        after.version === NEWER_VERSION ? [...before.tables, 'crash_filler'].sort() : before.tables,
      );
      expectWholeCopy(stand.database, before);
      // A committed upgrade is complete; the next kill needs the old file again, as from a backup.
      if (after.version === NEWER_VERSION) keepFolder(kept, stand.data_dir);
    }
    expect(await stand.start(undefined, build)).not.toBeNull();
    expect(contentOf(stand.database).version).toBe(NEWER_VERSION);
    const outcome = await finishChain(name, SEED, stand, till);
    summaries.push(
      `${name}: ${points.length} kills, ${before.links.length} rows before, ${outcome.orders} orders, ${outcome.violations.length} violations`,
    );
    expect(outcome.violations).toEqual([]);
  } finally {
    await stand.close();
    rmSync(kept, { recursive: true, force: true });
  }
}

/** Paid, declined, open and unanswered sales, and a log that is not yet written back to the file. */
async function sellAndDie(stand: Stand, till: Till): Promise<void> {
  const child = await stand.start('create.answer_read:9');
  if (child === null) throw new Error('the server died at its start');
  for (let round = 0; child.alive() && round < 5; round++) {
    await Promise.all([till.sell(), till.sell(), till.sell()]);
    await Promise.all(till.sales.map((sale) => till.end(sale)));
  }
  await child.gone;
}

/** `outside` is no failpoint: the parent kills when it sees the copy or the migration in progress. */
async function killUpgrade(stand: Stand, point: string, kill: number): Promise<void> {
  if (point !== OUTSIDE) {
    expect(await stand.start(point, build), point).toBeNull();
    return;
  }
  const copy = `${stand.database}.before-${NEWER_VERSION}`;
  rmSync(copy, { force: true });
  rmSync(`${copy}.unfinished`, { force: true });
  const starting = stand.start(undefined, build);
  while (!existsSync(`${copy}.unfinished`) && !existsSync(copy)) await pause(1);
  await pause((kill % 10) * 5);
  stand.killStarting();
  await (await starting)?.kill();
}

interface Content {
  version: number;
  tables: string[];
  links: unknown[];
  ids: unknown[];
}

function contentOf(path: string): Content {
  return readFile(path, (database) => {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    const links = database.prepare<[], Record<string, unknown>>('SELECT * FROM links ORDER BY legacy_id').all();
    return {
      version: Number(database.pragma('user_version', { simple: true })),
      tables: database
        .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        .pluck()
        .all(),
      links: links.map(({ crash_note, ...link }) => link),
      ids: links.map((link) => [link.legacy_id, link.idempotency_key, link.reference_sent, link.amount_minor]),
    };
  });
}

/** The copy has its final name only when it is complete. */
function expectWholeCopy(path: string, before: Content): void {
  const copy = `${path}.before-${NEWER_VERSION}`;
  if (existsSync(copy)) expect(contentOf(copy)).toEqual(before);
}

function keepFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const name of readdirSync(from)) cpSync(join(from, name), join(to, name));
}
