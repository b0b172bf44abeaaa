/** Where a call goes: new work by the stage, an existing id by its birth, and nobody's token gets at the map. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import type { OperationKind } from '../../../src/proxy/evidence/exchange.ts';
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
import { type MerchantSettings, merchantSettings, type Stage } from '../../../src/proxy/routing/merchant.ts';
import { createUpstream, type UpstreamClient } from '../../../src/proxy/upstream/client.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { createFault } from '../../../src/sandbox/control.ts';
import { faultSchema } from '../../../src/sandbox/records.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { ARGENTINA, BRAZIL, tokenOf } from '../../kit.ts';
import { auditOf, newSale, opened } from '../../store/contract/harness.ts';
import { withMethods } from '../../store/with-methods.ts';
import { lanePorts, setMerchant } from './lane-ports.ts';

const MINTED = 8_030_388_800_000_001;
const NOBODY = new Secret(tokenOf('799999999'));
const FORGED = new Secret(`APP_USR-1-112026-${'f'.repeat(32)}-${ARGENTINA}`);
const argentina = new Secret(tokenOf(ARGENTINA));
const brazil = new Secret(tokenOf(BRAZIL));
const TILL = { kind: 'slot', slot: 'qr:SUC001POS001', work: 'sale' } as const;
const CODE = { ...TILL, work: 'beside' } as const;
const TERMINAL = { kind: 'slot', slot: 'point:PAX_A910__SMARTPOS0000000001', work: 'sale' } as const;
const LOOK = { ...TILL, work: 'look' } as const;
const NUMBER = { kind: 'pos', pos_id: '1000001', work: 'sale' } as const; // of the same till, in the sandbox's cast
/** Whatever is no existing id, with the kind that it is asked as. */
const NEW_WORK: [string, Named, OperationKind][] = [
  ['a terminal', TERMINAL, 'intents'],
  ['a till', TILL, 'qr'],
  ['what a till shows', LOOK, 'qr'],
  ['a dynamic code', CODE, 'qr'],
  ["a terminal's setting", { ...TERMINAL, work: 'beside' }, 'devices'],
  ['a search', { kind: 'history' }, 'payments'],
  ['a list of devices', { kind: 'merchant' }, 'devices'],
];

let sandbox: Sandbox;
let upstream: UpstreamClient;
let directory: string;
let files = 0;
beforeAll(async () => {
  sandbox = await startSandbox({ port: 0, host: '127.0.0.1' });
  upstream = createUpstream({ baseUrl: sandbox.url, connections: 2, connectTimeout_ms: 1000, userAgent: 'Puente' });
  directory = mkdtempSync(join(tmpdir(), 'puente-lane-'));
});
afterAll(async () => {
  await upstream?.close();
  await sandbox?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A Puente without doors whose merchants start on legacy. */
async function openRuntime(): Promise<Ports> {
  const path = join(directory, `${++files}.db`);
  const store = await openSqliteStore({ path, create: true, now: Date.now });
  return lanePorts({ store, upstreams: { orders: upstream, legacy: upstream } });
}

let ports: Ports;
/** A store of its own for each test, because the merchants of the sandbox's cast are the same for all. */
const withRuntime = (): void => {
  beforeEach(async () => {
    ports = await openRuntime();
    return () => ports.store.close();
  });
};

const lane = (token: Secret, named: Named, kind: OperationKind = 'qr') => chooseLane(ports, token, named, kind);
const asked = (): number => sandbox.world.request_log.list().filter((one) => one.path === '/users/me').length;
const argentinaIs = (settings: Partial<MerchantSettings>) => setMerchant(ports.store, ARGENTINA, settings);
const onLegacy = (stage: Stage, merchant_id: string = ARGENTINA): Lane => ({ lane: 'legacy', stage, merchant_id });
const onOrders = (stage: Stage) => ({ lane: 'orders', stage, merchant: { id: ARGENTINA }, link: null });

describe('whose a call is', () => {
  withRuntime();

  it('has the site of a token that another call had accepted meanwhile', async () => {
    const { store } = ports;
    const sealed = { sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null };
    const settings = merchantSettings.parse({ stage: 'orders' });
    await store.merchants.saveMerchant({ id: BRAZIL, site: null, settings, ...sealed }, 0, auditOf('stage'));
    const accept = async () => {
      const [fingerprint, seen_at] = [ports.vault.fingerprint(brazil), Date.now()];
      const sealed_token = ports.vault.seal(brazil.reveal(), 'token');
      const accepted_until = seen_at + 60_000;
      await store.merchants.acceptToken(
        { fingerprint, merchant_id: BRAZIL, sealed_token, accepted_until, seen_at },
        'MLB',
      );
    };
    ports.store = withMethods(store, {
      merchantWithToken: async (...asked) => {
        const seen = await store.merchants.merchantWithToken(...asked);
        await accept();
        return seen;
      },
    });
    expect((await store.merchants.merchant(BRAZIL))?.site).toBeNull();
    expect(await lane(brazil, TERMINAL, 'intents')).toMatchObject({ lane: 'orders', merchant: { site: 'MLB' } });
  });
});

describe('refused is', () => {
  withRuntime();

  it('a token nobody has accepted, where the merchant is on orders', async () => {
    await argentinaIs({ stage: 'orders' });
    const refused = { lane: 'refused', stage: 'orders', merchant_id: ARGENTINA, error: 'unauthorized' };
    for (const [what, named, kind] of NEW_WORK) expect(await lane(FORGED, named, kind), what).toEqual(refused);
  });

  it('a token nobody has accepted that names an id born on orders', async () => {
    const link = await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(FORGED, { kind: 'link', link })).toMatchObject({ lane: 'refused', error: 'unauthorized' });
    expect(await lane(FORGED, TILL)).toMatchObject({ lane: 'refused', error: 'unauthorized' });
  });

  it("nothing of a token's own merchant, which is another's than the one its text names", async () => {
    await argentinaIs({ stage: 'orders' });
    await setMerchant(ports.store, BRAZIL, { stage: 'orders' });
    const [fingerprint, seen_at] = [ports.vault.fingerprint(FORGED), Date.now()];
    const sealed_token = ports.vault.seal(FORGED.reveal(), 'token');
    const token = { fingerprint, merchant_id: BRAZIL, sealed_token, accepted_until: seen_at + 60_000, seen_at };
    await ports.store.merchants.acceptToken(token, 'MLB');
    const link = await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(FORGED, TERMINAL, 'intents')).toMatchObject({ lane: 'orders', merchant: { id: BRAZIL } });
    expect(await lane(FORGED, { kind: 'link', link })).toEqual(onLegacy('orders', BRAZIL));
  });

  it('a till by a number that nobody can look up, while a till of the merchant has work on orders', async () => {
    expect(await lane(argentina, NUMBER)).toEqual(onLegacy('legacy'));
    await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
    const away = { method: 'GET', path: '/pos/1000001', kind: 'error', status: 503, code: 'internal_error' };
    sandbox.world.faults.push(createFault(faultSchema.parse(away)));
    expect(await lane(argentina, NUMBER)).toEqual({
      lane: 'refused',
      stage: 'legacy',
      merchant_id: ARGENTINA,
      error: 'unavailable',
    });
    expect(await lane(argentina, NUMBER)).toMatchObject({ lane: 'orders' });
  });
});

describe('a unit that is on orders by its stage', () => {
  withRuntime();

  it('is not looked at for what is live on it, unless legacy may hold it', async () => {
    await argentinaIs({ stage: 'orders' });
    let looks = 0;
    const liveLink: Store['links']['liveLink'] = (...about) => {
      looks++;
      return ports.store.links.liveLink(...about);
    };
    const watched = { ...ports, store: withMethods(ports.store, { liveLink }) };
    const look = (named: Named) => chooseLane(watched, argentina, named, 'qr');
    for (const named of [TILL, LOOK, CODE]) expect(await look(named)).toMatchObject(onOrders('orders'));
    expect(looks).toBe(0);
    await ports.store.legacy_sales.openLegacySale(
      newSale({ state: 'OPEN', unit: 'SUC001POS001', family: 'qr', ends_at: Date.now() + 60_000 }),
    );
    expect(await look(LOOK)).toEqual(onLegacy('orders'));
    expect(looks).toBe(1);
  });
});

describe('an id', () => {
  withRuntime();

  it('that is none of ours is legacy, whoever asks, and nobody is asked about the token', async () => {
    await argentinaIs({ stage: 'orders' });
    const before = asked();
    expect(await lane(argentina, { kind: 'link', link: null })).toEqual(onLegacy('orders'));
    expect(await lane(NOBODY, { kind: 'link', link: null })).toEqual(onLegacy('legacy', '799999999'));
    expect(asked()).toBe(before);
  });

  it.each<Stage>(['legacy', 'shadow', 'canary', 'orders'])(
    'born on orders is orders on stage %s, and for its own merchant alone',
    async (stage) => {
      await argentinaIs({ stage });
      const link = await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
      expect(await lane(argentina, { kind: 'link', link })).toMatchObject({ lane: 'orders', stage, link });
      expect(await lane(brazil, { kind: 'link', link })).toEqual(onLegacy('legacy', BRAZIL));
    },
  );

  it('of a payment that no link has is legacy, and upstream is asked about it only where there is a past', async () => {
    const payment = { kind: 'payment', payment_id: '131772540988' } as const;
    const reads = (): number => sandbox.world.request_log.list().filter(({ path }) => path.endsWith('988')).length;
    const before = asked();
    await setMerchant(ports.store, BRAZIL, { stage: 'orders' });
    expect(await lane(brazil, payment)).toMatchObject({ lane: 'legacy' });
    expect([asked() - before, reads()]).toEqual([0, 0]);
    await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(FORGED, payment)).toMatchObject({ lane: 'legacy' });
    expect(reads()).toBe(0);
    expect(await lane(argentina, payment)).toMatchObject({ lane: 'legacy' });
    expect(reads()).toBe(1);
  });
});

describe('new work', () => {
  withRuntime();

  it.each(['legacy', 'shadow'] as const)(
    'on stage %s is carried, and nobody is asked about the token',
    async (stage) => {
      await argentinaIs({ stage });
      const before = asked();
      for (const [, named, kind] of NEW_WORK) expect(await lane(argentina, named, kind)).toEqual(onLegacy(stage));
      expect(await lane(argentina, NUMBER)).toEqual(onLegacy(stage));
      expect(asked()).toBe(before);
    },
  );

  it('on stage orders is orders', async () => {
    await argentinaIs({ stage: 'orders' });
    for (const [what, named, kind] of NEW_WORK)
      expect(await lane(argentina, named, kind), what).toMatchObject(onOrders('orders'));
  });

  it('of a merchant nobody has set follows the default', async () => {
    expect(await lane(argentina, TILL)).toEqual(onLegacy('legacy'));
  });

  it('on a canary goes by its unit: named out, named in, then the share; what has no unit is carried', async () => {
    const slot = TILL.slot;
    const at = async (settings: Partial<MerchantSettings>) => {
      await argentinaIs({ stage: 'canary', share: 0, units_in: [], units_out: [], ...settings });
      const lanes = await Promise.all([TILL, CODE, NUMBER].map(async (named) => (await lane(argentina, named)).lane));
      return [...new Set(lanes)].join();
    };
    expect(await at({})).toBe('legacy');
    expect(await at({ units_in: [slot] })).toBe('orders');
    expect(await at({ share: 100 })).toBe('orders');
    expect(await at({ share: 100, units_in: [slot], units_out: [slot] })).toBe('legacy');
    expect(await lane(argentina, { kind: 'merchant' }, 'devices')).toEqual(onLegacy('canary'));
    expect(await lane(argentina, { kind: 'history' }, 'payments')).toEqual(onLegacy('canary'));
  });

  it('of a kind with a stage of its own goes by that', async () => {
    await argentinaIs({ stage: 'legacy', kinds: { qr: { stage: 'orders', share: 0 } } });
    expect(await lane(argentina, TILL, 'qr')).toMatchObject(onOrders('orders'));
    expect(await lane(argentina, TERMINAL, 'intents')).toEqual(onLegacy('legacy'));
    expect(await lane(argentina, { ...TERMINAL, work: 'beside' }, 'devices')).toEqual(onLegacy('legacy'));
  });

  it('of a kind that the safety stop has tripped is carried, and the others go on', async () => {
    await argentinaIs({ stage: 'orders' });
    const trip = {
      at: Date.now(),
      why: 'half of the calls failed',
      evidence: { calls: 40, faults: 20, slow: 0, window_ms: 300_000, sample: null },
    };
    await ports.store.merchants.saveTrips(ARGENTINA, { intents: trip }, 1, auditOf('safety stop'));
    expect(await lane(argentina, TERMINAL, 'intents')).toEqual(onLegacy('shadow'));
    expect(await lane(argentina, TILL, 'qr')).toMatchObject(onOrders('orders'));
  });

  it('of a search is orders for whoever has a past there, for ever', async () => {
    const link = await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
    await ports.store.links.saveLink(link, { state: 'DONE', legacy_state: 'expired' });
    expect(await lane(argentina, { kind: 'history' }, 'payments')).toMatchObject(onOrders('legacy'));
    expect(await lane(argentina, { kind: 'merchant' }, 'devices')).toEqual(onLegacy('legacy'));
    expect(await lane(brazil, { kind: 'history' }, 'payments')).toEqual(onLegacy('legacy', BRAZIL));
  });
});

describe('a unit with live work', () => {
  withRuntime();

  it.each<Stage>(['legacy', 'shadow', 'canary'])(
    'on orders stays there on stage %s, until that is over',
    async (stage) => {
      await argentinaIs({ stage });
      const link = await opened(ports.store, { family: 'qr', unit: 'SUC001POS001' });
      expect(await lane(argentina, TILL)).toMatchObject(onOrders(stage));
      expect(await lane(argentina, NUMBER)).toMatchObject(onOrders(stage));
      expect(await lane(argentina, { ...TILL, slot: 'point:SUC001POS001' }, 'intents')).toEqual(onLegacy(stage));
      expect(await lane(argentina, { kind: 'pos', pos_id: '1000002', work: 'sale' })).toEqual(onLegacy(stage));
      expect(await lane(argentina, { kind: 'pos', pos_id: '999', work: 'sale' })).toEqual(onLegacy(stage));
      expect(await lane(brazil, TILL)).toEqual(onLegacy('legacy', BRAZIL));
      await ports.store.links.saveLink(link, { state: 'DONE', legacy_state: 'paid' });
      expect(await lane(argentina, TILL)).toEqual(onLegacy(stage));
      expect(await lane(argentina, NUMBER)).toEqual(onLegacy(stage));
    },
  );

  it.each(['SENDING', 'IN_DOUBT'] as const)(
    'on legacy stays there after the move while it is %s, whose token it may be',
    async (state) => {
      await argentinaIs({ stage: 'orders' });
      const soon = Date.now() + 60_000;
      await ports.store.legacy_sales.openLegacySale(
        newSale({ state, unit: 'SUC001POS001', family: 'qr', ends_at: soon }),
      );
      expect(await lane(argentina, TILL)).toEqual(onLegacy('orders'));
      expect(await lane(argentina, NUMBER)).toEqual(onLegacy('orders'));
      // The token is nobody's: legacy, where the unit is, tells its owner so.
      expect(await lane(FORGED, TILL)).toEqual({ ...onLegacy('orders'), is_token_refused: true });
      expect(await lane(argentina, CODE)).toMatchObject(onOrders('orders'));
      expect(await lane(argentina, { ...TILL, slot: 'qr:SUC001POS002' })).toMatchObject(onOrders('orders'));
    },
  );

  it('on legacy that only an invented token vouches for lets no other one through', async () => {
    await argentinaIs({ stage: 'orders' });
    const soon = Date.now() + 60_000;
    const change = { unit: 'SUC001POS001', family: 'qr', ends_at: soon, unproven_token: 'of nobody' } as const;
    await ports.store.legacy_sales.openLegacySale(newSale(change));
    expect(await lane(FORGED, TILL)).toMatchObject({ lane: 'refused', error: 'unauthorized' });
    expect(await lane(argentina, TILL)).toEqual(onLegacy('orders')); // as long as nobody knows whose it is
  });

  it('on legacy moves when legacy says that it is over, or its time has come', async () => {
    await argentinaIs({ stage: 'orders' });
    const open = newSale({ state: 'OPEN', unit: 'SUC001POS001', family: 'qr', ends_at: Date.now() + 60_000 });
    await ports.store.legacy_sales.openLegacySale(open); // the sandbox has nothing on that till
    expect(await lane(argentina, LOOK)).toEqual(onLegacy('orders')); // a look asks nobody
    expect(await lane(argentina, TILL)).toMatchObject(onOrders('orders'));
    expect(await ports.store.legacy_sales.heldByLegacy(ARGENTINA, TILL.slot, Date.now())).toBeNull();
    await ports.store.legacy_sales.openLegacySale(newSale({ ends_at: Date.now() - 1 }));
    expect(await lane(argentina, TERMINAL, 'intents')).toMatchObject(onOrders('orders'));
  });

  it('that could not be written down stays on legacy for as long as it may live', async () => {
    await argentinaIs({ stage: 'orders' });
    ports.memory.unrecorded.hold(ARGENTINA, TERMINAL.slot, Date.now() + 60_000);
    expect(await lane(argentina, TERMINAL, 'intents')).toEqual(onLegacy('orders'));
    expect(await lane(argentina, TILL)).toMatchObject(onOrders('orders'));
    ports.memory.unrecorded.hold(ARGENTINA, 'qr:*', Date.now() + 60_000);
    expect(await lane(argentina, TILL)).toEqual(onLegacy('orders'));
  });

  it.each([
    ['not known yet', { state: 'IN_DOUBT' }, 'orders'],
    ['made, and its till may not know', { state: 'LIVE', client_answer: 'error' }, 'orders'],
    ['made and answered a moment ago', { state: 'LIVE', acknowledged_at: Date.now() }, 'orders'],
    ['made and answered long ago', { state: 'LIVE', acknowledged_at: Date.now() - 61_000 }, 'legacy'],
    ['made and known to its till', { state: 'LIVE', acknowledged_at: Date.now(), heard_by: 'till' }, 'legacy'],
    ['refused', { state: 'REJECTED' }, 'legacy'],
  ] as const)('of a dynamic code keeps the next one on orders while it is %s', async (_what, change, expected) => {
    const now = Date.now();
    const link = await opened(ports.store, { family: 'qr', unit: 'SUC001POS001', slot: null, created_at: now });
    await ports.store.links.saveLink(link, change);
    expect((await lane(argentina, CODE)).lane).toBe(expected);
    expect(await lane(argentina, TILL)).toEqual(onLegacy('legacy'));
    expect(await lane(argentina, { ...CODE, slot: 'qr:SUC001POS002' })).toEqual(onLegacy('legacy'));
  });
});

describe('what a path names', () => {
  beforeAll(async () => {
    ports = await openRuntime();
    return () => ports.store.close();
  });

  it('a device and a till by their external ids: the slots of their work', async () => {
    const device = { device_id: 'PAX_A910__SMARTPOS0000000001' };
    expect(await byDevice(ports, device)).toEqual(TERMINAL);
    expect(await byDeviceSetting(ports, device)).toEqual({ ...TERMINAL, work: 'beside' });
    const till = { user_id: ARGENTINA, external_pos_id: 'SUC001POS001' };
    expect(await byPointOfSale(ports, till)).toEqual(TILL);
    expect(await atPointOfSale(ports, till)).toEqual(LOOK);
    expect(await byDynamicCode(ports, till)).toEqual(CODE);
  });

  it('a point of sale by its internal number, which says nothing before it has been looked up', async () => {
    expect(await byPointOfSale(ports, { pos_id: '12345678' })).toEqual({
      kind: 'pos',
      pos_id: '12345678',
      work: 'sale',
    });
    expect(await atPointOfSale(ports, { pos_id: '1' })).toEqual({ kind: 'pos', pos_id: '1', work: 'look' });
    expect(await byHistory(ports, {})).toEqual({ kind: 'history' });
    expect(await byMerchant(ports, {})).toEqual({ kind: 'merchant' });
  });

  it('an intent in any case of its letters, also one of legacy', async () => {
    const link = await opened(ports.store);
    const { legacy_id } = link;
    expect(await byIntent(ports, { intent_id: legacy_id.toUpperCase() })).toEqual({ kind: 'link', link, legacy_id });
    const other = '7f25f9aa-eea6-4f9c-bf16-a341f71ba2f1';
    expect(await byIntent(ports, { intent_id: other })).toEqual({ kind: 'link', link: null, legacy_id: other });
    expect(await byIntent(ports, { intent_id: 'unknown' })).toEqual({ kind: 'link', link: null });
  });

  it('a payment by its number', async () => {
    const link = await opened(ports.store, { family: 'qr', unit: 'PAID' });
    const paid = await ports.store.links.saveLink(link, { payment_id: '131772540987' });
    expect(await byPayment(ports, { payment_id: '131772540987' })).toEqual({ kind: 'link', link: paid });
    expect(await byPayment(ports, { payment_id: '131772540988' })).toEqual({
      kind: 'payment',
      payment_id: '131772540988',
    });
    for (const payment_id of ['', '0', '-1', 'abc', '1.5', '../users/me']) {
      expect(await byPayment(ports, { payment_id })).toEqual({ kind: 'link', link: null });
    }
  });

  it('a payment by the number that was minted for it, also after the service has given a real one', async () => {
    const link = await opened(ports.store, { family: 'qr', unit: 'MINTED', merchant_order_id: MINTED });
    const paid = await ports.store.links.saveLink(link, { payment_id: '131772540999' });
    const minted = String(MINTED - 1_000_000_000_000_000);
    expect(await byPayment(ports, { payment_id: minted })).toEqual({ kind: 'link', link: paid });
    expect(await byPayment(ports, { payment_id: `${minted}0` })).toEqual({ kind: 'link', link: null });
  });

  it('a merchant order by its number, where it is one of ours', async () => {
    const ours = MINTED + 7_000;
    const link = await opened(ports.store, { family: 'qr', unit: 'ORDERED', merchant_order_id: ours });
    expect(await byMerchantOrder(ports, { merchant_order_id: String(ours) })).toEqual({ kind: 'link', link });
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
      expect(await byMerchantOrder(ports, { merchant_order_id })).toEqual({ kind: 'link', link: null });
    }
  });
});
