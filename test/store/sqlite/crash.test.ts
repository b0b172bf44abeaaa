/** kill -9 during commits: every write whose commit was reported is there afterwards (`docs/protocol.md` P1). */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { newFolder, openStore } from './kit.ts';
import { killed, startChild } from './process.ts';

/** Of the store only; test/crash kills the whole server hundreds of times. */
const KILLS = 10;
/** Kills hit from the first commits to a well-filled log. */
const LONGEST_LIFE_MS = 250;

it(`keeps every committed row through ${KILLS} kills`, { timeout: 300_000 }, async () => {
  const folder = newFolder();
  const path = folder.file('puente.db');
  const committed = new Map<string, number>();
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      await workAndDie(path, (kill * LONGEST_LIFE_MS) / KILLS, committed);
      const store = await openStore(path, { create: false });
      const found = await Promise.all([...committed.keys()].map((legacy_id) => store.links.link(legacy_id)));
      const lost = found.filter((link, index) => (link?.revision ?? 0) < ([...committed.values()][index] ?? 0));
      expect(lost).toEqual([]);
      await store.close();
    }
    expect(committed.size).toBeGreaterThan(KILLS);
    expectWhole(path);
  } finally {
    folder.remove();
  }
});

async function workAndDie(path: string, life_ms: number, committed: Map<string, number>): Promise<void> {
  const child = startChild('crash-child.ts', path);
  let said = '';
  child.stdout?.on('data', (chunk) => {
    said += String(chunk);
  });
  const closed = once(child, 'close');
  try {
    await once(child.stdout ?? child, 'data');
    await sleep(life_ms);
  } finally {
    await killed(child);
  }
  await closed;
  // The last line may be cut off by the kill; an incomplete line does not count.
  for (const line of said.split('\n').slice(0, -1)) {
    const [legacy_id = '', revision = ''] = line.split(' ');
    committed.set(legacy_id, Number(revision));
  }
}

/** Commits are atomic: a settled link has its notice, and the counts match the rows. */
function expectWhole(path: string): void {
  const database = new Database(path, { readonly: true });
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    const halves = database
      .prepare(
        `SELECT count(*) FROM links WHERE (state = 'DONE') <> (legacy_id IN (SELECT legacy_id FROM notices))
         OR (state = 'DONE') <> (sealed_body IS NULL)`,
      )
      .pluck();
    expect(halves.get()).toBe(0);
    const counted = database.prepare('SELECT state, links FROM link_counts WHERE links > 0 ORDER BY state').all();
    expect(counted).toEqual(database.prepare('SELECT state, count(*) AS links FROM links GROUP BY state').all());
  } finally {
    database.close();
  }
}
