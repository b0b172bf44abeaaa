/** What the store could not do, in English; what went wrong underneath stays in the words of database or disk. */

/** By the kind of the failure (`src/store/engine.ts`): what happens now, and what to do. */
const repairs = {
  constraint: 'this is a fault of Puente; report it',
  full: 'free disk space; Puente recovers by itself',
  busy: 'another process is writing to the file; stop it',
  gone: 'see that the database server runs, can be reached and takes writes; Puente recovers by itself',
  fatal: 'Puente stops; check the disk, then start again or restore a backup',
  failed: 'nothing was written; try again',
} as const;
export type Failure = keyof typeof repairs;

export const storageSentences = {
  'store.failed': ({ failure, detail }: { failure: Failure; detail: string }) =>
    `The store could not do its work (${detail}): ${repairs[failure]}.`,
  'store.closed': () => 'The store is closed: nothing more can be written.',
  'store.not_replayed': ({ detail }: { detail: string }) => `The notices were not replayed (${detail}): try again.`,
  'store.backup_elsewhere': () =>
    'Puente makes no backups of a PostgreSQL database: use pg_dump, pg_basebackup, or the snapshots of its provider.',
  'store.backup_of_memory': () => 'A store in memory has no file to back up.',
  'store.backup_under_way': () => 'A backup is being made already: wait for its end.',
  'store.backup_failed': ({ directory, detail }: { directory: string; detail: string }) =>
    `No backup was made in ${directory} (${detail}): see that there is room for a copy of the database, and that this user may write there.`,
};
