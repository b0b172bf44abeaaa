/** A new link from the till's request: reference, key, fingerprint, amount and lifetime (`docs/protocol.md` §3.2). */
import { createHash } from 'node:crypto';
import { LosslessNumber } from 'lossless-json';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LegacyCall } from '../../src/proxy/http/answer.ts';
import {
  derivedReference,
  fingerprintOf,
  fitsUpstream,
  legacyIdOf,
  newLink,
  type Sale,
  spend,
  usableReference,
} from '../../src/proxy/sales/new-link.ts';
import { MERCHANT, NOON, OTHER_MERCHANT, TERMINAL } from '../store/contract/harness.ts';
import { callOf, createStand, textOf } from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const SALE: Sale = {
  family: 'point',
  unit: TERMINAL,
  holds_unit: true,
  client_reference: 'mesa-4',
  held: { description: 'Mesa 4' },
  notice_url: null,
  context: {},
  busy_error: 'queued_intent',
  freeUnit: async () => 'freed',
  created: () => ({ kind: 'answer', status: 201, body: {} }),
};

async function made(sale: Partial<Sale> = {}, change: Partial<LegacyCall> = {}, own = true) {
  const call = callOf(stand, 'point.create_intent', change);
  const reference = own ? usableReference(stand.ports, call.merchant.id, { ...SALE, ...sale }) : null;
  return newLink(stand.ports, call, { ...SALE, ...sale }, reference);
}

describe('a link', () => {
  it('of a Point sale', async () => {
    const { link, body, losses } = await made();
    expect(link).toMatchObject({
      lane: 'orders',
      state: 'SENDING',
      family: 'point',
      unit: TERMINAL,
      slot: `point:${TERMINAL}`,
      client_key: null,
      reference_sent: 'mesa-4',
      client_reference: 'mesa-4',
      held: { description: 'Mesa 4' },
      amount_minor: 1500,
      merchant_order_id: null,
      sealed_notice_url: null,
      legacy_state: 'OPEN',
      boot_id: stand.ports.memory.ids.boot,
      tables_revision: stand.ports.tables.revision,
      first_sent_at: NOON,
      created_at: NOON,
      expires_at: NOON + 900_000,
      next_check_at: NOON + 9_000 + 4_000,
      attempts: 0,
      client_answer: 'none',
      cancel: null,
      order_id: null,
      order: null,
      revision: 1,
    });
    expect(link.sealed_body).not.toBeNull();
    expect(stand.ports.vault.open(link.sealed_body ?? new Uint8Array(), 'body').toString()).toBe(textOf(body));
    expect(JSON.parse(textOf(body))).toMatchObject({ external_reference: 'mesa-4' });
    expect(losses).toEqual([]);
  });

  it('of a QR sale has a number, a state of its own, and a sealed URL', async () => {
    const { link } = await made({ family: 'qr', holds_unit: false, notice_url: 'https://till.example/ipn?key=1' });
    expect(link).toMatchObject({ family: 'qr', slot: null, legacy_state: 'payment_required' });
    expect(link.merchant_order_id).toBeGreaterThan(8e15);
    const sealed = link.sealed_notice_url ?? new Uint8Array();
    expect(stand.ports.vault.open(sealed, 'notice-url').toString()).toBe('https://till.example/ipn?key=1');
  });

  it('keeps a client key only as something to recognise it by', async () => {
    const { link } = await made({}, { headers: { 'x-idempotency-key': 'k-1' } });
    expect(link.client_key).toMatch(/^[0-9a-f]{64}$/);
    expect(link.client_key).toBe(stand.ports.vault.keyed('client-key', 'k-1'));
  });

  it('lives as long as its order says', async () => {
    const tables = { ...stand.ports.tables, request: ask({ expiration_time: 'PT30S' }) };
    stand.restart({ tables });
    expect((await made()).link.expires_at).toBe(NOON + 30_000);
  });

  it.each([
    [{ total_amount: '20.50', transactions: {} }, 2050],
    [{ transactions: { payments: [{ amount: '7.00' }] } }, 700],
  ])('has the amount of its order: %j', async (order, amount_minor) => {
    stand.restart({ tables: { ...stand.ports.tables, request: ask(order) } });
    expect((await made()).link.amount_minor).toBe(amount_minor);
  });

  it.each([{ transactions: {} }, { transactions: { payments: [] } }, { total_amount: 'free', transactions: {} }])(
    'without an amount is a defect of the tables: %j',
    async (order) => {
      stand.restart({ tables: { ...stand.ports.tables, request: ask(order) } });
      await expect(made()).rejects.toMatchObject({ code: 'bad_tables', message: expect.stringContaining('amount') });
    },
  );

  function ask(order: object) {
    const value = { body: { transactions: { payments: [{ amount: '1.00' }] }, ...order } };
    return () => ({ value, losses: [], fired: [] });
  }
});

describe('the reference that goes upstream is', () => {
  it('derived when the till gave none, or one that does not fit', async () => {
    for (const client_reference of [null, 'Mesa 4']) {
      const { link } = await made({ client_reference });
      expect(link.reference_sent).toBe(derivedReference(link.legacy_id));
    }
  });

  it('derived when its own was refused, or used before', async () => {
    const refused = await made({}, {}, false);
    expect(refused.link.reference_sent).toBe(derivedReference(refused.link.legacy_id));
    spend(stand.ports, MERCHANT, 'mesa-4');
    const used = await made();
    expect(used.link.reference_sent).toBe(derivedReference(used.link.legacy_id));
    spend(stand.ports, OTHER_MERCHANT, 'mesa-5');
    expect((await made({ client_reference: 'mesa-5' })).link.reference_sent).toBe('mesa-5');
  });

  it('recognised as derived, and as nothing else', () => {
    const id = '019539a0-0000-7000-8000-000000000001';
    expect(derivedReference(id)).toBe('pnt019539a0000070008000000000000001');
    expect(legacyIdOf(derivedReference(id))).toBe(id);
    for (const other of ['', 'mesa-4', `x${derivedReference(id)}`, `${derivedReference(id)}0`, 'pnt12']) {
      expect(legacyIdOf(other)).toBeNull();
    }
    expect([fitsUpstream('a_B-1'), fitsUpstream('a b')]).toEqual([true, false]);
  });
});

describe('two calls are the same request', () => {
  const print = (change: Partial<LegacyCall>) => fingerprintOf(callOf(stand, 'point.create_intent', change));

  it.each<[string, unknown, unknown]>([
    ['whatever the order of its keys', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['in a list as well', [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
    ['with numbers of any length', { a: new LosslessNumber('1.50') }, { a: new LosslessNumber('1.50') }],
    ['with nothing', null, null],
  ])('%s', (_what, one, other) => {
    expect(print({ body: one })).toBe(print({ body: other }));
  });

  it.each<[string, Partial<LegacyCall>]>([
    ['another body', { body: { a: 2 } }],
    ['another list', { body: { a: [1] } }],
    ['another spelling of a number', { body: { a: new LosslessNumber('1.0') } }],
    ['another path', { body: { a: 1 }, target: '/elsewhere' }],
  ])('and not with %s', (_what, change) => {
    expect(print(change)).not.toBe(print({ body: { a: 1 } }));
  });

  it('says method, path and body', () => {
    const said = createHash('sha256').update('POST /x {"a":[2],"b":1}').digest('base64url');
    expect(print({ body: { b: 1, a: [2] }, target: '/x' })).toBe(said);
  });
});
