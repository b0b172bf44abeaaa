/** The row cache: never older than a commit whose end a caller has seen. */
import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/store/engine.ts';
import { createKnownRows } from '../../../src/store/sqlite/reader.ts';
import { type CachedKind, type Write, writes } from '../../../src/store/writes.ts';
import { MERCHANT, opened } from '../contract/harness.ts';
import { openOwnStore } from './kit.ts';

const unitOf = (write: Unit['steps'][number]['write']): Unit => ({ steps: [{ write, values: [] }] });

function stand() {
  const rows = createKnownRows();
  const file = { reads: 0, row: { revision: 1 } as { revision: number } | null };
  const look = () =>
    rows.get('merchant', '1', async () => {
      file.reads++;
      return file.row === null ? null : { ...file.row };
    });
  return { rows, file, look };
}

describe('known rows', () => {
  it('are read once, and nobody changes what others hold too', async () => {
    const { file, look } = stand();
    expect([await look(), await look()]).toEqual([{ revision: 1 }, { revision: 1 }]);
    expect(file.reads).toBe(1);
    expect(Object.isFrozen(await look())).toBe(true);
  });

  it.each([
    'insert_merchant',
    'update_merchant',
    'meet_merchant',
    'update_trips',
    'erase_merchant',
    'accept_token',
    'forget_token',
    'blank_tokens',
    'erase_tokens',
  ] as const)('are read from the file while %s is under way, and anew afterwards', async (write) => {
    const { rows, file, look } = stand();
    await look();
    const commit = Promise.withResolvers<string>();
    const ended = rows.during(unitOf(write), commit.promise);
    expect(await look()).toEqual({ revision: 1 });
    file.row = { revision: 2 };
    expect(await look(), 'the writer may be through before it says so').toEqual({ revision: 2 });
    commit.resolve('done');
    expect(await ended).toBe('done');
    file.row = { revision: 3 };
    expect(await look()).toEqual({ revision: 3 });
    file.row = { revision: 4 };
    expect(await look(), 'kept again').toEqual({ revision: 3 });
  });

  it('are forgotten also when a commit fails, because nobody knows what it has done', async () => {
    const { rows, file, look } = stand();
    const ended = rows.during(unitOf('update_merchant'), Promise.reject(new Error('full')));
    await expect(ended).rejects.toThrow('full');
    await look();
    await look();
    expect(file.reads).toBe(1);
  });

  it('are not kept when they were read before a change and came after it', async () => {
    const rows = createKnownRows();
    const { promise: slow, resolve } = Promise.withResolvers<{ revision: number }>();
    const reading = rows.get('merchant', '1', () => slow);
    await rows.during(unitOf('update_merchant'), Promise.resolve());
    resolve({ revision: 1 });
    expect(await reading).toEqual({ revision: 1 });
    expect(await rows.get('merchant', '1', async () => ({ revision: 2 }))).toEqual({ revision: 2 });
  });

  it('stay while nothing of theirs is written', async () => {
    const { rows, file, look } = stand();
    await look();
    await rows.during(unitOf('insert_link'), Promise.resolve());
    await look();
    expect(file.reads).toBe(1);
  });

  it('tell that nobody is there until somebody is', async () => {
    const { rows, file, look } = stand();
    file.row = null;
    expect([await look(), await look()]).toEqual([null, null]);
    expect(file.reads).toBe(1);
    file.row = { revision: 1 };
    await rows.during(unitOf('meet_merchant'), Promise.resolve());
    expect(await look()).toEqual({ revision: 1 });
  });

  it('are bounded: who invents tokens fills no memory', async () => {
    const { rows, file, look } = stand();
    await look();
    for (let n = 0; n < 10_000; n++) await rows.get('merchant', `invented ${n}`, async () => null);
    await look();
    expect(file.reads).toBe(2);
  });
});

describe('known links', () => {
  function links() {
    const rows = createKnownRows();
    const reads: string[] = [];
    const look = (id: string, row: object | null = { id }) =>
      rows.get('link', id, async () => {
        reads.push(id);
        return row;
      });
    return { rows, reads, look };
  }
  /** Ends with the id and the revision, like the statement. */
  const update = (id: string): Unit => ({ steps: [{ write: 'update_link', values: ['LIVE', id, 1] }] });

  it('are read from the file while they are changed themselves, and anew afterwards', async () => {
    const { rows, reads, look } = links();
    const all = async () => {
      await look('a');
      await look('b');
    };
    await all();
    const commit = Promise.withResolvers<void>();
    const ended = rows.during(update('a'), commit.promise);
    await all();
    await all();
    expect(reads, 'b is nobody else').toEqual(['a', 'b', 'a', 'a']);
    commit.resolve();
    await ended;
    await all();
    await all();
    expect(reads).toEqual(['a', 'b', 'a', 'a', 'a']);
  });

  it('wait for the last of several changes', async () => {
    const { rows, reads, look } = links();
    const second = Promise.withResolvers<void>();
    const ended = rows.during(update('a'), second.promise);
    await rows.during(update('a'), Promise.resolve());
    await look('a');
    await look('a');
    expect(reads).toEqual(['a', 'a']);
    second.resolve();
    await ended;
    await look('a');
    await look('a');
    expect(reads).toEqual(['a', 'a', 'a']);
  });

  it.each(['pull_links', 'delete_links', 'erase_links'] as const)('are all forgotten by %s', async (write) => {
    const { rows, reads, look } = links();
    await look('a');
    await rows.during(unitOf(write), Promise.resolve());
    await look('a');
    expect(reads).toEqual(['a', 'a']);
  });

  it('that are not there are looked for each time, because openings forget nothing', async () => {
    const { rows, look } = links();
    expect(await look('a', null)).toBeNull();
    await rows.during(unitOf('insert_link'), Promise.resolve());
    expect(await look('a')).toEqual({ id: 'a' });
  });
});

describe('links of a search', () => {
  const FEW = 100;

  it('are kept while they are few; more are read past the cache, and take no place of a sale that a till polls', async () => {
    const store = await openOwnStore();
    const openAll = (client_reference: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          opened(store, { client_reference, unit: `${client_reference}${index}` }),
        ),
      );
    await openAll('few', FEW);
    await openAll('many', FEW + 1);
    const search = async (reference: string, count: number) => {
      const links = await store.history.linksByClientReference(MERCHANT, reference, 1_001);
      expect(links).toHaveLength(count);
      return links;
    };
    const kept = await search('few', FEW);
    const passed = await search('many', FEW + 1);
    for (const [index, link] of (await search('few', FEW)).entries()) expect(link).toBe(kept[index]);
    for (const [index, link] of (await search('many', FEW + 1)).entries()) {
      expect(link).toEqual(passed[index]);
      expect(link).not.toBe(passed[index]);
    }
    await store.close();
  });
});

describe('what a write changes is declared beside it', () => {
  /** Cached kinds that depend on the rows of a table. */
  const hanging: Readonly<Record<string, readonly CachedKind[]>> = {
    merchants: ['merchant', 'token'],
    tokens: ['merchant', 'token'],
    links: ['link'],
  };
  /** A new link is in no cache. */
  const narrow: Readonly<Record<string, readonly CachedKind[]>> = { insert_link: [] };
  const undeclared = (all: Readonly<Record<string, Write>>): string[] =>
    Object.entries(all).flatMap(([name, { sql, invalidates }]) => {
      const tables = [...sql.matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/g)].map(([, table]) => table ?? '');
      const wanted = narrow[name] ?? tables.flatMap((table) => hanging[table] ?? []);
      const declared = invalidates.map(({ kind }) => kind);
      return declared.toSorted().join() === [...new Set(wanted)].toSorted().join() ? [] : [name];
    });

  it('for every write, neither less nor more', () => {
    expect(undeclared(writes)).toEqual([]);
  });

  it.each(Object.keys(hanging))('and a write of %s without a declaration is found', (table) => {
    const silent: Write = { sql: `UPDATE ${table} SET id = ?`, invalidates: [] };
    expect(undeclared({ ...writes, silent })).toEqual(['silent']);
  });
});
