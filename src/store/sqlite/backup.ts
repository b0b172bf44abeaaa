/** Online backups: a checked copy under another name, then its manifest, then its name (`docs/protocol.md` §3.4). */

import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { bytesText } from '../../locales/words.ts';
import type { Failpoint } from '../../proxy/process-memory.ts';
import { type BackupManifest, type BackupNews, backupManifest } from '../../proxy/records/upkeep.ts';
import { makeDirectory } from '../directory.ts';
import type { StoreMethods } from '../engine.ts';
import type { CopyFacts, CopyOrder, FromCopying } from './backup-thread.ts';
import { type DiskSettings, roomForCopy } from './disk.ts';
import { putInPlace } from './under-way.ts';

const TELL_EVERY_MS = 500;

export interface BackupParts {
  path: string;
  directory: string;
  instance_id: string;
  /** Epoch ms. */
  now: () => number;
  failpoint: Failpoint;
  disk: DiskSettings;
  /** Bytes of the rows, which a copy takes too. */
  contentBytes: () => number;
  /** Empties the log, which grows while a copy reads (F62). */
  emptyLog: () => Promise<void>;
}

type BackupMethods = Pick<StoreMethods, 'backup' | 'backups' | 'trimBackups'>;

/**
 * `backup` @throws PuenteError conflict while another one runs, and store_failed, with the directory, when it can't be
 * made. `settled` resolves when none runs.
 */
export function backupMethods(parts: BackupParts): BackupMethods & { settled(): Promise<void> } {
  const { directory, instance_id } = parts;
  let running: Promise<unknown> | null = null;
  async function* alone(): AsyncGenerator<BackupNews, BackupManifest, undefined> {
    if (running !== null) throw new PuenteError('conflict', say('store.backup_under_way', {}));
    const ended = Promise.withResolvers<void>();
    running = ended.promise;
    try {
      return yield* makeBackup(parts);
    } finally {
      running = null;
      ended.resolve();
    }
  }
  return {
    backup: alone,
    backups: () => listBackups(directory, instance_id, parts.now()),
    trimBackups: (keep) => trimBackups(directory, instance_id, keep, parts.now()),
    settled: async () => void (await running),
  };
}

async function* makeBackup(parts: BackupParts): AsyncGenerator<BackupNews, BackupManifest, undefined> {
  const { path, directory, instance_id, failpoint } = parts;
  const at = parts.now();
  const file = backupName(instance_id, at);
  const target = join(directory, unfinishedName(file));
  const of_bytes = parts.contentBytes();
  let copying: Copying | null = null;
  try {
    makeDirectory(directory);
    const room = await roomForCopy(directory, path, parts.disk);
    if (room !== null && room < of_bytes)
      throw new Error(`it takes ${bytesText(of_bytes)}, and ${bytesText(Math.max(0, room))} may be taken`);
    // Made here, so that only this user can read it from the first byte on.
    await (await open(target, 'wx', 0o600)).close();
    failpoint('backup.begun');
    copying = startCopying({ path, target }, () => failpoint('backup.copied'));
    const facts = yield* watch(copying, target, of_bytes);
    const made: BackupManifest = { file, made_at: new Date(at).toISOString(), ...facts };
    await placeBackup(directory, made);
    failpoint('backup.in_place');
    return made;
  } catch (error) {
    throw error instanceof PuenteError ? error : notMade(directory, error);
  } finally {
    await copying?.end();
    for (const suffix of ['', '-journal']) await rm(target + suffix, { force: true }).catch(() => undefined);
    await parts.emptyLog();
  }
}

type Copying = ReturnType<typeof startCopying>;

function startCopying(order: CopyOrder, onCopied: () => void) {
  const thread = new Worker(new URL('./backup-thread.ts', import.meta.url), { workerData: order, execArgv: [] });
  let step: BackupNews['step'] = 'copying';
  const done = new Promise<CopyFacts>((resolve, reject) => {
    thread.on('message', (message: FromCopying) => {
      if (message.kind === 'checked') return resolve(message.facts);
      if (message.kind === 'failed') return reject(new Error(message.text));
      step = 'checking';
      onCopied();
    });
    thread.on('error', reject);
    thread.on('exit', () => reject(new Error('the backup thread ended')));
  });
  done.catch(() => undefined); // the reader may have stopped
  return {
    step: () => step,
    /** Rejects when the copy could not be made or is damaged. */
    done,
    end: () => thread.terminate(),
  };
}

async function* watch(
  copying: Copying,
  target: string,
  of_bytes: number,
): AsyncGenerator<BackupNews, CopyFacts, undefined> {
  for (;;) {
    const waiting = new AbortController();
    const first = await Promise.race([
      copying.done,
      pause(TELL_EVERY_MS, null, { signal: waiting.signal }).catch(() => null),
    ]).finally(() => waiting.abort());
    if (first !== null) return first;
    yield { step: copying.step(), bytes: await sizeOf(target), of_bytes };
  }
}

function notMade(directory: string, cause: unknown): PuenteError {
  const detail = cause instanceof Error ? cause.message : 'unknown';
  return new PuenteError('store_failed', say('store.backup_failed', { directory, detail }), { cause });
}

// The backup directory: complete backups, surplus ones, and leftovers of a killed one.

/** Never part of a backup's name, so that half a backup does not look like one. */
const UNFINISHED = '.unfinished';

function manifestPath(file: string): string {
  return `${file}.json`;
}

function unfinishedName(file: string): string {
  return file + UNFINISHED;
}

/** Unique by instance and time, and sorted by time. @param at epoch ms. */
function backupName(instance_id: string, at: number): string {
  return `${prefixOf(instance_id)}${new Date(at).toISOString().replace(/[-:.]/g, '')}.db`;
}

/** @returns null when it is missing or can't be read. */
export async function readManifest(file: string): Promise<BackupManifest | null> {
  const text = await readFile(manifestPath(file), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return backupManifest.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Renames a finished copy after its manifest: a backup exists once its own name does. */
async function placeBackup(directory: string, made: BackupManifest): Promise<void> {
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
  // The backup thread synchronised the copy already, so this takes little time.
  putInPlace(unfinishedName(file), file);
}

/** Newest first; times in the future (a wrong clock) last, or a new backup would be deleted. @param now epoch ms. */
async function listBackups(directory: string, instance_id: string, now: number): Promise<BackupManifest[]> {
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

/** Deletes all but the newest `keep`. @param now epoch ms. @returns the files deleted. */
async function trimBackups(directory: string, instance_id: string, keep: number, now: number): Promise<string[]> {
  const surplus = (await listBackups(directory, instance_id, now)).slice(keep).map(({ file }) => file);
  for (const file of surplus) {
    await rm(join(directory, file), { force: true });
    await rm(manifestPath(join(directory, file)), { force: true });
  }
  return surplus;
}

/** Deletes leftovers of a killed backup: half copies, and manifests of copies that never got their name (C15). */
export async function sweepBackups(directory: string, instance_id: string): Promise<string[]> {
  const names = await namesOf(directory, instance_id);
  const left = names.filter(
    (name) => name.includes(UNFINISHED) || (name.endsWith('.json') && !names.includes(name.slice(0, -'.json'.length))),
  );
  for (const name of left) await rm(join(directory, name), { force: true });
  return left;
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** Files of this instance only: several may share a directory. */
async function namesOf(directory: string, instance_id: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => name.startsWith(prefixOf(instance_id)));
}

function prefixOf(instance_id: string): string {
  return `puente-${instance_id.slice(0, 8)}-`;
}
