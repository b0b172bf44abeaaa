/** The product's own SQLite store, in memory and committing in this thread; it outlives the product's process. */
import Database from 'better-sqlite3';
import type { Store } from '../../src/ops/ports.ts';
import type { Unit } from '../../src/store/engine.ts';
import { readMigrations } from '../../src/store/migrations.ts';
import { tidyInbox } from '../../src/store/notices.ts';
import { doubtLegacySales } from '../../src/store/routing.ts';
import { commitGroup, prepareCommits } from '../../src/store/sqlite/commit.ts';
import { MIGRATIONS_DIRECTORY, migrate } from '../../src/store/sqlite/file.ts';
import { type Committer, WriteQueue } from '../../src/store/sqlite/group-commit.ts';
import { readerOn } from '../../src/store/sqlite/reader.ts';
import { assembleStore } from '../../src/store/sqlite/store.ts';
import type { Random } from '../crash/random.ts';
import type { SimulatedClock } from './clock.ts';

/** The longest time until a group is on disk. */
const SLOWEST_COMMIT_MS = 4;

/** The writer of one run of the process. */
export interface Pen {
  queue: WriteQueue;
  /** Resolves when the writes of the start are done. */
  ready: Promise<unknown>;
  /** Kills the process: posted writes may reach the disk or not, others are lost. */
  drop(): void;
}

export interface MemoryStore {
  database: Database.Database;
  store: Store;
  open(life: { now: () => number; random: Random; failpoint: (name: string) => void }): Pen;
  version(): number;
  wipe(): void;
}

export function openMemoryStore(clock: SimulatedClock): MemoryStore {
  const database = new Database(':memory:');
  for (const setting of ['foreign_keys = ON', 'trusted_schema = OFF', 'secure_delete = OFF']) database.pragma(setting);
  migrate(database, ':memory:', readMigrations(MIGRATIONS_DIRECTORY));
  database.exec('DROP TRIGGER audit_not_deleted'); // so that the next world starts without this one's lines
  const connection = prepareCommits(database);
  const queue = new CurrentQueue();
  let now = (): number => clock.now();
  let version = 0;
  const store = assembleStore({
    queue,
    reader: readerOn(database, (failure, text) => queue.readFailed(failure, text)),
    now: () => now(),
    release: () => undefined,
  });
  const commit = (units: Unit[]) => {
    version++;
    return commitGroup(connection, units);
  };
  return {
    database,
    store,
    version: () => version,
    open(life) {
      const pen = createPen(clock, commit, life);
      queue.current = pen.queue;
      now = life.now;
      const ready = pen.queue.commit(tidyInbox(now())).then(() => pen.queue.commit(doubtLegacySales(now())));
      return { ...pen, ready };
    },
    wipe: wiping(database, () => version++),
  };
}

/** The queue of the current process; the store's methods are prepared once for all processes. */
class CurrentQueue extends WriteQueue {
  current: WriteQueue | null = null;

  constructor() {
    super(
      { core: 'shared', post: () => undefined, close: () => undefined, heap: () => null, listen: () => undefined },
      () => undefined,
      () => undefined,
    );
  }

  override commit(unit: Unit): ReturnType<WriteQueue['commit']> {
    return this.current === null ? Promise.reject(new Error('nobody has opened the store')) : this.current.commit(unit);
  }

  override known(): ReturnType<WriteQueue['known']> {
    return this.current?.known() ?? super.known();
  }

  override healthy(): boolean {
    return this.current?.healthy() ?? false;
  }

  override fail(text: string): void {
    this.current?.fail(text);
  }
}

function createPen(
  clock: SimulatedClock,
  commit: (units: Unit[]) => ReturnType<typeof commitGroup>,
  { random, failpoint }: { random: Random; failpoint: (name: string) => void },
): Omit<Pen, 'ready'> {
  let posted: { units: Unit[] } | null = null;
  let alive = true;
  const committer: Committer = {
    core: 'shared',
    post() {},
    close() {},
    heap: () => null,
    listen(ear) {
      committer.post = (units) => {
        const group = { units };
        posted = group;
        clock.after(random.between(0, SLOWEST_COMMIT_MS), () => {
          if (posted !== group) return;
          posted = null;
          const results = commit(group.units);
          clock.after(0, () => alive && ear.message({ kind: 'results', results }));
        });
      };
    },
  };
  // An untrustworthy store ends the process; in memory it is a defect of the simulation.
  const fatal = (error: Error): never => {
    throw error;
  };
  const queue = new WriteQueue(committer, fatal, (name) => failpoint(name));
  return {
    queue,
    drop() {
      alive = false;
      if (posted !== null && random.chance(0.5)) commit(posted.units);
      posted = null;
    },
  };
}

/**
 * Children before parents: switching foreign keys off would make SQLite prepare every statement again, which costs more
 * than a whole run. Tables in which a new database has rows are kept.
 */
function wiping(database: Database.Database, changed: () => void): () => void {
  const kept = new Set(['meta', 'link_counts', 'sqlite_sequence']);
  const names = database
    .prepare<[], { name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map(({ name }) => name)
    .filter((name) => !kept.has(name));
  const parents = new Map(names.map((name) => [name, new Set(parentsOf(database, name))]));
  const ordered = names.toSorted((one, other) => depthOf(parents, other) - depthOf(parents, one));
  const erasures = ordered.map((name) => database.prepare(`DELETE FROM "${name}"`));
  const recount = database.prepare('UPDATE link_counts SET links = 0');
  const [begin, commit] = [database.prepare('BEGIN'), database.prepare('COMMIT')];
  return () => {
    begin.run();
    for (const erasure of erasures) erasure.run();
    recount.run();
    commit.run();
    changed();
  };
}

function parentsOf(database: Database.Database, name: string): string[] {
  return (database.pragma(`foreign_key_list("${name}")`) as { table: string }[]).map(({ table }) => table); // the pragma's columns
}

/** Distance of a table from those without foreign keys. */
function depthOf(parents: Map<string, Set<string>>, name: string): number {
  return Math.max(0, ...[...(parents.get(name) ?? [])].map((parent) => depthOf(parents, parent) + 1));
}
