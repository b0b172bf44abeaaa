/** C15: backups during sales, and a kill during one of them; every file with the name of a backup is complete. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFile } from '../engines/keeping.ts';
import { call, OPS_TOKEN } from '../kit.ts';
import { sellUntilGone, type Trial } from './chain.ts';
import type { Stand } from './stand.ts';

/** An operator requests one backup after the other during sales; the server is killed in one of them. */
export async function duringBackup(trial: Trial): Promise<void> {
  const { stand, random, point } = trial;
  const child = await stand.start(`${point}:${random.between(1, 2)}`);
  if (child === null) return;
  if (unfinished(stand).length > 0) throw new Error(`the start has left ${unfinished(stand).join(', ')}`);
  const backups = (async () => {
    // The call fails when the server is killed.
    while (child.alive())
      await call(`${child.ops_url}/api/backup`, { token: OPS_TOKEN, body: {} }).catch(() => undefined);
  })();
  // A backup takes longer than a sale.
  await sellUntilGone(trial, child, { between_ms: 300 });
  await backups;
  checkBackups(stand);
}

function folderOf(stand: Stand): string {
  return join(stand.data_dir, 'backups');
}

function namesIn(stand: Stand): string[] {
  return existsSync(folderOf(stand)) ? readdirSync(folderOf(stand)) : [];
}

function unfinished(stand: Stand): string[] {
  return namesIn(stand).filter((name) => name.endsWith('.unfinished'));
}

function checkBackups(stand: Stand): void {
  for (const name of namesIn(stand).filter((one) => one.endsWith('.db'))) {
    const file = join(folderOf(stand), name);
    const { bytes } = JSON.parse(readFileSync(`${file}.json`, 'utf8')) as { bytes: number }; // the manifest of a backup
    if (readFileSync(file).length !== bytes) throw new Error(`${name} is not what its manifest says`);
    const verdict = readFile(file, (database) => database.pragma('integrity_check', { simple: true }));
    if (verdict !== 'ok') throw new Error(`${name} has its name and is damaged: ${String(verdict)}`);
  }
}
