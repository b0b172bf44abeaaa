/** One notice for operators: what is read for it. */
import { expect, it } from 'vitest';
import { redeliverNotice, viewNotice } from '../../src/ops/notices.ts';
import type { Ports } from '../../src/ops/ports.ts';
import { closing } from '../open.ts';
import { auditOf, finished, firstDue, MERCHANT, NOON, newMerchant, newNotice } from '../store/contract/harness.ts';
import { openOwnStore } from '../store/sqlite/kit.ts';
import { withMethods } from '../store/with-methods.ts';

it('one notice has the name of its merchant, and no other merchant is read for it', async () => {
  await using store = closing(await openOwnStore({ now: () => NOON }));
  const merchant = newMerchant();
  const named = { ...merchant, settings: { ...merchant.settings, name: 'Café Sur' } };
  await store.merchants.saveMerchant(named, 0, auditOf('made'));
  const link = await finished(store);
  await store.links.saveLink(link, { known_by: 'till' }, { notices: [newNotice(link, 'x')] });
  const { id } = await firstDue(store, NOON);
  const narrow = withMethods(store, { merchants: () => Promise.reject(new Error('all merchants are read')) });
  const clock = { now: () => NOON };
  const memory = { wakeups: { notices: { wake: () => undefined } } };
  const ports = { store: narrow, clock, memory } as unknown as Ports; // these read no more
  const shown = { id, merchant: MERCHANT, merchant_name: 'Café Sur' };
  expect(await viewNotice(ports, id)).toMatchObject(shown);
  expect(await redeliverNotice(ports, id, 'again', 'ana')).toMatchObject(shown);
});
