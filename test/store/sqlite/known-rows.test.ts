/** Rows that are kept in memory: never older than a commit whose end somebody has heard of. */
import { describe, expect, it } from 'vitest';
import { createKnownRows } from '../../../src/store/sqlite/known-rows.ts';
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

  it('are none that are not there: who invents tokens fills no memory', async () => {
    const { file, look } = stand();
    file.row = null;
    expect([await look(), await look()]).toEqual([null, null]);
    expect(file.reads).toBe(2);
  });
});
