/** Reads that tills repeat: from the file once, and again as soon as anything could have changed what they tell. */
import { describe, expect, it } from 'vitest';
import type { LegacySale } from '../../../src/proxy/records/routing.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import type { StoreMethods, Unit } from '../../../src/store/engine.ts';
import { valuesOfLink } from '../../../src/store/rows.ts';
import { createKnownRows, withKnownRows } from '../../../src/store/sqlite/row-cache.ts';
import { MERCHANT, newLink } from '../contract/harness.ts';

const unitOf = (write: Unit['steps'][number]['write']): Unit => ({ steps: [{ write, values: [] }] });

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
