/** What the fleet board remembers between two looks, on a real store: incidents, verdicts, and the pulse of calls. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIncidents } from '../../src/core/fleet/incidents.ts';
import type { Store } from '../../src/core/store.ts';
import { auditOf, MERCHANT, NOON, newMerchant } from '../store/contract/harness.ts';
import { type Folder, newFolder, openStore } from '../store/sqlite/kit.ts';

let folder: Folder;
let store: Store;
beforeEach(async () => {
  folder = newFolder();
  store = await openStore(folder.file('puente.db'));
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

describe('the last incident', () => {
  const stop = { ...auditOf('safety stop'), who: 'puente' };

  it('of a merchant that is erased is remembered no more, nor shown when somebody comes back under its id', async () => {
    const incidents = createIncidents(store);
    await store.saveMerchant(newMerchant(), 0, stop);
    await incidents.update(NOON);
    expect(incidents.of(MERCHANT)).toMatchObject({ what: 'safety stop' });
    await store.eraseMerchant(MERCHANT, () => auditOf('erase'));
    await incidents.update(NOON);
    expect(incidents.of(MERCHANT)).toBeNull();
    await store.saveMerchant(newMerchant(), 0, auditOf('merchant settings'));
    const afterwards = createIncidents(store);
    for (const one of [incidents, afterwards]) {
      await one.update(NOON);
      expect(one.of(MERCHANT)).toBeNull();
    }
  });
});
