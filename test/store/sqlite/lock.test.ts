/** One process per file, and no lock that outlives its process. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newLink } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';
import { firstLine, killed, startChild } from './process.ts';

describe('the instance lock', () => {
  let folder: Folder;
  let path: string;
  beforeEach(() => {
    folder = newFolder();
    path = folder.file('puente.db');
  });
  afterEach(() => folder.remove());

  it('refuses a second store in the same process until the first is closed, and leaves the first alone', async () => {
    const first = await openStore(path);
    // The doctor recognises a file in use by this fact, not by the message.
    await expect(openStore(path)).rejects.toMatchObject({ code: 'store_unusable', facts: { in_use: true } });
    const link = newLink();
    await first.links.openLink(link, () => ({ kind: 'open' }));
    expect(await first.links.link(link.legacy_id)).toEqual(link);
    await first.close();
    const second = await openStore(path, { create: false });
    expect(await second.links.link(link.legacy_id)).toEqual(link);
    await second.close();
  });

  it('refuses a second process', async () => {
    const first = await openStore(path);
    const child = startChild('open-child.ts', path);
    try {
      expect(await firstLine(child)).toMatch(/^store_unusable .*another Puente is using it\. Stop that process first/);
    } finally {
      await killed(child);
      await first.close();
    }
  });

  it('is free again as soon as its holder was killed', async () => {
    await (await openStore(path)).close();
    for (let round = 0; round < 3; round++) {
      const child = startChild('open-child.ts', path);
      try {
        expect(await firstLine(child)).toBe('opened');
        await expect(openStore(path)).rejects.toMatchObject({ message: expect.stringContaining('another Puente') });
      } finally {
        await killed(child);
      }
      const store = await openStore(path, { create: false });
      expect(store.healthy()).toBe(true);
      await store.close();
    }
  });
});
