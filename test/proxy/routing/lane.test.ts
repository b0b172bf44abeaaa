/** Targets of paths, and lanes beside `test/proof/protocol-lane.test.ts`: kinds, shares, tokens of other merchants. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  atPointOfSale,
  byDevice,
  byDeviceSetting,
  byDynamicCode,
  byHistory,
  byIntent,
  byMerchant,
  byMerchantOrder,
  byPayment,
  byPointOfSale,
  chooseLane,
  type Lane,
  type Named,
} from '../../../src/proxy/routing/lane.ts';
import { type MerchantSettings, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import type { Store } from '../../../src/proxy/store.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { createStand, TOKEN } from '../../proof/stand.ts';
import { auditOf, MERCHANT, NOON, newSale, opened, TERMINAL } from '../../store/contract/harness.ts';
import { withMethods } from '../../store/with-methods.ts';
import { setMerchant } from './lane-ports.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const MINTED = 8_030_388_800_000_001;
const OTHER = '700100300';
const other = new Secret(`APP_USR-4004001-112026-00000000000000000000000000000b02-${OTHER}`);
const TILL = { kind: 'slot', slot: 'qr:TILL1', work: 'sale' } as const;
const CODE = { ...TILL, work: 'beside' } as const;
const LOOK = { ...TILL, work: 'look' } as const;
const DEVICE = { kind: 'slot', slot: `point:${TERMINAL}`, work: 'sale' } as const;

type Kind = Parameters<typeof chooseLane>[3];
const lane = (named: Named, kind: Kind = 'qr', token = TOKEN): Promise<Lane> =>
  chooseLane(stand.ports, token, named, kind);
const set = (settings: Partial<MerchantSettings>) => setMerchant(stand.store, MERCHANT, settings);
const accept = (token: Secret, merchant_id: string, site: string) =>
  stand.store.merchants.acceptToken(
    {
      fingerprint: stand.ports.vault.fingerprint(token),
      merchant_id,
      sealed_token: stand.ports.vault.seal(token.reveal(), 'token'),
      accepted_until: NOON + 60_000,
      seen_at: NOON,
    },
    site,
  );

describe('whose a call is', () => {
  it('has the site of a token that another call had accepted meanwhile', async () => {
    const { store } = stand;
    const sealed = { sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null };
    const settings = merchantSettings.parse({ stage: 'orders' });
    await store.merchants.saveMerchant({ id: OTHER, site: null, settings, ...sealed }, 0, auditOf('stage'));
    const merchantWithToken: Store['merchants']['merchantWithToken'] = async (...asked) => {
      const seen = await store.merchants.merchantWithToken(...asked);
      await accept(other, OTHER, 'MLB');
      return seen;
    };
    stand.restart({ store: withMethods(store, { merchantWithToken }) });
    expect(await lane(DEVICE, 'intents', other)).toMatchObject({ lane: 'orders', merchant: { site: 'MLB' } });
  });

  it("is the token's own merchant, which is another's than the one its text names", async () => {
    await setMerchant(stand.store, OTHER, { stage: 'orders' });
    const token = new Secret(`APP_USR-1-112026-${'f'.repeat(32)}-${MERCHANT}`);
    await accept(token, OTHER, 'MLB');
    const link = await opened(stand.store, { family: 'qr', unit: 'TILL1' });
    expect(await lane(DEVICE, 'intents', token)).toMatchObject({ lane: 'orders', merchant: { id: OTHER } });
    const lane_of_link = await lane({ kind: 'link', link }, 'qr', token);
    expect(lane_of_link).toEqual({ lane: 'legacy', stage: 'orders', merchant_id: OTHER });
  });

  it('of nobody has set follows the default', async () => {
    const nobody = { kind: 'link', link: null } as const;
    expect(await lane(nobody, 'qr', other)).toEqual({ lane: 'legacy', stage: 'orders', merchant_id: OTHER });
  });
});

describe('new work', () => {
  it('on orders is not looked at for what is live on its unit, unless legacy may hold it', async () => {
    let looks = 0;
    const liveLink: Store['links']['liveLink'] = (...about) => {
      looks++;
      return stand.store.links.liveLink(...about);
    };
    stand.restart({ store: withMethods(stand.store, { liveLink }) });
    for (const named of [TILL, LOOK, CODE]) expect(await lane(named)).toMatchObject({ lane: 'orders' });
    expect(looks).toBe(0);
    const sale = newSale({ state: 'OPEN', unit: 'TILL1', family: 'qr', ends_at: NOON + 60_000 });
    await stand.store.legacy_sales.openLegacySale(sale);
    expect(await lane(LOOK)).toMatchObject({ lane: 'legacy' });
    expect(looks).toBe(1);
  });
});

it.each([
  ['not known yet', { state: 'IN_DOUBT' }, 'orders'],
  ['made, and its till may not know', { state: 'LIVE', client_answer: 'error' }, 'orders'],
  ['made and answered a moment ago', { state: 'LIVE', acknowledged_at: NOON }, 'orders'],
  ['made and answered long ago', { state: 'LIVE', acknowledged_at: NOON - 61_000 }, 'legacy'],
  ['made and known to its till', { state: 'LIVE', acknowledged_at: NOON, known_by: 'till' }, 'legacy'],
  ['refused', { state: 'REJECTED' }, 'legacy'],
] as const)('a dynamic code keeps the next one on orders while it is %s', async (_what, change, expected) => {
  await set({ stage: 'legacy' });
  const link = await opened(stand.store, { family: 'qr', unit: 'TILL1', slot: null, created_at: NOON });
  await stand.store.links.saveLink(link, change);
  expect((await lane(CODE)).lane).toBe(expected);
  expect((await lane(TILL)).lane).toBe('legacy');
  expect((await lane({ ...CODE, slot: 'qr:TILL2' })).lane).toBe('legacy');
});

describe('what a path names', () => {
  it('a device and a till by their external ids: the slots of their work', async () => {
    const device = { device_id: TERMINAL };
    expect(await byDevice(stand.ports, device)).toEqual(DEVICE);
    expect(await byDeviceSetting(stand.ports, device)).toEqual({ ...DEVICE, work: 'beside' });
    const till = { user_id: MERCHANT, external_pos_id: 'TILL1' };
    expect(await byPointOfSale(stand.ports, till)).toEqual(TILL);
    expect(await atPointOfSale(stand.ports, till)).toEqual(LOOK);
    expect(await byDynamicCode(stand.ports, till)).toEqual(CODE);
  });

  it('a point of sale by its internal number, which says nothing before it has been looked up', async () => {
    expect(await byPointOfSale(stand.ports, { pos_id: '12345678' })).toEqual({
      kind: 'pos',
      pos_id: '12345678',
      work: 'sale',
    });
    expect(await atPointOfSale(stand.ports, { pos_id: '1' })).toEqual({ kind: 'pos', pos_id: '1', work: 'look' });
    expect(await byHistory(stand.ports, {})).toEqual({ kind: 'history' });
    expect(await byMerchant(stand.ports, {})).toEqual({ kind: 'merchant' });
  });

  it('an intent in any case of its letters, also one of legacy', async () => {
    const link = await opened(stand.store);
    const { legacy_id } = link;
    expect(await byIntent(stand.ports, { intent_id: legacy_id.toUpperCase() })).toEqual({
      kind: 'link',
      link,
      legacy_id,
    });
    const other = '7f25f9aa-eea6-4f9c-bf16-a341f71ba2f1';
    expect(await byIntent(stand.ports, { intent_id: other })).toEqual({ kind: 'link', link: null, legacy_id: other });
    expect(await byIntent(stand.ports, { intent_id: 'unknown' })).toEqual({ kind: 'link', link: null });
  });

  it('a payment by its number', async () => {
    const link = await opened(stand.store, { family: 'qr', unit: 'PAID' });
    const paid = await stand.store.links.saveLink(link, { payment_id: '131772540987' });
    expect(await byPayment(stand.ports, { payment_id: '131772540987' })).toEqual({ kind: 'link', link: paid });
    expect(await byPayment(stand.ports, { payment_id: '131772540988' })).toEqual({
      kind: 'payment',
      payment_id: '131772540988',
    });
    for (const payment_id of ['', '0', '-1', 'abc', '1.5', '../users/me']) {
      expect(await byPayment(stand.ports, { payment_id })).toEqual({ kind: 'link', link: null });
    }
  });

  it('a payment by the number that was synthetic for it, also after the service has given a real one', async () => {
    const link = await opened(stand.store, { family: 'qr', unit: 'MINTED', merchant_order_id: MINTED });
    const paid = await stand.store.links.saveLink(link, { payment_id: '131772540999' });
    const synthetic = String(MINTED - 1_000_000_000_000_000);
    expect(await byPayment(stand.ports, { payment_id: synthetic })).toEqual({ kind: 'link', link: paid });
    expect(await byPayment(stand.ports, { payment_id: `${synthetic}0` })).toEqual({ kind: 'link', link: null });
  });

  it('a merchant order by its number, where it is one of ours', async () => {
    const ours = MINTED + 7_000;
    const link = await opened(stand.store, { family: 'qr', unit: 'ORDERED', merchant_order_id: ours });
    expect(await byMerchantOrder(stand.ports, { merchant_order_id: String(ours) })).toEqual({ kind: 'link', link });
    const foreign = [
      '40123456789',
      '0',
      '-1',
      '8030388800007001.0',
      '8.0303888e15',
      `${ours}0`,
      'MO-1',
      '',
      `${ours + 1}`,
    ];
    for (const merchant_order_id of foreign) {
      expect(await byMerchantOrder(stand.ports, { merchant_order_id })).toEqual({ kind: 'link', link: null });
    }
  });
});
