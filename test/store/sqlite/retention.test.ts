/** Old terminal rows are deleted, kind by kind; live ones and the audit chain stay. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { startChores, tidyRound } from '../../../src/ops/upkeep/chores.ts';
import type { BulkItem } from '../../../src/proxy/records/routing.ts';
import { eventually } from '../../kit.ts';
import { verifyAudit } from '../../ops/audit-chain.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import {
  attempt,
  auditOf,
  DAY_MS,
  finished,
  firstDue,
  MERCHANT,
  NOON,
  newEvent,
  newMerchant,
  newNotice,
  newSale,
  OTHER_MERCHANT,
  opened,
  orderId,
  withReference,
} from '../contract/harness.ts';
import { newBulk } from '../contract/moves.ts';
import { withMethods } from '../with-methods.ts';
import { type Folder, newFolder, openStore, runSql } from './kit.ts';

let folder: Folder;
let path: string;
let now: number;
let store: Store;
beforeEach(async () => {
  folder = newFolder();
  path = folder.file('puente.db');
  now = NOON;
  store = await openStore(path, { now: () => now });
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

const quiet = (): void => undefined;

const limits = (before: number) => ({
  links_before: before,
  notices_before: before,
  events_before: before,
  sums_before: before,
  tokens_before: before,
});

function rows(table: string): number {
  const database = new Database(path, { readonly: true });
  try {
    return Number(database.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  } finally {
    database.close();
  }
}

it('deletes sales that are over with all that hangs on them, and leaves open ones, untold ones and the audit', async () => {
  const old = await opened(store, { slot: 'point:OLD' });
  const told = await store.links.saveLink(
    old,
    { state: 'DONE', order_id: orderId(1), next_check_at: null, updated_at: NOON },
    { notices: [newNotice(old, 'told')], audit: auditOf('settled') },
  );
  const notice = await firstDue(store);
  await store.notices.recordAttempt(notice, attempt('delivered', 200), { state: 'delivered', next_attempt_at: NOON });
  await store.events.receiveEvent(newEvent({ order_id: orderId(1) }));
  const live = await opened(store, { slot: 'point:LIVE' });
  const untold = await opened(store, { slot: 'point:UNTOLD' });
  await store.links.saveLink(
    untold,
    { state: 'DONE', order_id: orderId(2), next_check_at: null, updated_at: NOON },
    { notices: [newNotice(untold, 'untold')] },
  );

  expect(await store.upkeep.tidyOld(limits(NOON), 100)).toMatchObject({ links: 0 });
  expect(await store.upkeep.tidyOld(limits(NOON + DAY_MS), 100)).toMatchObject({ links: 1, notices: 0 });
  expect(await store.links.link(told.legacy_id)).toBeNull();
  expect(await store.links.link(live.legacy_id)).not.toBeNull();
  expect(await store.links.link(untold.legacy_id)).not.toBeNull();
  expect([rows('notices'), rows('notice_attempts'), rows('events'), rows('audit')]).toEqual([1, 0, 0, 1]);
  expect(await store.history.linkHistory(told.legacy_id)).toEqual([]);
  expect((await store.upkeep.counts()).links).toMatchObject({ DONE: 1, SENDING: 1 });
});

it('passes sales that wait for an address once, however many there are, and takes those behind them', async () => {
  for (let number = 1; number <= 7; number++) {
    const sale = await finished(store, { slot: `point:${number}` });
    // All but the last two have a pending notice.
    if (number < 6) await store.links.saveLink(sale, {}, { notices: [newNotice(sale, 'untold')] });
  }
  const old = limits(NOON + DAY_MS);
  expect(await store.upkeep.tidyOld(old, 1)).toMatchObject({ links: 1 });
  expect(await store.upkeep.tidyOld(old, 1)).toMatchObject({ links: 1 });
  expect(await store.upkeep.tidyOld(old, 1)).toMatchObject({ links: 0 });
  expect(rows('links')).toBe(5);
  const notice = await firstDue(store);
  await store.notices.recordAttempt(notice, attempt('delivered', 200), { state: 'delivered', next_attempt_at: NOON });
  expect(await tidyRound(store.upkeep, old, () => true)).toMatchObject({ links: 1, notices: 0 });
  expect(rows('links')).toBe(4);
});

it('takes of the inbox only what is over and of that very sale, where others have the same reference', async () => {
  const reference_sent = 'TICKET-7';
  const old = await opened(store, { slot: 'point:OLD', reference_sent });
  await store.links.saveLink(old, { state: 'DONE', order_id: orderId(1), next_check_at: null });
  // The same reference was used by another merchant's till, and by this one's for a later sale.
  await opened(store, { merchant_id: OTHER_MERCHANT, reference_sent });
  const later = await opened(store, { slot: 'point:LATER' });
  runSql(path, withReference(later, reference_sent));
  const of = (change: object) =>
    store.events.receiveEvent(newEvent({ reference: reference_sent, order_id: null, ...change }));
  await of({ action: 'over' });
  const [over] = await store.events.dueEvents(NOON, 10);
  await store.events.saveEvent(over?.sequence ?? 0, { state: 'done' });
  await of({ action: 'of another merchant', user_id: OTHER_MERCHANT, order_id: orderId(2) });
  await of({ action: 'of nobody known', user_id: null });
  await of({ action: 'of the later sale', order_id: orderId(3) });
  expect(await store.upkeep.tidyOld(limits(NOON + DAY_MS), 100)).toMatchObject({ links: 1 });
  const left = (await store.events.dueEvents(NOON, 10)).map(({ action }) => action);
  expect(left).toEqual(['of another merchant', 'of nobody known', 'of the later sale']);
  expect(rows('events')).toBe(3);
});

it('deletes delivered notices, sums and sealed tokens by their own age, a bounded number at a time', async () => {
  const link = await opened(store);
  const saved = await store.links.saveLink(
    link,
    {},
    { notices: ['1', '2', '3'].map((body) => newNotice(link, body, { subject: body })) },
  );
  for (let told = 0; told < 3; told++) {
    const notice = await firstDue(store);
    await store.notices.recordAttempt(notice, attempt('delivered', 200), { state: 'delivered', next_attempt_at: NOON });
  }
  for (const action of ['over', 'over too', 'unread'])
    await store.events.receiveEvent(newEvent({ action, received_at: NOON }));
  for (const event of (await store.events.dueEvents(NOON, 2)).slice(0, 2))
    await store.events.saveEvent(event.sequence, { state: 'done' });
  await store.exchanges.recordExchanges([newExchange({ at: NOON, merchant_id: MERCHANT })]);
  await store.merchants.acceptToken(
    { fingerprint: 'f', merchant_id: MERCHANT, sealed_token: new Uint8Array([7]), accepted_until: NOON, seen_at: NOON },
    'MLA',
  );
  const later = NOON + 3 * DAY_MS;
  expect(await store.upkeep.tidyOld(limits(later), 2)).toEqual({ links: 0, notices: 2, events: 2, sums: 1, tokens: 1 });
  const rest = await tidyRound(store.upkeep, limits(later), () => true);
  expect(rest).toEqual({ links: 0, notices: 1, events: 0, sums: 0, tokens: 0 });
  expect([rows('notices'), rows('notice_attempts'), rows('traffic'), rows('exchanges')]).toEqual([0, 0, 0, 1]);
  expect((await store.events.dueEvents(later, 10)).map(({ action }) => action)).toEqual(['unread']);
  expect(rows('events')).toBe(1);
  expect((await store.merchants.token('f'))?.sealed_token.length).toBe(0);
  expect(await tidyRound(store.upkeep, limits(later), () => false)).toEqual({
    links: 0,
    notices: 0,
    events: 0,
    sums: 0,
    tokens: 0,
  });
  expect(await store.links.link(saved.legacy_id)).not.toBeNull();
});

it('erases one of two merchants whose rows lie between each other, down to the bytes', async () => {
  await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
  for (let number = 0; number < 200; number++) {
    const is_ours = number % 2 === 0;
    const text = `${is_ours ? 'words-of-the-erased' : 'words'} ${'x'.repeat((number * 37) % 900)}`;
    const link = await opened(store, {
      merchant_id: is_ours ? MERCHANT : OTHER_MERCHANT,
      slot: `point:${number}`,
      client_reference: `${is_ours ? 'words-of-the-erased' : 'words'} ${(number * 79) % 200}`,
      held: { description: text },
    });
    await store.links.saveLink(
      link,
      { state: 'DONE', order_id: orderId(number), next_check_at: null },
      { notices: [newNotice(link, JSON.stringify(text), { merchant_id: link.merchant_id })] },
    );
  }
  for (const merchant_id of [MERCHANT, OTHER_MERCHANT]) {
    const sale = newSale({ merchant_id, unit: 'PAX_A910__CARRIED' });
    await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED' });
  }
  const nothing = { links: 0, refunds: 0, legacy_sales: 0, proposals: 0, bulk_moves: 0 };
  expect(await store.upkeep.openWork(MERCHANT)).toEqual({ ...nothing, notices: 100 });
  const gone = await store.upkeep.eraseMerchant(MERCHANT, (erased) => auditOf('erase', { ...erased }));
  expect(gone).toMatchObject({ links: 100, notices: 100, legacy_sales: 1 });
  expect(await store.upkeep.holdings(MERCHANT)).toEqual({ ...gone, links: 0, notices: 0, legacy_sales: 0 });
  expect(await store.upkeep.holdings(OTHER_MERCHANT)).toMatchObject({ links: 100, notices: 100, legacy_sales: 1 });
  for (const suffix of ['', '-wal']) expect(readFileSync(path + suffix).includes('words-of-the-erased')).toBe(false);
  expect(readFileSync(path).includes('words xx')).toBe(true);
  expect(verifyAudit(await store.audit.audits(10))).toMatchObject({ intact: true });
});

it('waits for a merchant whose turn in a running bulk move is to come, and then takes it out of every bulk move', async () => {
  await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
  const line = (merchant_id: string, state: BulkItem['state']): BulkItem => ({
    merchant_id,
    state,
    detail: `${state}: words-of-${merchant_id}`,
    at: NOON,
    own: { stage: 'canary', units_in: [`point:words-of-${merchant_id}`] },
  });
  const stopped = newBulk('stopped', { state: 'stopped', detail: `The safety stop of ${MERCHANT} tripped` });
  await store.moves.saveBulkMove({ ...stopped, items: [line(MERCHANT, 'waiting')] }, null, null);
  const others = [line('1', 'moved'), line(OTHER_MERCHANT, 'waiting')];
  const running = await store.moves.saveBulkMove(
    newBulk('running', { items: [line(MERCHANT, 'waiting'), ...others] }),
    null,
    null,
  );
  expect(await store.upkeep.openWork(MERCHANT)).toMatchObject({ bulk_moves: 1 });
  expect(await store.upkeep.holdings(MERCHANT)).toMatchObject({ bulk_moves: 2 });
  await expect(store.upkeep.eraseMerchant(MERCHANT, () => auditOf('erase'))).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await store.merchants.merchant(MERCHANT)).not.toBeNull();
  const moved = await store.moves.saveBulkMove(
    { ...running, items: [line(MERCHANT, 'moved'), ...others] },
    running,
    null,
  );
  expect(await store.upkeep.openWork(MERCHANT)).toMatchObject({ bulk_moves: 0 });
  await store.upkeep.eraseMerchant(MERCHANT, () => auditOf('erase'));
  expect((await store.moves.bulkMove(running.id))?.items).toEqual([
    { merchant_id: 'erased', state: 'moved', detail: '', at: NOON },
    ...others,
  ]);
  expect(await store.moves.bulkMove(stopped.id)).toMatchObject({
    detail: 'It named a merchant that was erased.',
    items: [{ merchant_id: 'erased', state: 'waiting', detail: '' }],
  });
  expect(await store.upkeep.holdings(MERCHANT)).toMatchObject({ bulk_moves: 0 });
  // A concurrent step must not restore it.
  await expect(store.moves.saveBulkMove(moved, moved, null)).rejects.toMatchObject({ code: 'conflict' });
  for (const suffix of ['', '-wal']) expect(readFileSync(path + suffix).includes(`words-of-${MERCHANT}`)).toBe(false);
});

it('does not erase a merchant with an open sale, nor one whose sale began meanwhile', async () => {
  await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
  const link = await opened(store);
  expect(await store.upkeep.openWork(MERCHANT)).toMatchObject({ links: 1 });
  await expect(store.upkeep.eraseMerchant(MERCHANT, () => auditOf('erase'))).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await store.links.link(link.legacy_id)).not.toBeNull();
  expect(await store.merchants.merchant(MERCHANT)).not.toBeNull();
  expect((await store.audit.audits(10)).map(({ action }) => action)).toEqual(['made']);
});

it('retention counts by a clock of at most double speed, so that a clock that is wrong by years deletes nothing [F47]', async () => {
  const sale = await finished(store);
  const kept = 400 * DAY_MS;
  const settings = { links_ms: kept, notices_ms: kept, sums_ms: kept, tokens_ms: kept };
  /** One round of upkeep, with a backup before it, dated by this clock. */
  const runFrom = async (at: number): Promise<void> => {
    now = at;
    const clock = { now: () => now, sleep: async () => undefined };
    let steps = 0;
    const watched: Store = withMethods(store, {
      tidyOld: (...asked) => store.upkeep.tidyOld(...asked).finally(() => steps++),
    });
    const chores = startChores(
      { store: watched, count: quiet, clock, log },
      { backup_every_ms: 20, backup_keep: 1, retention: settings },
    );
    await eventually(
      async () => steps,
      (done) => done > 0,
    );
    await chores.stop();
  };
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  await runFrom(NOON + 2 * kept);
  expect(await store.links.link(sale.legacy_id)).not.toBeNull();
  // Later rows prove that so much time has really passed.
  now = NOON + kept + 3_600_000;
  await opened(store, { updated_at: now });
  await runFrom(now);
  expect(await store.links.link(sale.legacy_id)).toBeNull();
  // The backup with the wrong date was deleted first, although it seems newer.
  expect((await store.upkeep.backups()).map(({ made_at }) => Date.parse(made_at))).toEqual([now]);
});

it('a backup that was made counts as made, also when the old ones can not be deleted after it', async () => {
  const told: string[] = [];
  let steps = 0;
  const failing: Store = withMethods(store, {
    trimBackups: () => Promise.reject(new Error('the directory is read-only')),
    tidyOld: (...asked) => store.upkeep.tidyOld(...asked).finally(() => steps++),
  });
  const note = (message: string): number => told.push(message);
  now = NOON + DAY_MS;
  const chores = startChores(
    {
      store: failing,
      count: (...count) => told.push(count.join(' ')),
      clock: { now: () => now, sleep: async () => undefined },
      log: { debug: note, info: note, warn: note, error: note },
    },
    {
      backup_every_ms: 20,
      backup_keep: 1,
      retention: { links_ms: DAY_MS, notices_ms: DAY_MS, sums_ms: DAY_MS, tokens_ms: DAY_MS },
    },
  );
  await eventually(
    async () => steps,
    (done) => done > 0,
  );
  await chores.stop();
  expect(told.slice(0, 3)).toEqual(['backups made', 'backup made', 'old backups were not deleted']);
  expect(told).not.toContain('backups failed');
  expect(await store.upkeep.backups()).toHaveLength(1);
});

it('a backup that failed under a clock that was ahead is tried again once the clock is right [F47]', async () => {
  const own = folder.file('backups-elsewhere');
  const own_store = await openStore(folder.file('own.db'), { now: () => now, backup_directory: join(own, 'deep') });
  writeFileSync(own, 'a file where the directory must be');
  let failed = 0;
  now = NOON + 400 * DAY_MS;
  const chores = startChores(
    {
      store: own_store,
      count: (...labels) => {
        failed += labels.includes('failed') ? 1 : 0;
      },
      clock: { now: () => now, sleep: async () => undefined },
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    },
    {
      backup_every_ms: 20,
      backup_keep: 1,
      retention: { links_ms: DAY_MS, notices_ms: DAY_MS, sums_ms: DAY_MS, tokens_ms: DAY_MS },
    },
  );
  await eventually(
    async () => failed,
    (times) => times === 1,
  );
  rmSync(own);
  now = NOON + DAY_MS;
  await eventually(
    () => own_store.upkeep.backups(),
    (made) => made.length === 1,
  );
  await chores.stop();
  await own_store.close();
});
