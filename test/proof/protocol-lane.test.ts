/** The lane of a call, without doors: the stage, live work on either lane, avoided calls (`docs/protocol.md` §3.10). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/ops/ports.ts';
import type { OperationKind } from '../../src/proxy/evidence/exchange.ts';
import type { LegacySale } from '../../src/proxy/records/routing.ts';
import { chooseLane, isStillOnOrders, type Lane, type Named, unitOnOrders } from '../../src/proxy/routing/lane.ts';
import type { MerchantSettings, Stage } from '../../src/proxy/routing/merchant.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { Secret } from '../../src/proxy/vault.ts';
import { setMerchant } from '../proxy/routing/lane-ports.ts';
import { auditOf, MERCHANT, NOON, newSale, opened, orderId, TERMINAL } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import {
  type Answer,
  answered,
  BROKEN,
  callOf,
  createStand,
  newDraft,
  orderOf,
  PAID,
  refusal,
  TOKEN,
} from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

/** Names the merchant; upstream has not accepted it. */
const FORGED = new Secret(`APP_USR-1-112026-${'f'.repeat(32)}-${MERCHANT}`);
/** Names no merchant. */
const BLANK = new Secret('TEST');
const DEVICE = { kind: 'slot', slot: `point:${TERMINAL}`, work: 'sale' } as const;
const TILL = { kind: 'slot', slot: 'qr:TILL1', work: 'sale' } as const;
const LOOK = { ...TILL, work: 'look' } as const;
const CODE = { ...TILL, work: 'beside' } as const;
const NUMBER = { kind: 'pos', pos_id: '1000001', work: 'sale' } as const;
const PAYMENT = { kind: 'payment', payment_id: '16500000001' } as const;
const HISTORY = { kind: 'history' } as const;
const LIST = { kind: 'merchant' } as const;

const lane = (named: Named, kind: OperationKind = 'qr', token = TOKEN): Promise<Lane> =>
  chooseLane(stand.ports, token, named, kind);
const set = (settings: Partial<MerchantSettings>) => setMerchant(stand.store, MERCHANT, settings);
const names = () => stand.asked.map(({ name }) => name);
const legacy = (stage: Stage, merchant_id: string | null = MERCHANT) => ({ lane: 'legacy', stage, merchant_id });
const orders = (stage: Stage, link: Link | null = null) => ({
  lane: 'orders',
  stage,
  merchant: { id: MERCHANT },
  link,
});
const refused = (stage: Stage, error: string, merchant_id: string | null = MERCHANT) => ({
  lane: 'refused',
  stage,
  merchant_id,
  error,
});
const UNAUTHORIZED = refusal(401, 'unauthorized');
const pos = (external_id: string): Answer => answered(200, { id: 1_000_001, external_id });
/** A sale on legacy, which holds its unit until after noon. */
const onLegacy = (change: Partial<LegacySale>): Promise<unknown> =>
  stand.store.legacy_sales.openLegacySale(newSale({ family: 'qr', unit: 'TILL1', ends_at: NOON + 600_000, ...change }));
const onTill = (change: Partial<Link> = {}): Promise<Link> =>
  opened(stand.store, { family: 'qr', unit: 'TILL1', legacy_state: 'payment_required', ...change });

describe('a call on an id', () => {
  it.each<Stage>(['legacy', 'shadow', 'canary', 'orders'])('of ours is orders on stage %s', async (stage) => {
    await set({ stage });
    const link = await onTill();
    expect(await lane({ kind: 'link', link })).toMatchObject(orders(stage, link));
  });

  it('of nobody, or of another merchant, is legacy; of nobody nobody is asked', async () => {
    expect(await lane({ kind: 'link', link: null }, 'qr', FORGED)).toEqual(legacy('orders'));
    expect(stand.asked).toEqual([]);
    const link = await opened(stand.store, { merchant_id: '700100201' });
    expect(await lane({ kind: 'link', link })).toEqual(legacy('orders'));
  });

  it('by a token that nobody has accepted is refused', async () => {
    const link = await onTill();
    stand.answers = [UNAUTHORIZED];
    expect(await lane({ kind: 'link', link }, 'qr', FORGED)).toEqual(refused('orders', 'unauthorized'));
    expect(names()).toEqual(['users_me']);
  });

  it('is noted in its exchange, as the path says it or as it is known', async () => {
    const link = await onTill();
    const noted = async (named: Named): Promise<string | null> => {
      const draft = { ...newDraft(), legacy_id: 'before' };
      await stand.within(draft, () => lane(named));
      return draft.legacy_id;
    };
    expect(await noted({ kind: 'link', link, legacy_id: 'AS-WRITTEN' })).toBe(link.legacy_id);
    expect(await noted({ kind: 'link', link: null, legacy_id: 'AS-WRITTEN' })).toBe('AS-WRITTEN');
    expect(await noted({ kind: 'link', link: null })).toBeNull();
    expect(await noted(TILL)).toBe('before');
  });
});

describe('whose a call is', () => {
  it('is told by the token itself, or by who it was accepted for before', async () => {
    await set({ stage: 'legacy' });
    expect(await lane(TILL, 'qr', FORGED)).toEqual(legacy('legacy'));
    await stand.store.merchants.acceptToken(
      {
        fingerprint: stand.ports.vault.fingerprint(BLANK),
        merchant_id: MERCHANT,
        sealed_token: stand.ports.vault.seal(BLANK.reveal(), 'token'),
        accepted_until: 0,
        seen_at: NOON,
      },
      null,
    );
    expect(await lane(TILL, 'qr', BLANK)).toEqual(legacy('legacy'));
    expect(stand.asked).toEqual([]);
  });

  it('is asked where neither tells', async () => {
    stand.answers = [UNAUTHORIZED];
    expect(await lane(TILL, 'qr', BLANK)).toEqual(refused('orders', 'unauthorized', null));
    stand.answers = [answered(200, { id: Number(MERCHANT), site_id: 'MLA' })];
    expect(await lane(TILL, 'qr', BLANK)).toMatchObject(orders('orders'));
  });

  it('is asked where neither tells, and on legacy the call is proxied all the same', async () => {
    await set({ stage: 'legacy' });
    for (const [named, kind] of [
      [HISTORY, 'payments'],
      [LIST, 'devices'],
      [TILL, 'qr'],
      [NUMBER, 'qr'],
    ] as const) {
      const token = new Secret(`TEST ${named.kind}`);
      stand.answers = [answered(200, { id: Number(MERCHANT), site_id: 'MLA' }), pos('TILL1')];
      expect(await lane(named, kind, token)).toEqual(legacy('legacy'));
    }
  });

  it('and can not be told now: nothing is begun', async () => {
    stand.answers = [BROKEN];
    expect(await lane(TILL, 'qr', FORGED)).toEqual(refused('orders', 'unavailable'));
  });
});

describe('new work', () => {
  const ALL: [string, Named, OperationKind][] = [
    ['a terminal', DEVICE, 'intents'],
    ['a till', TILL, 'qr'],
    ['a look', LOOK, 'qr'],
    ['a dynamic code', CODE, 'qr'],
    ['a setting', { ...DEVICE, work: 'beside' }, 'devices'],
    ['a till by its number', NUMBER, 'qr'],
    ['a search', HISTORY, 'payments'],
    ['a list', LIST, 'devices'],
  ];

  it.each(ALL)('of %s follows the stage, and nobody is asked on legacy', async (_what, named, kind) => {
    expect(await lane(named, kind)).toMatchObject(orders('orders'));
    for (const stage of ['legacy', 'shadow'] as const) {
      await set({ stage });
      expect(await lane(named, kind, FORGED)).toEqual(legacy(stage));
    }
    // On orders its story needs the answer, too.
    expect(names()).toEqual(named.kind === 'pos' ? ['pos'] : []);
  });

  it.each(ALL)('of %s by an invented token is refused on orders', async (_what, named, kind) => {
    stand.answers = [UNAUTHORIZED];
    expect(await lane(named, kind, FORGED)).toEqual(refused('orders', 'unauthorized'));
  });

  it('on a canary goes by its unit; what has none is proxied', async () => {
    await set({ stage: 'canary', share: 0, units_in: [TILL.slot] });
    expect(await lane(TILL)).toMatchObject(orders('canary'));
    expect(await lane(DEVICE, 'intents')).toEqual(legacy('canary'));
    expect(await lane(LIST, 'devices')).toEqual(legacy('canary'));
    expect(await lane(HISTORY, 'payments')).toEqual(legacy('canary'));
    expect(stand.asked).toEqual([]);
    stand.answers = [pos('TILL1'), pos('TILL2')];
    expect(await lane(NUMBER)).toMatchObject(orders('canary'));
    expect(await lane({ ...NUMBER, pos_id: '1000002' })).toEqual(legacy('canary'));
    expect(names()).toEqual(['pos', 'pos']);
  });

  it('after a safety stop is proxied', async () => {
    const evidence = { calls: 40, faults: 20, slow: 0, window_ms: 300_000, sample: null };
    const trip = { at: NOON, why: 'half of the calls failed', evidence };
    await stand.store.merchants.saveTrips(MERCHANT, { qr: trip }, 1, auditOf('safety stop'));
    expect(await lane(TILL)).toEqual(legacy('shadow'));
    expect(await lane(DEVICE, 'intents')).toMatchObject(orders('orders'));
  });

  it('of a search is orders for whoever has a past there, and only then', async () => {
    await set({ stage: 'legacy' });
    const link = await onTill();
    await stand.store.links.saveLink(link, { state: 'DONE', legacy_state: 'expired' });
    expect(await lane(HISTORY, 'payments')).toMatchObject(orders('legacy'));
    expect(await lane(LIST, 'devices')).toEqual(legacy('legacy'));
  });
});

describe('a unit with work on orders', () => {
  it.each<Stage>(['legacy', 'shadow', 'canary'])(
    'stays there on stage %s, until that is over and heard of',
    async (stage) => {
      await set({ stage });
      const link = await onTill();
      for (const named of [TILL, LOOK]) expect(await lane(named)).toMatchObject({ ...orders(stage), is_by_unit: true });
      expect(await lane(CODE)).toEqual(legacy(stage));
      expect(await lane(DEVICE, 'intents')).toEqual(legacy(stage));
      const done = await stand.store.links.saveLink(link, { state: 'DONE', legacy_state: 'paid' });
      expect(await lane(TILL), 'it may be repeated').toMatchObject(orders(stage));
      await stand.store.links.saveLink(done, { acknowledged_at: NOON, known_by: 'till' });
      for (const named of [TILL, LOOK]) expect(await lane(named)).toEqual(legacy(stage));
    },
  );

  it('by an invented token is refused: legacy may not have it meanwhile', async () => {
    await set({ stage: 'legacy' });
    await onTill();
    stand.answers = [UNAUTHORIZED];
    expect(await lane(TILL, 'qr', FORGED)).toEqual(refused('legacy', 'unauthorized'));
  });

  it('and what legacy is said to have there: the one on orders decides', async () => {
    await onTill();
    stand.ports.memory.unrecorded.hold(MERCHANT, TILL.slot, NOON + 60_000);
    expect(await lane(TILL)).toMatchObject(orders('orders'));
    stand.answers = [UNAUTHORIZED, BROKEN];
    expect(await lane(TILL, 'qr', FORGED)).toEqual(refused('orders', 'unauthorized'));
    expect(await lane(TILL, 'qr', FORGED)).toEqual(refused('orders', 'unavailable'));
  });

  it('of a dynamic code its till may not know of keeps the next code there, and no setting', async () => {
    await set({ stage: 'legacy' });
    await onTill({ slot: null });
    expect(await lane(CODE)).toMatchObject({ ...orders('legacy'), is_by_unit: true });
    expect(await lane(CODE, 'devices')).toEqual(legacy('legacy'));
  });
});

describe('a unit with work on legacy', () => {
  it('stays there while nobody knows that it is over', async () => {
    await onLegacy({ state: 'IN_DOUBT' });
    for (const named of [TILL, LOOK]) expect(await lane(named)).toEqual(legacy('orders'));
    expect(await lane(CODE)).toMatchObject(orders('orders'));
    expect(await lane({ ...TILL, slot: 'qr:TILL2' })).toMatchObject(orders('orders'));
    stand.now = NOON + 600_000;
    for (const named of [TILL, LOOK]) expect(await lane(named)).toMatchObject(orders('orders'));
  });

  it('is asked about for a sale alone, and moves when legacy says that it is over', async () => {
    await onLegacy({ state: 'OPEN' });
    stand.now = NOON + 60_000; // a 404 before may be a read that lags
    const legacy_asked: string[] = [];
    stand.legacy_answers = [
      (call) => {
        legacy_asked.push(`${call.name} ${call.timeout_ms}`);
        return answered(404, { error: 'not_found' });
      },
    ];
    expect(await lane(LOOK)).toEqual(legacy('orders'));
    expect(legacy_asked).toEqual([]);
    expect(await lane(TILL)).toMatchObject(orders('orders'));
    expect(legacy_asked).toEqual([`legacy_till ${stand.ports.settings.reads.timeout_ms}`]);
  });

  it('stays there when legacy shows it still', async () => {
    await onLegacy({ state: 'OPEN' });
    stand.legacy_answers = [answered(200, {})];
    expect(await lane(TILL)).toEqual(legacy('orders'));
  });

  /** A store that reads the merchant and the unit together, as PostgreSQL does. */
  function tellsFree(then: () => Promise<unknown> = async () => undefined): void {
    const { store } = stand;
    const merchantWithToken: Store['merchants']['merchantWithToken'] = async (...asked) => {
      const seen = await store.merchants.merchantWithToken(...asked);
      const [id, , unit] = asked;
      const held = unit === null ? null : await store.legacy_sales.heldByLegacy(id, unit.slot, unit.now);
      await then();
      return seen === null ? null : { ...seen, is_free: unit !== null && held === null };
    };
    stand.restart({ store: withMethods(store, { merchantWithToken }) });
  }

  it('that was seen free with its merchant is not looked at again, and what could not be written down counts all the same', async () => {
    tellsFree();
    stand.ports.memory.unrecorded.hold(MERCHANT, TILL.slot, NOON + 60_000);
    for (const named of [TILL, LOOK]) expect(await lane(named)).toEqual(legacy('orders'));
    stand.now = NOON + 60_000;
    for (const named of [TILL, LOOK]) expect(await lane(named)).toMatchObject(orders('orders'));
    await onLegacy({ state: 'IN_DOUBT', ends_at: stand.now + 60_000 });
    for (const named of [TILL, LOOK]) expect(await lane(named)).toEqual(legacy('orders'));
  });

  it('that legacy took while it was asked whose the token is, is looked at again', async () => {
    tellsFree(() => onLegacy({ state: 'IN_DOUBT' }).catch(() => undefined));
    await stand.store.merchants.forgetToken(stand.ports.vault.fingerprint(TOKEN));
    stand.answers = [answered(200, { id: Number(MERCHANT), site_id: 'MLA' })];
    expect(await lane(LOOK)).toEqual(legacy('orders'));
  });

  it.each([TILL.slot, 'qr:*'])(
    'that could not be written down as %s stays there for as long as it may live',
    async (slot) => {
      stand.ports.memory.unrecorded.hold(MERCHANT, slot, NOON + 60_000);
      for (const named of [TILL, LOOK]) expect(await lane(named)).toEqual(legacy('orders'));
      expect(await lane(DEVICE, 'intents')).toMatchObject(orders('orders'));
      stand.now = NOON + 60_000;
      for (const named of [TILL, LOOK]) expect(await lane(named)).toMatchObject(orders('orders'));
    },
  );

  it('goes to legacy with a token that orders refuse, once it is proven there', async () => {
    await onLegacy({ state: 'OPEN' });
    for (const named of [TILL, LOOK]) {
      stand.answers = [UNAUTHORIZED];
      expect(await lane(named, 'qr', FORGED)).toEqual({ ...legacy('orders'), is_token_refused: true });
    }
    stand.answers = [UNAUTHORIZED];
    expect(await lane(CODE, 'qr', FORGED)).toEqual(refused('orders', 'unauthorized'));
  });

  it('that an invented token alone vouches for is no place for another one', async () => {
    await onLegacy({ state: 'OPEN', unproven_token: 'of nobody' });
    stand.answers = [UNAUTHORIZED];
    expect(await lane(TILL, 'qr', FORGED)).toEqual(refused('orders', 'unauthorized'));
    // A unit that could not be recorded is no proof either.
    stand.ports.memory.unrecorded.hold(MERCHANT, DEVICE.slot, NOON + 60_000);
    stand.answers = [UNAUTHORIZED];
    expect(await lane(DEVICE, 'intents', FORGED)).toEqual(refused('orders', 'unauthorized'));
  });

  it('goes to legacy while orders can not judge the token, proven or not', async () => {
    await onLegacy({ state: 'OPEN', unproven_token: 'of nobody' });
    stand.answers = [BROKEN];
    expect(await lane(TILL, 'qr', FORGED)).toEqual({ ...legacy('orders'), is_token_refused: false });
    stand.ports.memory.unrecorded.hold(MERCHANT, DEVICE.slot, NOON + 60_000);
    stand.answers = [BROKEN];
    expect(await lane(DEVICE, 'intents', FORGED)).toEqual({ ...legacy('orders'), is_token_refused: false });
    // A token without a merchant has no unit there.
    stand.answers = [BROKEN];
    expect(await lane(TILL, 'qr', BLANK)).toEqual(refused('orders', 'unavailable', null));
  });
});

describe('a till by its number', () => {
  it('on legacy is looked up only while a till of the merchant has work on orders', async () => {
    await set({ stage: 'legacy' });
    await opened(stand.store, {});
    expect(await lane(NUMBER, 'qr', FORGED)).toEqual(legacy('legacy'));
    await onTill();
    stand.answers = [pos('TILL1'), pos('TILL2')];
    expect(await lane(NUMBER)).toMatchObject(orders('legacy'));
    expect(await lane({ ...NUMBER, pos_id: '1000002' })).toEqual(legacy('legacy'));
    expect(stand.asked.map(({ name, timeout_ms }) => [name, timeout_ms])).toEqual([
      ['pos', 1_000],
      ['pos', 1_000],
    ]);
  });

  it('on legacy follows its paid sale that it was not answered with, as a till by its name does', async () => {
    const link = await onTill();
    const paid = { state: 'DONE', legacy_state: 'paid', next_check_at: null } as const;
    const unknown = await stand.store.links.saveLink(link, { ...paid, client_answer: 'error' });
    await set({ stage: 'legacy' });
    stand.answers = [pos('TILL1'), BROKEN];
    expect(await lane(TILL)).toMatchObject({ ...orders('legacy'), is_by_unit: true });
    expect(await lane(NUMBER)).toMatchObject({ ...orders('legacy'), is_by_unit: true });
    expect(await lane({ ...NUMBER, pos_id: '1000003' })).toEqual(refused('legacy', 'unavailable'));
    await stand.store.links.saveLink(unknown, { known_by: 'till' });
    expect(await lane(NUMBER)).toEqual(legacy('legacy'));
    expect(names()).toEqual(['pos', 'pos']);
  });

  it.each<[string, Answer]>([
    ['that is none', refusal(404, 'not_found')],
    ['without an external id', answered(200, { id: 1, external_id: null })],
  ])('%s is legacy there', async (_what, answer) => {
    await set({ stage: 'legacy' });
    await onTill();
    stand.answers = [answer];
    expect(await lane(NUMBER)).toEqual(legacy('legacy'));
  });

  it('that nobody can look up is refused while it may be the one with work on orders', async () => {
    await set({ stage: 'canary', share: 0 });
    stand.answers = [BROKEN];
    expect(await lane(NUMBER)).toEqual(legacy('canary'));
    await onTill();
    stand.answers = [BROKEN];
    expect(await lane(NUMBER)).toEqual(refused('canary', 'unavailable'));
  });

  it('on orders is looked up with all the time of a read, and is where legacy has not its sale', async () => {
    await onLegacy({ state: 'IN_DOUBT' });
    stand.answers = [pos('TILL1'), pos('TILL2'), BROKEN];
    expect(await lane(NUMBER)).toEqual(legacy('orders'));
    expect(await lane({ ...NUMBER, pos_id: '1000002' })).toMatchObject(orders('orders'));
    // The story answers for an invalid number.
    expect(await lane({ ...NUMBER, pos_id: '1000003' })).toMatchObject(orders('orders'));
    const { timeout_ms } = stand.ports.settings.reads;
    expect(stand.asked.map((call) => call.timeout_ms)).toEqual([timeout_ms, timeout_ms, timeout_ms]);
  });

  it('on orders is looked up too where a till of the merchant could not be written down', async () => {
    stand.ports.memory.unrecorded.hold(MERCHANT, 'qr:TILL1', NOON + 60_000);
    stand.answers = [pos('TILL1')];
    expect(await lane(NUMBER)).toEqual(legacy('orders'));
  });

  it('on orders is there whatever sales legacy has on terminals, and none of them is read', async () => {
    await stand.store.legacy_sales.openLegacySale(newSale({ state: 'IN_DOUBT', ends_at: NOON + 600_000 }));
    await stand.store.legacy_sales.openLegacySale(newSale({ slot: null, state: 'IN_DOUBT', ends_at: NOON + 600_000 }));
    const openLegacySales = (): never => {
      throw new Error('a till waits for all open sales of its merchant');
    };
    stand.restart({ store: withMethods(stand.store, { openLegacySales }) });
    stand.answers = [pos('TILL1')];
    expect(await lane(NUMBER)).toMatchObject(orders('orders'));
    expect(names()).toEqual(['pos']);
  });
});

describe('a payment that no link has', () => {
  it('of a merchant without a past is legacy, and nobody is asked', async () => {
    expect(await lane(PAYMENT, 'payments', FORGED)).toEqual(legacy('orders'));
    expect(stand.asked).toEqual([]);
  });

  it('of a merchant whose token names nobody is legacy, without a read of it', async () => {
    stand.answers = [answered(200, { id: Number(MERCHANT), site_id: 'MLA' })];
    expect(await lane(PAYMENT, 'payments', BLANK)).toEqual(legacy('orders'));
    expect(names()).toEqual(['users_me']);
  });

  it('is orders when it is one of an order of ours, and legacy else', async () => {
    const made = await opened(stand.store, { reference_sent: 'sale-1' });
    const order = orderOf() as unknown as Link['order']; // as parsed
    await stand.store.links.saveLink(made, { state: 'LIVE', order_id: orderId(1), order, client_answer: 'maybe' });
    const payment = { id: Number(PAYMENT.payment_id), status: 'approved', external_reference: 'sale-1' };
    stand.answers = [answered(200, payment), answered(200, orderOf(PAID, 9))];
    const found = await lane(PAYMENT, 'payments');
    expect(found).toMatchObject({
      lane: 'orders',
      link: { legacy_id: made.legacy_id, payment_id: PAYMENT.payment_id },
    });
    expect(names()).toEqual(['payment', 'get']);
    stand.answers = [answered(200, { ...payment, id: 77, external_reference: 'theirs' })];
    expect(await lane({ kind: 'payment', payment_id: '77' }, 'payments')).toEqual(legacy('orders'));
  });

  it('by a token that orders refuse, or can not judge, is left to legacy', async () => {
    await onTill();
    stand.answers = [UNAUTHORIZED, BROKEN];
    expect(await lane(PAYMENT, 'payments', FORGED)).toEqual({ ...legacy('orders'), is_token_refused: true });
    expect(await lane(PAYMENT, 'payments', FORGED)).toEqual({ ...legacy('orders'), is_token_refused: false });
  });
});

describe('a story whose unit turned out to be free', () => {
  const still = (): Promise<boolean> => isStillOnOrders(stand.ports, callOf(stand, 'qr.put_order'), 'qr:TILL1');

  it('looks at the merchant as it is now', async () => {
    expect(await still()).toBe(true);
    await set({ stage: 'legacy' });
    expect(await still()).toBe(false);
  });

  it('looks for what legacy has taken meanwhile, without asking it', async () => {
    await onLegacy({ state: 'OPEN' });
    expect(await still()).toBe(false);
    expect(stand.asked).toEqual([]);
  });

  it('goes by what it knew of a merchant that is gone', async () => {
    stand.restart({ store: withMethods(stand.store, { merchant: async () => null }) });
    expect(await still()).toBe(true);
  });

  it('goes by the kind of its operation', async () => {
    await set({ stage: 'orders', kinds: { qr: { stage: 'legacy', share: 0 } } });
    expect(await still()).toBe(false);
    const merchant = await stand.store.merchants.merchant(MERCHANT);
    if (merchant === null) throw new Error('there is no merchant');
    expect(await unitOnOrders(stand.ports, merchant, TOKEN, DEVICE, 'intents')).toBe('stage');
  });
});
