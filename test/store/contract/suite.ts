/** What every store engine must do: the whole contract of `proxy/store.ts`, run against whatever is handed in. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { anyMerchantTests } from './any-merchant.ts';
import { auditTests } from './audit.ts';
import { differenceTests } from './differences.ts';
import { eventTests } from './events.ts';
import { exchangeTests } from './exchanges.ts';
import { findingTests } from './findings.ts';
import { type Harness, newLink, type OpenHarness } from './harness.ts';
import { historyTests } from './history.ts';
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
import { scheduleTests } from './schedules.ts';
import { unslottedTests } from './unslotted.ts';

/** Runs the suite on one store, which is emptied after each test: opening one costs more than most tests. */
export function storeContract(name: string, open: OpenHarness): void {
  describe(`the store contract, kept by ${name}`, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness = await open();
    });
    afterEach(() => harness.empty());
    afterAll(() => harness.dispose());
    const current = () => harness;

    it('opens three times without harm', async () => {
      const link = newLink();
      await harness.store.links.openLink(link, () => ({ kind: 'open' }));
      await harness.reopen();
      await harness.reopen();
      const store = await harness.reopen();
      expect(await store.links.link(link.legacy_id)).toEqual(link);
      expect(store.healthy()).toBe(true);
    });

    it('closes twice without harm, is not healthy then, and refuses writes', async () => {
      await Promise.all([harness.store.close(), harness.store.close()]);
      expect(harness.store.healthy()).toBe(false);
      const late = harness.store.links.openLink(newLink(), () => ({ kind: 'open' }));
      await expect(late).rejects.toMatchObject({ code: 'store_failed' });
      expect(await (await harness.reopen()).upkeep.counts()).toMatchObject({ links: { SENDING: 0 } });
    });

    it('commits what was asked for before it closes', async () => {
      const link = newLink();
      const opening = harness.store.links.openLink(link, () => ({ kind: 'open' }));
      await harness.store.close();
      await opening;
      expect(await (await harness.reopen()).links.link(link.legacy_id)).toEqual(link);
    });

    describe('whoever it belongs to', () => anyMerchantTests(current));
    describe('opening a link', () => openingTests(current));
    describe('opening a link that holds no slot', () => unslottedTests(current));
    describe('links', () => linkTests(current));
    describe('links of QR sales', () => qrLinkTests(current));
    describe('refunds', () => refundTests(current));
    describe('notices', () => noticeTests(current));
    describe('the delivery log', () => noticeLogTests(current));
    describe('events', () => eventTests(current));
    describe('merchants and tokens', () => merchantTests(current));
    describe('audit', () => auditTests(current));
    describe('sales born on legacy', () => legacySaleTests(current));
    describe('a unit and its two lanes', () => laneTests(current));
    describe('exchanges', () => exchangeTests(current));
    describe('pages of exchanges', () => pageTests(current));
    describe('findings', () => findingTests(current));
    describe('differences', () => differenceTests(current));
    describe('moves', () => moveTests(current));
    describe('history', () => historyTests(current));
    describe('what waits', () => scheduleTests(current));
  });
}
