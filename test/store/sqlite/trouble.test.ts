/** The store with a broken disk (full and locked: `test/faults/storage-disk.test.ts`); and refusals of the schema itself. */
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PuenteError } from '../../../src/error.ts';
import { limitsOf } from '../../../src/ops/upkeep/chores.ts';
import { auditOf, DAY_MS, MERCHANT, NOON, newEvent, newMerchant, opened, orderId } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

let folder: Folder;
let path: string;
beforeEach(() => {
  folder = newFolder();
  path = folder.file('puente.db');
});
afterEach(() => folder.remove());

const bigToken = (number: number) => ({
  fingerprint: `token ${number}`,
  merchant_id: MERCHANT,
  sealed_token: new Uint8Array(100_000),
  accepted_until: NOON,
  seen_at: NOON,
});

describe('a broken file', () => {
  const breakFile = async () => {
    const before = await openStore(path);
    const merchants = Array.from({ length: 400 }, (_, index) => newMerchant({ id: String(index + 1) }));
    await Promise.all(merchants.map((merchant) => before.merchants.saveMerchant(merchant, 0, auditOf('made'))));
    await before.close();
    const errors: PuenteError[] = [];
    const store = await openStore(path, { create: false, onFatal: (error) => errors.push(error) });
    const size = statSync(path).size;
    const handle = openSync(path, 'r+');
    for (let page = 1; page < size / 4096; page++)
      writeSync(handle, new Uint8Array(4096).fill(0xa5), 0, 4096, page * 4096);
    closeSync(handle);
    return { store, errors };
  };

  it('ends the store at a write: the writes fail, the fault is reported once, and no more writes are accepted [F39]', async () => {
    const { store, errors } = await breakFile();
    const writes = [1, 2, 3].map((number) =>
      store.merchants.acceptToken({ ...bigToken(number), merchant_id: '7' }, null),
    );
    for (const result of await Promise.allSettled(writes)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'store_failed', facts: { failure: 'fatal' } },
      });
    }
    await expect(store.merchants.forgetToken('token 1')).rejects.toMatchObject({ facts: { failure: 'fatal' } });
    expect(errors).toHaveLength(1);
    expect(store.healthy()).toBe(false);
    await store.close();
  });

  it('ends the store at a read [F39]', async () => {
    const { store, errors } = await breakFile();
    await expect(store.merchants.merchant('7')).rejects.toMatchObject({ code: 'store_failed' });
    expect(errors).toMatchObject([{ code: 'store_failed', facts: { failure: 'fatal' } }]);
    await store.close();
  });
});

describe('the schema', () => {
  it('refuses another key, reference, body or amount for a link, and any change of an audit line', async () => {
    const store = await openStore(path);
    await opened(store);
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    await store.close();
    const database = new Database(path);
    const refused = [
      "UPDATE links SET idempotency_key = 'another'",
      "UPDATE links SET reference_sent = 'another'",
      "UPDATE links SET sealed_body = x'00'",
      'UPDATE links SET amount_minor = 1',
      "UPDATE audit SET who = 'nobody'",
      'DELETE FROM audit',
    ];
    for (const statement of refused) expect(() => database.exec(statement)).toThrow(/can not be|can only be erased/);
    database.exec('UPDATE links SET sealed_body = NULL');
    expect(() => database.exec("UPDATE links SET sealed_body = x'00'")).toThrow('can only be erased');
    database.close();
  });
});

describe('housekeeping', () => {
  it('expires what was parked for three days, and forgets events after seven', async () => {
    const early = await openStore(path, { now: () => NOON });
    await early.events.receiveEvent(newEvent({ reference: 'old' }));
    await early.events.receiveEvent(newEvent({ reference: 'new', received_at: NOON + DAY_MS }));
    const due = await early.events.dueEvents(NOON + DAY_MS, 10);
    for (const event of due) await early.events.saveEvent(event.sequence, { state: 'parked' });
    await early.close();
    const later = await openStore(path, { now: () => NOON + 3 * DAY_MS + 1 });
    expect(await later.upkeep.counts()).toMatchObject({ events_waiting: 1 });
    const link = await opened(later, { reference_sent: 'new' });
    await later.links.saveLink(link, { order_id: orderId(1), state: 'LIVE' });
    expect(await later.events.dueEvents(NOON + 4 * DAY_MS, 10)).toMatchObject([{ reference: 'new' }]);
    await later.close();
    const last = await openStore(path, { now: () => NOON + 8 * DAY_MS });
    const kept = { links_ms: 0, notices_ms: 0, sums_ms: 0, tokens_ms: 0 };
    expect(await last.upkeep.tidyOld(limitsOf(kept, NOON + 7 * DAY_MS), 9)).toMatchObject({ events: 0 });
    expect(await last.upkeep.tidyOld(limitsOf(kept, NOON + 7 * DAY_MS + 1), 9)).toMatchObject({ events: 1 });
    await last.close();
    const database = new Database(path, { readonly: true });
    expect(database.prepare('SELECT reference FROM events').pluck().all()).toEqual(['new']);
    database.close();
  });
});
