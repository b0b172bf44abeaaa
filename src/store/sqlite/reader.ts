/** The main thread's read-only connection: reads take microseconds, without the writer; some rows are cached. */
import Database from 'better-sqlite3';
import { createEntries, createLru } from '../../proxy/concurrency.ts';
import { type Cover, noCover } from '../../proxy/vault.ts';
import { COVERED_COLUMNS, OF_CLIENT_REFERENCE } from '../conditions.ts';
import type { Failure, StoreMethods, Unit, Value } from '../engine.ts';
import { type CachedKind, writes } from '../writes.ts';
import { failureOf, textOf } from './failure.ts';
import { BUSY_TIMEOUT_MS } from './settings.ts';

interface Read<Values extends Value[], Row> {
  /** The first row; undefined without one. */
  get(...values: Values): NoInfer<Row> | undefined;
  /** Every row; an empty list without one. */
  all(...values: Values): Row[];
}

export interface Reader {
  /** `Row` has the columns of the SELECT; the tables are STRICT, so the column types hold. */
  prepare<Values extends Value[], Row>(sql: string): Read<Values, Row>;
  /** Closes the connection. */
  close(): void;
}

type Failed = (failure: Failure, text: string) => Error;

/** On its own connection, which refuses writes. @param failed makes the error that a failed read throws. */
export function openReader(path: string, failed: Failed, cover?: Cover): Reader {
  const database = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  for (const setting of ['query_only = ON', 'trusted_schema = OFF', 'cell_size_check = ON', 'mmap_size = 0']) {
    database.pragma(setting);
  }
  return readerOn(database, failed, cover);
}

/** Reads on an open connection, which `close` closes. Covered texts are returned decrypted. */
export function readerOn(database: Database.Database, failed: Failed, cover: Cover = noCover): Reader {
  const tried = <Result>(read: () => Result): Result => {
    try {
      return read();
    } catch (error) {
      throw failed(failureOf(error), textOf(error));
    }
  };
  return {
    prepare<Values extends Value[], Row>(sql: string): Read<Values, Row> {
      const { statement, covered } = prepareCovered<Row>(database, sql, cover);
      const open = rowOpener(statement, cover);
      return {
        get(...values) {
          const row = tried(() => statement.get(...covered(values)));
          return row === undefined ? undefined : open(row);
        },
        all: (...values) => tried(() => statement.all(...covered(values))).map((row) => open(row)),
      };
    },
    close: () => void database.close(),
  };
}

// Covered texts: values of `cover(?)` and `cover_order(?)` in statements, and columns of the rows read.

/** A statement whose values are covered before SQLite gets them; NULL stays NULL. */
export function prepareCovered<Row>(
  database: Database.Database,
  sql: string,
  cover: Cover,
): { statement: Database.Statement<Value[], Row>; covered: (values: Value[]) => Value[] } {
  const places: { at: number; covers: (text: string) => string }[] = [];
  let at = 0;
  const text = sql.replace(/cover_order\(\?\)|cover\(\?\)|\?/g, (form) => {
    if (form !== '?') places.push({ at, covers: form.startsWith('cover_order') ? cover.order : cover.text });
    at += 1;
    return '?';
  });
  const covered = (values: Value[]): Value[] => {
    if (places.length === 0) return values;
    const copy = values.slice();
    for (const { at, covers } of places) {
      const value = copy[at];
      if (typeof value === 'string') copy[at] = covers(value);
    }
    return copy;
  };
  return { statement: database.prepare<Value[], Row>(text), covered };
}

/** Defines `cover` and `cover_order` as functions of a connection, for migrations, which cover stored texts. */
export function teachCover(database: Database.Database, cover: Cover): void {
  const options = { deterministic: true, directOnly: true };
  database.function('cover', options, (text: unknown) => (typeof text === 'string' ? cover.text(text) : text));
  database.function('cover_order', options, (json: unknown) => (typeof json === 'string' ? cover.order(json) : json));
}

/** Decrypts the covered columns of a row, in place. */
function rowOpener(statement: Database.Statement<never[], unknown>, cover: Cover): <Row>(row: Row) => Row {
  const names = statement
    .columns()
    .map(({ name }) => name)
    .filter((name) => COVERED_COLUMNS.includes(name));
  if (names.length === 0) return (row) => row;
  return (row) => {
    const values = row as Record<string, unknown>; // a row of the driver is a plain object of its columns
    for (const name of names) {
      const value = values[name];
      if (typeof value === 'string') values[name] = cover.open(value);
    }
    return row;
  };
}

// Cached rows: every call reads its merchant and token several times, tills poll the same sale, and changes are rare.

/** Rows of each kind, most recently used. Fewer links, because each holds an order. */
const LIMITS: Readonly<Record<CachedKind, number>> = { merchant: 10_000, token: 10_000, link: 1_000 };

export type KnownRows = ReturnType<typeof createKnownRows>;

/** Correct only when all writes pass through one queue, which the instance lock guarantees. */
export function createKnownRows() {
  const kept = { merchant: keptRows('merchant'), token: keptRows('token'), link: keptRows('link') };
  return {
    /** The last row read, unless a write since may have changed it. Absence is cached for merchants and tokens only. */
    async get<Row>(kind: CachedKind, key: string, read: () => Promise<Row | null>): Promise<Row | null> {
      const rows = kept[kind];
      if (rows.isChanging(key)) return read();
      const known = rows.get(key) as Row | null | undefined; // all rows of a kind have one type
      if (known !== undefined) return known;
      const before = rows.changes();
      const row = await read();
      // Openings are many, and none of them invalidates the absence of a link.
      if (rows.changes() !== before || (row === null && kind === 'link')) return row;
      rows.set(key, row === null ? null : Object.freeze(row));
      return row;
    },
    /** Returns the commit of a unit; until it has ended, rows that the unit may change are read from the file. */
    during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result> {
      const changes = unit.steps.flatMap(({ write, values }) =>
        writes[write].invalidates.map(({ kind, at }) => ({
          kind,
          key: at === undefined ? null : String(values.at(at)),
        })),
      );
      if (changes.length === 0) return commit;
      for (const { kind, key } of changes) kept[kind].begin(key);
      const end = (): void => {
        for (const { kind, key } of changes) kept[kind].end(key);
      };
      // Runs before callers of the commit continue, because they start to wait for it later.
      commit.then(end, end);
      return commit;
    },
  };
}

/** Cached rows of one kind, and which of them are being changed; a null key means all of them. */
function keptRows(kind: CachedKind) {
  let rows = createLru<unknown>(LIMITS[kind]);
  /** Changes under way, by key; '' is every key. */
  const changing = createEntries<number>();
  /** Rises with each change, so that a row read before the change is not cached. */
  let changes = 0;
  const count = (key: string | null, by: number): void => {
    const left = (changing.get(key ?? '') ?? 0) + by;
    if (left === 0) changing.delete(key ?? '');
    else changing.set(key ?? '', left);
  };
  return {
    get: (key: string) => rows.get(key),
    set: (key: string, row: unknown) => rows.set(key, row),
    changes: () => changes,
    isChanging: (key: string) => changing.size > 0 && (changing.has('') || changing.has(key)),
    begin(key: string | null) {
      changes++;
      count(key, 1);
      if (key === null) rows = createLru(LIMITS[kind]);
      else rows.delete(key);
    },
    // Nothing to remove: rows read during a change are not cached, and earlier ones were deleted.
    end: (key: string | null) => count(key, -1),
  };
}

/** More rows of one search would take the places of sales that tills poll. */
const CACHED_OF_SEARCH = 100;

/** The same methods with the cache before the file; a search by the till's reference reads the ids of its rows first. */
export function withKnownRows<
  Methods extends Pick<StoreMethods, 'merchant' | 'token' | 'link' | 'linksByClientReference'>,
>(methods: Methods, reader: Reader, known: () => KnownRows): Methods & Pick<StoreMethods, 'merchantWithToken'> {
  const found = reader.prepare<[string, string, number], { legacy_id: string }>(
    `SELECT legacy_id FROM links WHERE ${OF_CLIENT_REFERENCE}`,
  );
  const link: StoreMethods['link'] = (legacy_id) => known().get('link', legacy_id, () => methods.link(legacy_id));
  const merchant: StoreMethods['merchant'] = (id) => known().get('merchant', id, () => methods.merchant(id));
  const token: StoreMethods['token'] = (fingerprint) =>
    known().get('token', fingerprint, () => methods.token(fingerprint));
  return {
    ...methods,
    merchant,
    token,
    link,
    async linksByClientReference(...values) {
      const ids = found.all(...values);
      if (ids.length > CACHED_OF_SEARCH) return methods.linksByClientReference(...values);
      const links = await Promise.all(ids.map(({ legacy_id }) => link(legacy_id)));
      return links.filter((one) => one !== null);
    },
    async merchantWithToken(merchant_id, fingerprint) {
      // The token first: then the merchant has the site that the token was accepted with.
      const accepted = await token(fingerprint);
      const its = await merchant(merchant_id);
      if (its === null) return null;
      const accepted_until = accepted?.merchant_id === merchant_id ? accepted.accepted_until : null;
      // The unit has its own read: it costs no more here, and most callers do not need it.
      return { merchant: its, accepted_until, is_free: false };
    },
  };
}
