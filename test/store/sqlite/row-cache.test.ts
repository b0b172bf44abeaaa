/** The row cache: never older than a commit whose end a caller has seen; reads that tills repeat go to the file once. */
import { describe, expect, it } from 'vitest';
import type { LegacySale } from '../../../src/proxy/records/routing.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import type { StoreMethods, Unit } from '../../../src/store/engine.ts';
import { valuesOfLink } from '../../../src/store/rows.ts';
import { createKnownRows, withKnownRows } from '../../../src/store/sqlite/row-cache.ts';
import { type CachedKind, type Write, writes } from '../../../src/store/writes.ts';
import { MERCHANT, newLink } from '../contract/harness.ts';

const unitOf = (write: Unit['steps'][number]['write']): Unit => ({ steps: [{ write, values: [] }] });

/** Rows of a file that is read by hand. */
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
  /** A link that is read by its id, beside another one. */
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
  /** Ends in the id and the revision, as the statement does. */
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

describe('what a write changes is declared beside it', () => {
  /** Kinds that hang on the rows of a table. */
  const hanging: Readonly<Record<string, readonly CachedKind[]>> = {
    merchants: ['merchant', 'token'],
    tokens: ['merchant', 'token'],
    links: ['link', 'merchant_order', 'reference'],
    legacy_sales: ['held_until'],
  };
  /** Writes that change less than all facts about a link. */
  const narrow: Readonly<Record<string, readonly CachedKind[]>> = {
    insert_link: ['reference'],
    update_link: ['link'],
    hear_notice: ['link'],
  };
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

/** A store whose file is read by hand: what it holds, and how often it was looked into. */
function shelf() {
  const rows = createKnownRows();
  const file = { reads: [] as string[], links: [] as Pick<Link, 'legacy_id'>[], sale: null as LegacySale | null };
  const methods = withKnownRows<
    Pick<
      StoreMethods,
      'merchant' | 'token' | 'link' | 'linkByMerchantOrder' | 'linksByClientReference' | 'heldByLegacy'
    >
  >(
    {
      merchant: async () => null,
      token: async () => null,
      link: async (id) => {
        file.reads.push(id);
        return file.links.find(({ legacy_id }) => legacy_id === id) as Link | null; // nobody reads more of it
      },
      linkByMerchantOrder: async (id) => {
        file.reads.push(String(id));
        return (file.links[0] ?? null) as Link | null;
      },
      linksByClientReference: async (_merchant, reference, limit) => {
        file.reads.push(reference);
        return file.links.slice(0, limit) as Link[];
      },
      heldByLegacy: async (_merchant, slot, now) => {
        file.reads.push(slot);
        return file.sale?.slot === slot && file.sale.ends_at > now ? file.sale : null;
      },
    },
    async (merchant) => {
      file.reads.push(`all of ${merchant}`);
      return file.sale?.ends_at ?? 0;
    },
    () => rows,
  );
  return { rows, file, methods };
}

describe('which link a merchant order is', () => {
  it('is looked for once, and its link is the one that is known', async () => {
    const { rows, file, methods } = shelf();
    const look = () => methods.linkByMerchantOrder(7);
    expect(await look()).toBeNull();
    file.links = [{ legacy_id: 'a' }];
    expect([await look(), await look(), await look()]).toEqual([...file.links, ...file.links, ...file.links]);
    expect(file.reads, 'what was not there is looked for again').toEqual(['7', '7', 'a']);
    file.links = [];
    await rows.during(unitOf('delete_links'), Promise.resolve());
    expect(await look()).toBeNull();
  });
});

describe('what a reference names', () => {
  const opened = (client_reference: string): Unit => ({
    steps: [{ write: 'insert_link', values: valuesOfLink(newLink({ client_reference })) }],
  });
  const named = (ids: string[]) => ids.map((legacy_id) => ({ legacy_id }));

  it('is looked for once, and its links are those that are known', async () => {
    const { file, methods } = shelf();
    file.links = named(['b', 'a']);
    const look = () => methods.linksByClientReference(MERCHANT, 'Mesa 5', 9);
    expect([await look(), await look(), await look()]).toEqual([file.links, file.links, file.links]);
    expect(file.reads).toEqual(['Mesa 5', 'b', 'a']);
  });

  it('may be nothing, until a sale is opened by that name', async () => {
    const { rows, file, methods } = shelf();
    const look = () => methods.linksByClientReference(MERCHANT, 'Mesa 5', 9);
    expect([await look(), await look()]).toEqual([[], []]);
    await rows.during(opened('Mesa 6'), Promise.resolve());
    await look();
    expect(file.reads).toEqual(['Mesa 5']);
    file.links = named(['c']);
    await rows.during(opened('Mesa 5'), Promise.resolve());
    expect(await look()).toEqual(file.links);
  });

  it('is looked for anew by who asks for more', async () => {
    const { file, methods } = shelf();
    file.links = named(['b', 'a']);
    expect(await methods.linksByClientReference(MERCHANT, 'Mesa 5', 1)).toEqual(named(['b']));
    expect(await methods.linksByClientReference(MERCHANT, 'Mesa 5', 2)).toEqual(named(['b', 'a']));
  });

  it('is told whole to whoever asks for more than there are, and in part to who asks for less', async () => {
    const { file, methods } = shelf();
    file.links = named(['b', 'a']);
    for (const limit of [9, 1_001, 2, 1]) {
      expect(await methods.linksByClientReference(MERCHANT, 'Mesa 5', limit)).toEqual(file.links.slice(0, limit));
    }
    expect(file.reads.filter((read) => read === 'Mesa 5')).toHaveLength(1);
  });

  it('is found by what UTF-8 makes of half a letter', async () => {
    const { rows, file, methods } = shelf();
    const look = () => methods.linksByClientReference(MERCHANT, 'Mesa \ufffd', 9);
    expect(await look()).toEqual([]);
    file.links = named(['a']);
    await rows.during(opened('Mesa \ud83d'), Promise.resolve());
    expect(await look()).toEqual(file.links);
  });

  it('is read each time where it names more than a search shows, and drives out no link', async () => {
    const { file, methods } = shelf();
    file.links = named(Array.from({ length: 52 }, (_, index) => String(index)));
    const look = () => methods.linksByClientReference(MERCHANT, 'all', 1_001);
    expect([await look(), await look()]).toEqual([file.links, file.links]);
    expect(file.reads).toEqual(['all', 'all']);
  });

  it('is looked for anew after any other write of links', async () => {
    const { rows, file, methods } = shelf();
    await methods.linksByClientReference(MERCHANT, 'Mesa 5', 9);
    await rows.during(unitOf('erase_links'), Promise.resolve());
    await methods.linksByClientReference(MERCHANT, 'Mesa 5', 9);
    expect(file.reads).toHaveLength(2);
  });

  it('is without what was deleted', async () => {
    const { rows, file, methods } = shelf();
    file.links = named(['b', 'a']);
    const look = () => methods.linksByClientReference(MERCHANT, 'Mesa 5', 9);
    await look();
    file.links = named(['a']);
    await rows.during(unitOf('delete_links'), Promise.resolve());
    expect(await look()).toEqual(named(['a']));
  });
});

describe('that legacy holds nothing of a unit', () => {
  const heldAt = (slot: string, ends_at: number) => ({ slot, ends_at }) as LegacySale; // nobody reads more of it

  it('is known of all units of a merchant until something of legacy is written', async () => {
    const { rows, file, methods } = shelf();
    const look = (slot = 'point:A') => methods.heldByLegacy('1', slot, 0);
    expect([await look(), await look('point:B'), await look()]).toEqual([null, null, null]);
    expect(file.reads).toEqual(['all of 1']);
    for (const write of ['insert_legacy_sale', 'update_legacy_sale', 'doubt_legacy_sales'] as const) {
      await look();
      const commit = Promise.withResolvers<void>();
      const ended = rows.during(unitOf(write), commit.promise);
      file.sale = heldAt('point:A', 100);
      expect(await look(), `while ${write} is under way`).toBe(file.sale);
      commit.resolve();
      await ended;
      expect(await look()).toBe(file.sale);
      expect(await look('point:B')).toBeNull();
      file.sale = null;
      await rows.during(unitOf('delete_legacy_sales'), Promise.resolve());
    }
  });

  it('is one for each merchant, and for those whose token is proven too', async () => {
    const { file, methods } = shelf();
    await methods.heldByLegacy('1', 'point:A', 0);
    await methods.heldByLegacy('1', 'point:A', 0, 'proven');
    await methods.heldByLegacy('2', 'point:A', 0);
    expect(file.reads).toEqual(['all of 1', 'all of 2']);
  });

  it('is known by the clock alone once the last of its sales has ended, and not by one that was set back', async () => {
    const { file, methods } = shelf();
    file.sale = heldAt('point:A', 100);
    const held = (now: number, slot = 'point:A') => methods.heldByLegacy('1', slot, now);
    expect([await held(99), await held(99, 'point:B')]).toEqual([file.sale, null]);
    expect([await held(100), await held(200, 'point:B')]).toEqual([null, null]);
    expect(file.reads).toEqual(['all of 1', 'point:A', 'point:B']);
    expect(await held(50)).toBe(file.sale);
  });
});
