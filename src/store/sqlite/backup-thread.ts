/** The backup thread: copies the database from one consistent view, and checks the copy, while payments continue. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { BackupManifest } from '../../proxy/records/upkeep.ts';
import { textOf } from './failure.ts';
import { versionOf } from './file.ts';
import { synchronise } from './under-way.ts';

export interface CopyOrder {
  path: string;
  /** An empty file, which becomes the copy. */
  target: string;
}

export type CopyFacts = Omit<BackupManifest, 'file' | 'made_at'>;

export type FromCopying = { kind: 'copied' } | { kind: 'checked'; facts: CopyFacts } | { kind: 'failed'; text: string };

/** Large enough that a disk reads in one go. */
const CHUNK_BYTES = 1024 * 1024;

/** Facts of the copy, for its manifest. @throws Error when it is damaged, and the driver's errors. */
function factsOf(path: string): CopyFacts {
  const copy = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const verdict = copy.pragma('integrity_check(1)', { simple: true });
    if (verdict !== 'ok') throw new Error(`the copy is damaged: ${String(verdict)}`);
    const instance_id = copy.prepare<[], string>("SELECT value FROM meta WHERE name = 'instance_id'").pluck().get();
    const schema = versionOf(copy);
    const heads = headsOf(copy);
    return { instance_id: instance_id ?? '', schema, heads, bytes: statSync(path).size, sha256: digestOf(path) };
  } finally {
    copy.close();
  }
}

/** SHA-256 of a file, lower-case hex. */
export function digestOf(path: string): string {
  const hash = createHash('sha256');
  const handle = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let read = readSync(handle, chunk); read > 0; read = readSync(handle, chunk))
      hash.update(chunk.subarray(0, read));
    return hash.digest('hex');
  } finally {
    closeSync(handle);
  }
}

function headsOf(copy: Database.Database): BackupManifest['heads'] {
  const row = copy
    .prepare<[], BackupManifest['heads']>(
      `SELECT coalesce((SELECT max(sequence) FROM audit), 0) AS audit_sequence,
         coalesce((SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1), '') AS audit_hash,
         coalesce((SELECT max(sequence) FROM events), 0) AS event_sequence,
         coalesce((SELECT max(sequence) FROM exchanges), 0) AS exchange_sequence,
         (SELECT sum(links) FROM link_counts) AS links,
         (SELECT max(updated_at) FROM links) AS newest_link_at`,
    )
    .get();
  if (row === undefined) throw new Error('the copy can not be read');
  return row;
}

/** In one read transaction, so that each later commit is wholly in the copy or not at all. */
function copy({ path, target }: CopyOrder): void {
  const source = new Database(path, { readonly: true, fileMustExist: true });
  try {
    source.prepare('VACUUM INTO ?').run(target);
  } finally {
    source.close();
  }
}

function run(port: MessagePort, order: CopyOrder): void {
  const post = (message: FromCopying): void => port.postMessage(message);
  try {
    copy(order);
    post({ kind: 'copied' });
    const facts = factsOf(order.target);
    synchronise(order.target);
    post({ kind: 'checked', facts });
  } catch (error) {
    post({ kind: 'failed', text: textOf(error) });
  }
  port.close();
}

if (parentPort !== null) run(parentPort, workerData);
