/** Reads the numbered SQL migrations of a folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PuenteError } from '../error.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

const MIGRATION_NAME = /^(\d{3})_[a-z0-9_]+\.sql$/;

/** @throws PuenteError store_unusable when a name or the numbering is wrong: a file must not be skipped silently. */
export function readMigrations(directory: string): Migration[] {
  return readdirSync(directory)
    .sort()
    .map((name, index) => {
      const version = Number(MIGRATION_NAME.exec(name)?.[1] ?? Number.NaN);
      if (version !== index + 1) {
        throw new PuenteError(
          'store_unusable',
          `${join(directory, name)} is not migration ${index + 1}: name it 00N_words.sql.`,
        );
      }
      return { version, name, sql: readFileSync(join(directory, name), 'utf8') };
    });
}
