/** The contract of every store engine: the whole of `proxy/store.ts`. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { anyMerchantTests } from './any-merchant.ts';
import { auditTests } from './audit.ts';
import { differenceTests } from './differences.ts';
import { eventTests } from './events.ts';
import { exchangeTests } from './exchanges.ts';
import { findingTests } from './findings.ts';
import { type Harness, newLink, type OpenHarness } from './harness.ts';
import { historyTests } from './history.ts';
import { incidentTests } from './incidents.ts';
import { laneTests } from './lanes.ts';
import { legacySaleTests } from './legacy-sales.ts';
import { linkTests } from './links.ts';
import { merchantTests } from './merchants.ts';
import { moveTests } from './moves.ts';
import { noticeLogTests } from './notice-log.ts';
import { noticeTests } from './notices.ts';
import { openingTests } from './openings.ts';
import { pageTests } from './pages.ts';
import { qrLinkTests } from './qr-links.ts';
import { refundTests } from './refunds.ts';
import { saleListTests } from './sales.ts';
import { scheduleTests } from './schedules.ts';
import { unslottedTests } from './unslotted.ts';

/** Runs the suite on one store, emptied after each test: opening a store costs more than most tests. */
export function storeContract(name: string, open: OpenHarness): void {
  describe(`the store contract, kept by ${name}`, () => {
    let opened: Harness;
    beforeAll(async () => {
      opened = await open();
    });
    afterEach(() => opened.empty());
    afterAll(() => opened.dispose());
    // Tests are declared before the store exists: each port resolves to the current store at its use.
    const store = new Proxy({} as Store, { get: (_, name) => Reflect.get(opened.store, name) });
    const harness = new Proxy({} as Harness, {
      get: (_, name) => (name === 'store' ? store : Reflect.get(opened, name)),
    });

    it('opens three times without harm', async () => {
      const link = newLink();
      await store.links.openLink(link, () => ({ kind: 'open' }));
      await harness.reopen();
      await harness.reopen();
      await harness.reopen();
      expect(await store.links.link(link.legacy_id)).toEqual(link);
      expect(store.healthy()).toBe(true);
    });

    it('closes twice without harm, is not healthy then, and refuses writes', async () => {
      await Promise.all([store.close(), store.close()]);
      expect(store.healthy()).toBe(false);
      const late = store.links.openLink(newLink(), () => ({ kind: 'open' }));
      await expect(late).rejects.toMatchObject({ code: 'store_failed' });
      expect(await (await harness.reopen()).upkeep.counts()).toMatchObject({ links: { SENDING: 0 } });
    });

    it('commits what was asked for before it closes', async () => {
      const link = newLink();
      const opening = store.links.openLink(link, () => ({ kind: 'open' }));
      await store.close();
      await opening;
      expect(await (await harness.reopen()).links.link(link.legacy_id)).toEqual(link);
    });

    describe('whoever it belongs to', () => anyMerchantTests(harness));
    describe('opening a link', () => openingTests(harness));
    describe('opening a link that holds no slot', () => unslottedTests(harness));
    describe('links', () => linkTests(harness));
    describe('links of QR sales', () => qrLinkTests(harness));
    describe('refunds', () => refundTests(harness));
    describe('notices', () => noticeTests(harness));
    describe('the delivery log', () => noticeLogTests(harness));
    describe('events', () => eventTests(harness));
    describe('merchants and tokens', () => merchantTests(harness));
    describe('audit', () => auditTests(harness));
    describe('sales created on legacy', () => legacySaleTests(harness));
    describe('a unit and its two lanes', () => laneTests(harness));
    describe('exchanges', () => exchangeTests(harness));
    describe('pages of exchanges', () => pageTests(harness));
    describe('findings', () => findingTests(harness));
    describe('differences', () => differenceTests(harness));
    describe('lists of sales', () => saleListTests(harness));
    describe('moves', () => moveTests(harness));
    describe('incidents', () => incidentTests(harness));
    describe('history', () => historyTests(harness));
    describe('what waits', () => scheduleTests(harness));
  });
}
