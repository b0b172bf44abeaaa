/** Files of every older schema with a link in every state, upgraded; and kills after each statement of an upgrade. */
import { copyFileSync, existsSync, readdirSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LinkState, linkStates } from '../../../src/proxy/sales/link.ts';
import { type Migration, readMigrations } from '../../../src/store/migrations.ts';
import { APPLICATION_ID, MIGRATIONS_DIRECTORY, migrate, versionOf } from '../../../src/store/sqlite/file.ts';
import { applySettings } from '../../../src/store/sqlite/settings.ts';
import { NOON, opened } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

const migrations = readMigrations(MIGRATIONS_DIRECTORY);
const newest = migrations.length;
const older = migrations.slice(0, -1).map(({ version }) => version);

type Row = Record<string, unknown>;

let folder: Folder;
let path: string;
beforeEach(() => {
  folder = newFolder();
  path = folder.file('puente.db');
});
afterEach(() => folder.remove());

/** One link in every state, in today's schema; older schemas have some of the columns. */
let links: Row[] = [];
beforeAll(async () => {
  const own = newFolder();
  const store = await openStore(own.file('today.db'));
  for (const state of linkStates) {
    const link = await opened(store, { unit: `PAX_A910__${state}`, client_reference: 'mesa 4' });
    const is_over = !(['SENDING', 'IN_DOUBT', 'LIVE'] as LinkState[]).includes(state);
    await store.links.saveLink(link, { state, ...(is_over ? { sealed_body: null, next_check_at: null } : {}) });
  }
  await store.close();
  const rows = rowsOf(own.file('today.db'), 'SELECT * FROM links ORDER BY legacy_id');
  // With the column names of older schemas, too.
  links = rows.map((row) => ({
    ...row,
    intent_state: row.legacy_state,
    intent_state_at: row.legacy_state_at,
    heard_by: row.known_by,
  }));
  own.remove();
});

function rowsOf(file: string, sql: string): Row[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], Row>(sql).all();
  } finally {
    database.close();
  }
}

/** Runs the migrations up to `version` as their releases did, with the links in the file. */
function writeSchema(version: number): void {
  const database = new Database(path);
  applySettings(database, path);
  for (const { sql } of migrations.slice(0, version)) {
    database.function('cover', (text) => text);
    database.function('cover_order', (text) => text);
    // One of them changes the text of a table.
    database.unsafeMode(true);
    database.exec(sql);
    database.unsafeMode(false);
  }
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma(`user_version = ${version}`);
  database.prepare("INSERT INTO meta (name, value) VALUES ('instance_id', 'i')").run();
  const columns = database.prepare<[], string>("SELECT name FROM pragma_table_info('links')").pluck().all();
  const known = columns.filter((name) => links[0] !== undefined && name in links[0]);
  const insert = database.prepare(
    `INSERT INTO links (${known.join(', ')}) VALUES (${known.map((name) => `@${name}`).join(', ')})`,
  );
  for (const link of links) insert.run(Object.fromEntries(known.map((name) => [name, link[name]])));
  database.close();
}

/** Columns that an upgrade must never change: the identity of a sale, the data sent, and its state. */
const KEPT =
  'legacy_id, merchant_id, unit, state, idempotency_key, reference_sent, sealed_body, amount_minor, client_answer';
const kept = (file: string): Row[] => rowsOf(file, `SELECT ${KEPT} FROM links ORDER BY legacy_id`);

describe('a file of an older schema, with a link in every state', () => {
  it.each(older)('schema %i: copied first, then migrated, then served [F55]', async (version) => {
    writeSchema(version);
    const before = kept(path);
    expect(before.map(({ state }) => state).sort()).toEqual([...linkStates].sort());
    const store = await openStore(path, { create: false, now: () => NOON });
    try {
      const served = await Promise.all(links.map(({ legacy_id }) => store.links.link(String(legacy_id))));
      expect(served.map((link) => [link?.legacy_id, link?.state, link?.idempotency_key])).toEqual(
        links.map(({ legacy_id, state, idempotency_key }) => [legacy_id, state, idempotency_key]),
      );
    } finally {
      await store.close();
    }
    expect(kept(path), 'nothing reinterpreted, and the bytes that may be sent again are the same').toEqual(before);
    expect(rowsOf(path, 'PRAGMA user_version')).toEqual([{ user_version: newest }]);
    const copy = `${path}.before-${newest}`;
    expect(rowsOf(copy, 'PRAGMA user_version')).toEqual([{ user_version: version }]);
    expect(kept(copy)).toEqual(before);
  });
});

/** The statements of a migration, each trigger with its own statements. */
function statementsOf({ sql }: Migration): string[] {
  const statements: string[] = [];
  let open = '';
  for (const piece of sql.split(/(?<=;)[ \t]*\n/)) {
    open += `${piece}\n`;
    const words = open.replace(/--.*$/gm, '').trim();
    if (words === '' || (/^CREATE TRIGGER/.test(words) && !/\bEND;$/.test(words))) continue;
    statements.push(open);
    open = '';
  }
  return statements;
}

/** The same migrations, with a call of `crash_point()` after every statement. */
const stopping = migrations.map((migration) => ({
  ...migration,
  sql: statementsOf(migration)
    .map((statement) => `${statement}\nSELECT crash_point();\n`)
    .join(''),
}));

/** The disk at a kill: the files as they are, because a kill loses nothing of the system's cache. */
function imageOf(file: string, image: string): void {
  for (const suffix of ['', '-wal']) if (existsSync(file + suffix)) copyFileSync(file + suffix, image + suffix);
}

/** By day a file is killed in its next migration alone: the later ones have files of their own. */
const until = (first: number): number => (process.env.NIGHT === '1' ? newest : first + 1);
/** Only ends a test that hangs: at night the first file is killed in every migration. */
const CHAIN_LIMIT_MS = 600_000;

describe('kill -9 after each statement of the real migrations', () => {
  it.each(older)(
    'from schema %i on: the file has the old schema or the next one, whole, and the next start migrates it [F57]',
    { timeout: CHAIN_LIMIT_MS },
    (first) => {
      writeSchema(first);
      const before = kept(path);
      const images: { file: string; version: number }[] = [];
      const database = new Database(path);
      let version = first;
      const keepImage = (): void => {
        const file = folder.file(`killed-${images.length}.db`);
        imageOf(path, file);
        images.push({ file, version });
      };
      database.function('crash_point', () => {
        keepImage();
        return null;
      });
      database.pragma('cache_size = 8'); // so that half a migration is written out before its commit
      migrate(database, path, stopping.slice(0, until(first)), (point) => {
        if (point === 'migration.committed') version++;
        keepImage();
      });
      database.close();
      const statements = migrations.slice(first, until(first)).flatMap(statementsOf).length;
      expect(images).toHaveLength(statements + 3 * (until(first) - first));
      for (const { file, version: expected } of images) {
        const image = new Database(file);
        try {
          expect(versionOf(image), file).toBe(expected);
          expect(image.pragma('integrity_check', { simple: true })).toBe('ok');
          expect(schemaOf(image), 'old or new, never mixed').toEqual(schemaOfVersion(expected));
          migrate(image, file, migrations);
          expect(schemaOf(image)).toEqual(schemaOfVersion(newest));
        } finally {
          image.close();
        }
        expect(kept(file)).toEqual(before);
      }
    },
  );
});

function schemaOf(database: Database.Database): string[] {
  return database
    .prepare<[], string>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name')
    .pluck()
    .all();
}

const schemas = new Map<number, string[]>();
function schemaOfVersion(version: number): string[] {
  const known = schemas.get(version);
  if (known !== undefined) return known;
  const database = new Database(':memory:');
  migrate(database, ':memory:', migrations.slice(0, version));
  const schema = schemaOf(database);
  database.close();
  schemas.set(version, schema);
  return schema;
}

it('every migration has been cut into its statements', () => {
  for (const migration of migrations) {
    const database = new Database(':memory:');
    try {
      migrate(database, ':memory:', migrations.slice(0, migration.version - 1));
      database.unsafeMode(true); // as `migrate` does
      // `prepare` accepts one statement only, so `statementsOf` has neither joined nor split any.
      for (const statement of statementsOf(migration)) database.prepare(statement).run();
    } finally {
      database.close();
    }
  }
  expect(readdirSync(MIGRATIONS_DIRECTORY)).toHaveLength(newest);
});

describe('what migration 009 says in other words', () => {
  const open = (upTo: number): Database.Database => {
    const database = new Database(path);
    applySettings(database, path);
    migrate(database, path, migrations.slice(0, upTo));
    return database;
  };
  const MADE = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name";
  const texts = (database: Database.Database) =>
    new Map(
      database
        .prepare<[], { name: string; sql: string }>(MADE)
        .all()
        .map(({ name, sql }) => [name, sql]),
    );
  const LIST = /\bIN \((?:'\w+', ){2,}'\w+'\)/g;
  const CHANGED = ['events', 'exchanges', 'legacy_sales', 'legacy_sales_holding', 'legacy_sales_until', 'links'];

  it('are the lists of what every sale writes, and nothing else', () => {
    const before = open(8);
    const old = texts(before);
    before.close();
    const after = open(9);
    const now = texts(after);
    after.close();
    expect([...now.keys()]).toEqual([...old.keys()]);
    const changed = [...now].filter(([name, sql]) => sql !== old.get(name)).map(([name]) => name);
    expect(changed).toEqual(
      [...CHANGED, 'links_finished', 'links_live', 'links_live_request', 'notice_attempts', 'notices'].sort(),
    );
    for (const name of changed) {
      expect(now.get(name)).not.toMatch(LIST);
      const said = old.get(name)?.replaceAll(/(\w+) (IN) \((('\w+'(?:, )?){3,})\)/g, (_, column, _in, list: string) =>
        list
          .split(', ')
          .map((value) => `${column} = ${value}`)
          .join(' OR '),
      );
      expect(now.get(name)?.replaceAll(/\s+/g, ' ').replaceAll(/[()]/g, '')).toBe(
        said?.replaceAll(/\s+/g, ' ').replaceAll(/[()]/g, ''),
      );
    }
  });

  it('hold for what is written at once, and in a file that is opened again', () => {
    for (const database of [open(9), open(9)]) {
      const insert = database.prepare(
        "INSERT INTO events (received_at, verified, action, state, attempts, next_attempt_at) VALUES (1, 0, 'a', ?, 0, 0)",
      );
      expect(insert.run('parked').changes).toBe(1);
      expect(() => insert.run('lost')).toThrow(/CHECK constraint failed: state = 'pending' OR/);
      expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
      database.close();
    }
  });

  it('leave a file that its statements can not change the text of', () => {
    const database = open(9);
    expect(() => database.exec("UPDATE sqlite_schema SET sql = '' WHERE name = 'links'")).toThrow(
      'may not be modified',
    );
    database.pragma('writable_schema = ON');
    expect(() => database.exec("UPDATE sqlite_schema SET sql = '' WHERE name = 'links'")).toThrow(
      'may not be modified',
    );
    database.close();
  });
});
