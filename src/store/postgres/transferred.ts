/** What a database says of the transfer that fills it: while it is under way, no Puente starts on it. */
import { databaseUnusable } from './failure.ts';

/** Names in `meta`; both hold the instance id of the file. */
export const TRANSFER = { under_way: 'transfer_under_way', done: 'transferred_from' } as const;

type Run = (sql: string) => Promise<Record<string, unknown>[]>;

const MARKS = `SELECT name, value FROM meta WHERE name IN ('${TRANSFER.under_way}', '${TRANSFER.done}')`;

/** @throws PuenteError store_unusable while rows are still being carried into it. */
export async function refuseHalfTransferred(location: string, run: Run): Promise<void> {
  const marks = await run(MARKS);
  if (!marks.some(({ name }) => name === TRANSFER.under_way)) return;
  throw databaseUnusable(
    location,
    'rows of the file are still being carried into it',
    'Finish that: puente migrate-store --from sqlite --to postgres; or name another database',
  );
}

/**
 * @param instance_id of the file that is to be carried. @returns whether it is being carried already.
 * @throws PuenteError store_unusable when it was carried wholly, or another file is.
 */
export async function refuseForeignTransfer(location: string, instance_id: string, run: Run): Promise<boolean> {
  for (const { name, value } of await run(MARKS)) {
    if (name === TRANSFER.done)
      throw databaseUnusable(
        location,
        value === instance_id ? 'the file was carried into it already' : 'another file was carried into it',
        value === instance_id ? 'Start Puente with this postgres.url' : 'Make an empty database and name it',
      );
    if (value !== instance_id)
      throw databaseUnusable(location, 'another file is being carried into it', 'Make an empty database and name it');
    return true;
  }
  return false;
}
