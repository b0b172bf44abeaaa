/** Files of earlier releases are upgraded to today's schema without loss. */
import { existsSync, readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringifyJson } from '../../../src/contract/json.ts';
import type { Store } from '../../../src/ops/ports.ts';
import { AUDIT_GENESIS, chainHash } from '../../../src/proxy/audit.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import { APPLICATION_ID, MIGRATIONS_DIRECTORY } from '../../../src/store/sqlite/file.ts';
import { verifyAudit } from '../../ops/audit-chain.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import {
  auditOf,
  DAY_MS,
  MERCHANT,
  NOON,
  newLink,
  newMerchant,
  newSale,
  opened,
  orderId,
  TERMINAL,
} from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

let folder: Folder;
let path: string;
beforeEach(() => {
  folder = newFolder();
  path = folder.file('puente.db');
});
afterEach(() => folder.remove());

async function serving(work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(path, { create: false, now: () => NOON });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

type Insert = (table: string, row: Readonly<Record<string, unknown>>) => void;

/** Runs the first migrations as their releases did, and inserts rows in their form. */
function writeSchema(version: number, fill: (insert: Insert) => void): void {
  const database = new Database(path);
  for (const { sql } of readMigrations(MIGRATIONS_DIRECTORY).slice(0, version)) database.exec(sql);
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma(`user_version = ${version}`);
  const insert: Insert = (table, row) => {
    const columns = Object.keys(row);
    const values = columns.map((column) => `@${column}`);
    database.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`).run(row);
  };
  insert('meta', { name: 'instance_id', value: 'i' });
  fill(insert);
  database.close();
}

/** Differences between the intents of the file; the last one has a reference that is no text. */
const intents = [
  {
    legacy_id: 'intent-open',
    state: 'LIVE',
    intent_state: 'ON_TERMINAL',
    unit: 'PAX_A910__1',
    reference: '"Pedido 7 · ñ"',
  },
  { legacy_id: 'intent-paid', state: 'DONE', intent_state: 'FINISHED', unit: 'PAX_A910__2', reference: '"Pedido 8"' },
  {
    legacy_id: 'intent-lost',
    state: 'LOST',
    intent_state: 'ABANDONED',
    unit: 'PAX_A910__2',
    reference: '12345678901234567890',
  },
] as const;
const held = (reference: string) => `{"additional_info":{"external_reference":${reference},"weight":1.50}}`;

describe('a file of the first schema', () => {
  beforeEach(writeFirstSchema);

  it('keeps its links with the state that tills saw, and gets their slots and references [F55]', async () => {
    await serving(async (store) => {
      const open = await store.links.link('intent-open');
      expect(open).toEqual({
        ...newLink(),
        legacy_id: 'intent-open',
        unit: 'PAX_A910__1',
        slot: 'point:PAX_A910__1',
        family: 'point',
        fingerprint: 'f',
        reference_sent: 'ref-intent-open',
        client_reference: 'Pedido 7 · ñ',
        held: open?.held,
        merchant_order_id: null,
        sealed_notice_url: null,
        sealed_body: new Uint8Array([1, 2, 250]),
        idempotency_key: 'key-intent-open',
        state: 'LIVE',
        attempts: 2,
        first_sent_at: NOON,
        client_answer: 'maybe',
        acknowledged_at: open?.created_at,
        order_id: orderId(0),
        order: { id: orderId(0), status: 'at_terminal' },
        order_version: '2026-01-05T12:00:00.000000000Z',
        payment_id: '1000',
        legacy_state: 'ON_TERMINAL',
        legacy_state_at: NOON + 5,
        expires_at: NOON + 900_000,
        next_check_at: NOON + 60_000,
        updated_at: NOON + 7,
        revision: 3,
      });
      expect(stringifyJson(open?.held)).toBe(held('"Pedido 7 · ñ"'));
      expect(await store.links.liveLink(MERCHANT, 'point:PAX_A910__1')).toEqual(open);
      expect(await store.links.linkByPayment('1000')).toEqual(open);
      expect(
        (await store.history.linksByClientReference(MERCHANT, 'Pedido 8', 9)).map((link) => link.legacy_id),
      ).toEqual(['intent-paid']);
      expect(await store.links.link('intent-paid')).toMatchObject({ known_by: 'till' });
      expect(await store.links.link('intent-lost')).toMatchObject({
        legacy_state: 'ABANDONED',
        client_reference: null,
      });
      expect(
        (await store.history.finishedLinks(MERCHANT, NOON, NOON + DAY_MS, 9)).map((link) => link.legacy_state),
      ).toEqual(expect.arrayContaining(['FINISHED', 'ABANDONED']));
      expect((await store.upkeep.counts()).links).toMatchObject({ LIVE: 1, DONE: 1, LOST: 1 });
    });
  });

  it('keeps its terminals busy, and lets go of those that were free', async () => {
    await serving(async (store) => {
      await expect(opened(store, { unit: 'PAX_A910__1' })).rejects.toMatchObject({ code: 'conflict' });
      expect((await opened(store, { unit: 'PAX_A910__2' })).unit).toBe('PAX_A910__2');
    });
  });

  it('keeps what it still has to tell: the notice is about its intent, and goes on where it stood', async () => {
    await serving(async (store) => {
      expect(await store.notices.dueNotices(NOON, 9)).toEqual([
        expect.objectContaining({
          id: 'notice-2',
          legacy_id: 'intent-paid',
          merchant_id: MERCHANT,
          topic: 'point',
          form: 'point',
          subject: 'intent-paid',
          sequence: 2,
          body: '{"state":"FINISHED"}',
          state: 'pending',
          attempts: 1,
          created_at: NOON,
          next_attempt_at: NOON,
        }),
      ]);
      expect(await store.upkeep.counts()).toMatchObject({ notices_pending: 1, events_waiting: 1 });
    });
  });

  it('encrypts its notice URLs once, where it has the key: then neither the file nor its log shows them [F55]', async () => {
    const sealed: string[] = [];
    const sealNoticeUrl = (url: string): Uint8Array => {
      sealed.push(url);
      return Buffer.from(`sealed ${url.length}`);
    };
    for (let start = 0; start < 2; start++) {
      const store = await openStore(path, { create: false, sealNoticeUrl });
      expect(await store.merchants.merchant(MERCHANT)).toMatchObject({
        settings: { stage: 'orders', notice_url: null },
        sealed_notice_url: new Uint8Array(Buffer.from('sealed 23')),
        revision: 4,
      });
      await store.close();
    }
    expect(sealed).toEqual(['https://pos.example/ipn']);
    for (const suffix of ['', '-wal'])
      if (existsSync(path + suffix)) expect(readFileSync(path + suffix).includes('pos.example')).toBe(false);
  });

  it('keeps merchants, tokens, events and the audit', async () => {
    await serving(async (store) => {
      expect(await store.merchants.merchant(MERCHANT)).toMatchObject({
        site: 'MLA',
        settings: { stage: 'orders', notice_url: 'https://pos.example/ipn' },
        sealed_notice_url: null,
        revision: 4,
      });
      expect(await store.merchants.token('fingerprint')).toEqual({
        fingerprint: 'fingerprint',
        merchant_id: MERCHANT,
        sealed_token: new Uint8Array([7, 7]),
        accepted_until: NOON + DAY_MS,
        seen_at: NOON,
      });
      expect(await store.events.dueEvents(NOON, 9)).toEqual([
        expect.objectContaining({ sequence: 1, order_id: orderId(0), verified: true, action: 'order.processed' }),
      ]);
      expect(await store.audit.audits(9)).toEqual([
        expect.objectContaining({ sequence: 1, who: 'ana', hash: 'a'.repeat(64) }),
      ]);
    });
  });
});

function writeFirstSchema(): void {
  writeSchema(1, (insert) => {
    const settings = '{"stage":"orders","notice_url":"https://pos.example/ipn"}';
    insert('merchants', { id: MERCHANT, site: 'MLA', settings, revision: 4, updated_at: NOON });
    const sealed_token = Buffer.from([7, 7]);
    const token = { fingerprint: 'fingerprint', merchant_id: MERCHANT, sealed_token };
    insert('tokens', { ...token, accepted_until: NOON + DAY_MS, seen_at: NOON });
    intents.forEach((intent, index) => void insert('links', firstLink(intent, index)));
    const notice = {
      legacy_id: 'intent-paid',
      merchant_id: MERCHANT,
      attempts: 1,
      created_at: NOON,
      next_attempt_at: NOON,
    };
    const [first, second] = [
      { id: 'notice-1', sequence: 1, state: 'delivered' },
      { id: 'notice-2', sequence: 2, state: 'pending' },
    ];
    insert('notices', { ...notice, ...first, body: '{"state":"CANCELED"}', is_next: 0 });
    insert('notices', { ...notice, ...second, body: '{"state":"FINISHED"}', is_next: 1 });
    const attempt = { notice_id: 'notice-1', at: NOON, duration_ms: 12, outcome: 'delivered', status: 200 };
    insert('notice_attempts', { ...attempt, detail: 'The receiver took it.' });
    const event = {
      sequence: 1,
      received_at: NOON,
      order_id: orderId(0),
      reference: 'ref-intent-open',
      user_id: MERCHANT,
    };
    insert('events', {
      ...event,
      verified: 1,
      action: 'order.processed',
      state: 'pending',
      attempts: 0,
      next_attempt_at: NOON,
    });
    const line = { sequence: 1, at: NOON, who: 'ana', action: 'stage', subject: MERCHANT, reason: 'agreed' };
    insert('audit', { ...line, detail: '{}', hash: 'a'.repeat(64) });
  });
}

function firstLink(intent: (typeof intents)[number], index: number) {
  const { legacy_id, state, intent_state, unit, reference } = intent;
  return {
    legacy_id,
    merchant_id: MERCHANT,
    lane: 'orders',
    unit,
    client_key: null,
    fingerprint: 'f',
    reference_sent: `ref-${legacy_id}`,
    held: held(reference),
    amount_minor: 1500,
    idempotency_key: `key-${legacy_id}`,
    sealed_body: Buffer.from([1, 2, 250]),
    tables_revision: 'revision-1',
    state,
    attempts: 2,
    first_sent_at: NOON,
    boot_id: 'boot-1',
    client_answer: 'maybe',
    order_id: orderId(index),
    order_json: `{"id":"${orderId(index)}","status":"at_terminal"}`,
    order_version: '2026-01-05T12:00:00.000000000Z',
    payment_id: String(1000 + index),
    intent_state,
    intent_state_at: NOON + 5,
    cancel: null,
    expires_at: NOON + 900_000,
    next_check_at: NOON + 60_000,
    created_at: NOON,
    updated_at: NOON + 7,
    revision: 3,
  };
}

const secondOrder = { id: orderId(1), status: 'at_terminal' };
const secondLink = newLink({
  legacy_id: 'intent-live',
  held: {},
  sealed_body: null,
  state: 'LIVE',
  order_id: secondOrder.id,
  order: secondOrder,
  legacy_state: 'ON_TERMINAL',
  updated_at: NOON + 7,
  revision: 3,
});
const secondRefund = {
  id: 'refund-1',
  number: 7,
  legacy_id: secondLink.legacy_id,
  merchant_id: MERCHANT,
  payment_id: '1000',
  client_key: null,
  fingerprint: 'f',
  amount_minor: null,
  refunded_before_minor: 0,
  idempotency_key: 'key-1',
  state: 'IN_DOUBT',
  upstream_id: null,
  reference_id: null,
  refunded_minor: null,
  upstream_status: null,
  answered_at: NOON + 1,
  created_at: NOON,
  updated_at: NOON,
  revision: 1,
} as const;

describe('a file of the second schema', () => {
  beforeEach(writeSecondSchema);

  it('keeps its links and refunds, and the state of each link [F55]', async () => {
    await serving(async (store) => {
      expect(await store.links.link(secondLink.legacy_id)).toEqual(secondLink);
      expect(await store.refunds.refunds(secondLink.legacy_id)).toEqual([{ ...secondRefund, known_at: NOON + 1 }]);
      const present = { at: NOON + 7, state: 'LIVE', legacy_state: 'ON_TERMINAL', order_status: 'at_terminal' };
      expect(await store.history.linkHistory(secondLink.legacy_id)).toEqual([present]);
      await store.links.saveLink(secondLink, { state: 'DONE', legacy_state: 'FINISHED', updated_at: NOON + 9 });
      expect(await store.history.linkHistory(secondLink.legacy_id)).toEqual([
        { at: NOON + 9, state: 'DONE', legacy_state: 'FINISHED', order_status: 'at_terminal' },
      ]);
    });
  });

  it('keeps its terminals: one that is busy on orders takes nothing on legacy', async () => {
    await serving(async (store) => {
      expect(await store.legacy_sales.openLegacySale(newSale())).toEqual(secondLink);
      expect(await store.legacy_sales.heldByLegacy(MERCHANT, `point:${TERMINAL}`, NOON)).toBeNull();
      expect(await store.history.liveLinks(MERCHANT, 9)).toEqual([secondLink]);
      expect(await store.history.linksChangedSince(NOON + 7, null, 9)).toEqual([secondLink]);
    });
  });

  it('keeps its merchants: no safety stop stands, and new settings have their defaults', async () => {
    await serving(async (store) => {
      const merchant = await store.merchants.merchant(MERCHANT);
      expect(merchant).toMatchObject({ site: 'MLA', trips: {}, revision: 4 });
      expect(merchant?.settings).toEqual(merchantSettings.parse({ stage: 'orders', qr_notices: 'both' }));
    });
  });

  it('keeps its audit chain whole, and goes on with it', async () => {
    await serving(async (store) => {
      await store.merchants.saveMerchant(newMerchant(), 4, auditOf('moved'));
      const lines = await store.audit.auditsAfter(0, 9);
      expect(lines.map(({ action }) => action)).toEqual(['first', 'second', 'moved']);
      expect(verifyAudit(lines)).toEqual({ intact: true, lines: 3 });
      expect(await store.audit.auditsOf({ subject: MERCHANT, action: 'second' }, 9)).toEqual([lines[1]]);
      expect((await store.events.unmatchedEvents(9)).map(({ sequence }) => sequence)).toEqual([1]);
      expect((await store.events.eventsOf(secondOrder.id, null, 9)).map(({ sequence }) => sequence)).toEqual([1]);
    });
  });
});

function writeSecondSchema(): void {
  writeSchema(2, (insert) => {
    const settings = '{"stage":"orders","qr_notices":"both"}';
    insert('merchants', { id: MERCHANT, site: 'MLA', settings, revision: 4, updated_at: NOON });
    const { held, order, acknowledged_at: _acknowledged_at, known_by: _known_by, ...columns } = secondLink;
    insert('links', { ...columns, held: JSON.stringify(held), order_json: JSON.stringify(order) });
    const { answered_at: told_at, ...refund } = secondRefund;
    insert('refunds', { ...refund, told_at });
    const event = { received_at: NOON, order_id: secondOrder.id, verified: 1, action: 'order.processed' };
    insert('events', { ...event, state: 'parked', attempts: 0, next_attempt_at: NOON });
    let previous = AUDIT_GENESIS;
    for (const [index, action] of ['first', 'second'].entries()) {
      const line = { ...auditOf(action, { before: 'legacy' }), sequence: index + 1 };
      previous = chainHash(previous, line);
      insert('audit', { ...line, detail: JSON.stringify(line.detail), hash: previous });
    }
  });
}

it('a file of the third schema keeps its exchanges, and takes new ones [F55]', async () => {
  const { id, at, merchant_id, operation, kind, lane, stage, unit, status, outcome, duration_ms, tables_revision } =
    newExchange({ id: 'exchange-of-before' });
  const facts = {
    id,
    at,
    merchant_id,
    operation,
    kind,
    lane,
    stage,
    unit,
    status,
    outcome,
    duration_ms,
    tables_revision,
  };
  writeSchema(3, (insert) => insert('exchanges', facts));
  await serving(async (store) => {
    expect(await store.exchanges.exchange(id)).toMatchObject({ sequence: 1, status, limitations: null });
    await store.exchanges.recordExchanges([newExchange({ limitations: ['LIM-08'] })]);
    const kept = await store.exchanges.exchanges({ merchant_id: MERCHANT }, 0, 9);
    expect(kept.map(({ limitations }) => limitations)).toEqual([null, ['LIM-08']]);
  });
});

it('a file of the third schema bounds the last call of its units on legacy, and then keeps it', async () => {
  const day = Math.floor(NOON / DAY_MS);
  writeSchema(3, (insert) => {
    const traffic = { merchant_id: MERCHANT, operation: 'point.create', kind: 'intents', outcome: 'ok', calls: 1 };
    insert('traffic', { ...traffic, day: day - 2, lane: 'legacy' });
    insert('traffic', { ...traffic, day, lane: 'orders' });
    const unit = { merchant_id: MERCHANT, first_at: NOON - 9 * DAY_MS, last_at: NOON, calls: 2, last_lane: 'orders' };
    insert('seen_units', { ...unit, slot: 'point:A', last_lane: 'legacy' });
    insert('seen_units', { ...unit, slot: 'point:B' });
    insert('seen_units', { ...unit, slot: 'point:C', first_at: NOON });
    insert('seen_units', { ...unit, slot: 'point:D', merchant_id: '700100999' });
  });
  await serving(async (store) => {
    const bound = (day - 1) * DAY_MS - 1;
    const seen = async (id: string) => (await store.evidence.units(id)).map(({ legacy_at }) => legacy_at);
    expect([await seen(MERCHANT), await seen('700100999')]).toEqual([[NOON, bound, null], [null]]);
    await store.exchanges.recordExchanges([newExchange({ unit: 'point:B', lane: 'legacy', at: NOON })]);
    expect((await store.evidence.units(MERCHANT))[1]).toMatchObject({
      legacy_at: NOON,
      legacy_operation: 'point.create',
    });
  });
});

it('a file of the third schema keeps its bulk moves, and each merchant in its place', async () => {
  const facts = { id: 'bulk', move: '{"stage":"shadow"}', reason: 'wave 1', who: 'ana', per_day: 9 };
  const items = ['700', '701'].map((merchant_id) => ({ merchant_id, state: 'waiting', detail: 'é "1.50"', at: null }));
  const row = { items: JSON.stringify(items), state: 'running', detail: '', created_at: NOON, updated_at: NOON };
  writeSchema(3, (insert) => insert('bulk_moves', { ...facts, ...row, revision: 4 }));
  await serving(async (store) => {
    const bulk = await store.moves.bulkMove('bulk');
    expect(bulk).toMatchObject({ who: 'ana', items, ramp: null, revision: 4 });
    expect(await store.upkeep.holdings('701')).toMatchObject({ bulk_moves: 1 });
  });
});
