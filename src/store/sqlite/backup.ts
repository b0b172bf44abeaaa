/** Online backups: a checked copy under another name first, then its manifest, then its own name (`reliability.md` C15). */

import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { bytesText } from '../../ops/doctor/finding.ts';
import type { Failpoint } from '../../proxy/failpoint.ts';
import type { BackupManifest, BackupNews, UpkeepStore } from '../../proxy/records/upkeep.ts';
import { backupName, listBackups, placeBackup, sizeOf, trimBackups, unfinishedName } from './backup-files.ts';
import type { CopyFacts, CopyOrder, FromCopying } from './backup-thread.ts';
import { type DiskSettings, roomForCopy } from './disk.ts';

/** People who wait want to see it move. */
const TELL_EVERY_MS = 500;

export interface BackupParts {
  path: string;
  directory: string;
  instance_id: string;
  /** Epoch ms. */
  now: () => number;
  failpoint: Failpoint;
  disk: DiskSettings;
  /** Bytes that the rows take, which a copy takes too. */
  contentBytes: () => number;
  /** Empties the log, which a copy keeps from being used again while it runs (F62). */
  emptyLog: () => Promise<void>;
}

type BackupMethods = Pick<UpkeepStore, 'backup' | 'backups' | 'trimBackups'>;

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
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const room = await roomForCopy(directory, path, parts.disk);
    if (room !== null && room < of_bytes)
      throw new Error(`it takes ${bytesText(of_bytes)}, and ${bytesText(Math.max(0, room))} may be taken`);
    // Made here, because only so it belongs to this user alone from its first byte on.
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

interface Copying {
  step(): BackupNews['step'];
  /** Rejects when the copy could not be made or is damaged. */
  done: Promise<CopyFacts>;
  /** Resolves when the thread is gone. */
  end(): Promise<void>;
}

function startCopying(order: CopyOrder, onCopied: () => void): Copying {
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
  done.catch(() => undefined); // whoever stopped reading hears nothing of it
  return { step: () => step, done, end: async () => void (await thread.terminate()) };
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
