/** The backup directory: which backups are whole, which are too many, and what a killed one left behind. */
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { BackupManifest } from '../../proxy/records/upkeep.ts';
import { putInPlace } from './migrate.ts';

/** Never the name of a backup, so that nobody takes a half one for one. */
const UNFINISHED = '.unfinished';

const manifest = z.strictObject({
  file: z.string(),
  made_at: z.iso.datetime(),
  instance_id: z.string(),
  schema: z.int(),
  bytes: z.int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  heads: z.strictObject({
    audit_sequence: z.int(),
    audit_hash: z.string(),
    event_sequence: z.int(),
    exchange_sequence: z.int(),
    links: z.int(),
    newest_link_at: z.int().nullable(),
  }),
});

/** Where the manifest of a backup stands. */
export function manifestPath(file: string): string {
  return `${file}.json`;
}

/** The name that a copy has until it is whole. */
export function unfinishedName(file: string): string {
  return file + UNFINISHED;
}

/** One name for each instance and moment, in the order of time. @param at epoch ms. */
export function backupName(instance_id: string, at: number): string {
  return `${prefixOf(instance_id)}${new Date(at).toISOString().replace(/[-:.]/g, '')}.db`;
}

/** @returns null when there is none, or nobody could read it. */
export async function readManifest(file: string): Promise<BackupManifest | null> {
  const text = await readFile(manifestPath(file), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return manifest.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Gives a finished copy its name. The manifest goes first: a backup is there when its own name is. */
export async function placeBackup(directory: string, made: BackupManifest): Promise<void> {
  const file = join(directory, made.file);
  const unfinished = unfinishedName(manifestPath(file));
  const handle = await open(unfinished, 'w', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(made, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, manifestPath(file));
  // The copy was synchronised by its thread already, so this waits for little.
  putInPlace(unfinishedName(file), file);
}

/**
 * Whole backups of an instance, newest first. Those of a time that is still to come were made under a clock that was wrong,
 * and stand last: one that is made now must not be deleted for them.
 * @param now epoch ms.
 */
export async function listBackups(directory: string, instance_id: string, now: number): Promise<BackupManifest[]> {
  const names = (await namesOf(directory, instance_id)).filter((name) => name.endsWith('.db'));
  const made = await Promise.all(names.map((name) => readManifest(join(directory, name))));
  const age_ms = ({ made_at }: BackupManifest): number => {
    const past_ms = now - Date.parse(made_at);
    return past_ms < 0 ? Number.MAX_SAFE_INTEGER + past_ms : past_ms;
  };
  return made
    .filter((one): one is BackupManifest => one !== null && names.includes(one.file))
    .toSorted((first, second) => age_ms(first) - age_ms(second));
}

/** Deletes all but the newest. @param now epoch ms. @returns the files deleted. */
export async function trimBackups(
  directory: string,
  instance_id: string,
  keep: number,
  now: number,
): Promise<string[]> {
  const surplus = (await listBackups(directory, instance_id, now)).slice(keep).map(({ file }) => file);
  for (const file of surplus) {
    await rm(join(directory, file), { force: true });
    await rm(manifestPath(join(directory, file)), { force: true });
  }
  return surplus;
}

/** What a killed backup left: half copies, and manifests of copies that never got their name (C15). */
export async function sweepBackups(directory: string, instance_id: string): Promise<string[]> {
  const names = await namesOf(directory, instance_id);
  const left = names.filter(
    (name) => name.includes(UNFINISHED) || (name.endsWith('.json') && !names.includes(name.slice(0, -'.json'.length))),
  );
  for (const name of left) await rm(join(directory, name), { force: true });
  return left;
}

/** Bytes of a file; 0 while there is none. */
export async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** Files of this instance alone: several may share a directory. */
async function namesOf(directory: string, instance_id: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => name.startsWith(prefixOf(instance_id)));
}

function prefixOf(instance_id: string): string {
  return `puente-${instance_id.slice(0, 8)}-`;
}
