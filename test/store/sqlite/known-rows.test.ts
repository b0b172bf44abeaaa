/** Rows that are kept in memory: never older than a commit whose end somebody has heard of. */
import { describe, expect, it } from 'vitest';
import type { Link } from '../../../src/core/link.ts';
import type { LegacySale } from '../../../src/core/records/routing.ts';
import type { Store } from '../../../src/core/store.ts';
import { LINK } from '../../../src/store/columns.ts';
import { createKnownRows, withKnownRows } from '../../../src/store/sqlite/known-rows.ts';
import type { Unit } from '../../../src/store/unit.ts';

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

/** A store whose file is read by hand: what it holds, and how often it was looked into. */
function shelf() {
  const rows = createKnownRows();
  const file = { reads: [] as string[], links: [] as Pick<Link, 'legacy_id'>[], sale: null as LegacySale | null };
  const methods = withKnownRows<
    Pick<Store, 'merchant' | 'token' | 'link' | 'linkByMerchantOrder' | 'linksByClientReference' | 'heldByLegacy'>
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
      heldByLegacy: async (_merchant, slot) => {
        file.reads.push(slot);
        return file.sale;
      },
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
  const columns = LINK.split(/,\s*/);
  const opened = (write: 'insert_link' | 'insert_unslotted_link', reference: string): Unit => {
    const named = { merchant_id: '1', client_reference: reference } as Record<string, string>;
    return { steps: [{ write, values: columns.map((column) => named[column] ?? null) }] };
  };
  const named = (ids: string[]) => ids.map((legacy_id) => ({ legacy_id }));

  it('is looked for once, and its links are those that are known', async () => {
    const { file, methods } = shelf();
    file.links = named(['b', 'a']);
    const look = () => methods.linksByClientReference('1', 'Mesa 5', 9);
    expect([await look(), await look(), await look()]).toEqual([file.links, file.links, file.links]);
    expect(file.reads).toEqual(['Mesa 5', 'b', 'a']);
  });

  it('may be nothing, until a sale is opened by that name', async () => {
    const { rows, file, methods } = shelf();
    const look = () => methods.linksByClientReference('1', 'Mesa 5', 9);
    expect([await look(), await look()]).toEqual([[], []]);
    await rows.during(opened('insert_link', 'Mesa 6'), Promise.resolve());
    await look();
    expect(file.reads).toEqual(['Mesa 5']);
    for (const write of ['insert_link', 'insert_unslotted_link'] as const) {
      file.links = [...named([write]), ...file.links];
      await rows.during(opened(write, 'Mesa 5'), Promise.resolve());
      expect(await look()).toEqual(file.links);
    }
  });

  it('is looked for anew by who asks for more', async () => {
    const { file, methods } = shelf();
    file.links = named(['b', 'a']);
    expect(await methods.linksByClientReference('1', 'Mesa 5', 1)).toEqual(named(['b']));
    expect(await methods.linksByClientReference('1', 'Mesa 5', 2)).toEqual(named(['b', 'a']));
  });

  it('is without what was deleted', async () => {
    const { rows, file, methods } = shelf();
    file.links = named(['b', 'a']);
    const look = () => methods.linksByClientReference('1', 'Mesa 5', 9);
    await look();
    file.links = named(['a']);
    await rows.during(unitOf('delete_links'), Promise.resolve());
    expect(await look()).toEqual(named(['a']));
  });
});

describe('that legacy holds nothing of a unit', () => {
  it('is known until something of legacy is written', async () => {
    const { rows, file, methods } = shelf();
    const look = () => methods.heldByLegacy('1', 'point:A', 0);
    expect([await look(), await look()]).toEqual([null, null]);
    expect(file.reads).toEqual(['point:A']);
    for (const write of ['insert_legacy_sale', 'update_legacy_sale', 'doubt_legacy_sales'] as const) {
      await look();
      const commit = Promise.withResolvers<void>();
      const ended = rows.during(unitOf(write), commit.promise);
      file.sale = { id: write } as LegacySale; // nobody reads more of it
      expect(await look(), `while ${write} is under way`).toBe(file.sale);
      commit.resolve();
      await ended;
      expect(await look()).toBe(file.sale);
      file.sale = null;
    }
  });

  it('is looked for each time where it does, because a sale may end by the clock alone, and of proven tokens', async () => {
    const { file, methods } = shelf();
    file.sale = { id: 'sale' } as LegacySale; // nobody reads more of it
    await methods.heldByLegacy('1', 'point:A', 0);
    file.sale = null;
    expect(await methods.heldByLegacy('1', 'point:A', 1)).toBeNull();
    await methods.heldByLegacy('1', 'point:A', 1, 'proven');
    await methods.heldByLegacy('1', 'point:A', 1, 'proven');
    expect(file.reads).toHaveLength(4);
  });
});
