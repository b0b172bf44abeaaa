/** Incidents, the conditions that they are made of, and the queue of their alerts. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { MOST_COUNTED, type NewIncident } from '../../../src/proxy/records/incidents.ts';
import { LINK, MOST_ALERTS, NOTICE, namesIn } from '../../../src/store/conditions.ts';
import {
  attempt,
  auditOf,
  finished,
  firstDue,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newMerchant,
  newNotice,
  OTHER_MERCHANT,
  opened,
  orderId,
} from './harness.ts';
import { newBulk } from './moves.ts';

const LIMITS = {
  ...{ in_doubt_before: NOON, paid_before: NOON, paid_since: NOON - 9, notices_before: NOON },
  ...{ ramps_since: NOON - 1, now: NOON },
};

function newIncident(change: Partial<NewIncident> = {}): NewIncident {
  const id = randomUUID();
  const at = { opened_at: NOON, last_at: NOON };
  return {
    id,
    kind: 'notices_stuck',
    merchant_id: MERCHANT,
    subject: '',
    ...at,
    count: 1,
    sample: null,
    reason: 'why',
    line: 0,
    ...change,
  };
}

export function incidentTests(harness: Harness): void {
  const { store } = harness;
  const all = () => store.incidents.incidents({}, 9);
  const due = async (at = NOON) =>
    (await store.incidents.dueAlerts(at)).map(({ receiver, event }) => `${receiver} ${event}`);

  it('open once by kind, merchant and subject, with one alert for each receiver', async () => {
    const note = (change: Partial<NewIncident>) => store.incidents.noteIncident(newIncident(change), ['ops', 'slack']);
    await Promise.all([note({ count: 3 }), note({ count: 3 }), note({ count: 3 })]);
    await note({ count: 5, last_at: NOON + 1, sample: 'newest' });
    expect(await all()).toMatchObject([{ count: 5, last_at: NOON + 1, sample: 'newest', closed_at: null }]);
    await note({ subject: 'qr', opened_at: NOON + 2 });
    await note({ merchant_id: OTHER_MERCHANT, opened_at: NOON + 3 });
    expect((await all()).map(({ merchant_id, subject }) => `${merchant_id} ${subject}`)).toEqual([
      `${OTHER_MERCHANT} `,
      `${MERCHANT} qr`,
      `${MERCHANT} `,
    ]);
    expect(await store.incidents.alertsOf('ops')).toEqual({ waiting: 3, last: null });
    expect(
      (await store.incidents.incidents({ merchant_id: MERCHANT, kind: 'notices_stuck', since: NOON + 1 }, 9)).length,
    ).toBe(1);
  });

  it('count a line of the audit chain once, also after they are closed', async () => {
    const note = (line: number) => store.incidents.noteIncident(newIncident({ kind: 'mismatch', line }), ['ops']);
    for (const line of [4, 4, 7, 4]) await note(line);
    expect([await store.incidents.lastIncidentLine(), await all()]).toMatchObject([7, [{ count: 2, line: 7 }]]);
    expect(
      await store.incidents.closeIncident((await all())[0]?.id ?? '', NOON, 'ana', auditOf('incident closed')),
    ).toBe(true);
    await note(7);
    expect(await all()).toMatchObject([{ count: 2, closed_by: 'ana' }]);
    await note(8);
    expect(await store.incidents.incidents({ is_open: true }, 9)).toMatchObject([{ count: 1, line: 8 }]);
    for (const line of [12, 10]) await store.incidents.passLines(line);
    await store.upkeep.eraseMerchant(MERCHANT, (gone) => auditOf('erase', { ...gone }));
    await note(12);
    expect([await store.incidents.lastIncidentLine(), await all()]).toEqual([12, []]);
  });

  it('are announced again when they have grown tenfold, once, unless an alert of them waits', async () => {
    const note = (count: number, line = 0) =>
      store.incidents.noteIncident(newIncident({ count, line, last_at: NOON }), ['ops', 'slack']);
    await note(1);
    await note(10);
    expect(await due()).toEqual(['ops opened', 'slack opened']);
    const [first] = await store.incidents.dueAlerts(NOON);
    if (first === undefined) throw new Error('no alert is due');
    await store.incidents.takeAlert(first, NOON, 10);
    await store.incidents.endAlert(first, 'delivered', 'it answered 200', NOON);
    await Promise.all([note(100), note(100)]);
    for (const count of [2, 500, 999]) await note(count);
    expect(await due()).toEqual(['slack opened', 'ops grown']);
    expect(await store.incidents.alertsOf('ops')).toMatchObject({ waiting: 1 });
    const [one] = await all();
    await store.incidents.closeIncident(one?.id ?? '', NOON, 'puente', null, {
      event: 'unwatched',
      reason: 'too old',
      count: 7,
    });
    expect(await all()).toMatchObject([{ count: 7, reason: 'too old', closed_by: 'puente' }]);
    expect((await store.incidents.alertsOf('ops')).waiting).toBe(2);
    expect((await store.incidents.alertsOf('slack')).waiting).toBe(2);
  });

  it('that grow while their alert is under way, or after it was given up, are announced to that receiver', async () => {
    const note = (count: number) => store.incidents.noteIncident(newIncident({ count }), ['ops', 'slack']);
    const take = async (receiver: string, count: number) => {
      const alert = (await store.incidents.dueAlerts(NOON)).find((one) => one.receiver === receiver);
      if (alert === undefined) throw new Error('no alert is due');
      await store.incidents.takeAlert(alert, NOON + MINUTE_MS, count);
      return (state: 'delivered' | 'failed') => store.incidents.endAlert(alert, state, 'it answered', NOON);
    };
    await note(1);
    const [ops, slack] = [await take('ops', 1), await take('slack', 1)];
    await note(60);
    await slack('failed');
    expect(await due()).toEqual([]);
    await ops('delivered');
    expect(await due()).toEqual(['ops grown']);
    await note(61);
    expect(await due()).toEqual(['ops grown', 'slack grown']);
    await (await take('ops', 61))('delivered');
    await note(609);
    expect(await due()).toEqual(['slack grown']);
  });

  it('that fall and grow again are announced again, also to the count of before', async () => {
    const note = (count: number) => store.incidents.noteIncident(newIncident({ count }), ['ops']);
    const accept = async (count: number) => {
      const [alert] = await store.incidents.dueAlerts(NOON);
      if (alert === undefined) throw new Error('no alert is due');
      await store.incidents.takeAlert(alert, NOON, count);
      await store.incidents.endAlert(alert, 'delivered', 'it answered 200', NOON);
      return alert.id;
    };
    await note(1);
    const ids = [await accept(1)];
    for (const burst of [100, 100]) {
      await note(burst);
      ids.push(await accept(burst));
      await note(2);
      await note(19);
      expect(await due()).toEqual([]);
    }
    expect(new Set(ids).size).toBe(3);
  });

  it('close for receivers whose names look like events of each other', async () => {
    const one = newIncident();
    await store.incidents.noteIncident(one, ['ops', 'ops-recovered']);
    expect(await store.incidents.closeIncident(one.id, NOON, 'puente', null)).toBe(true);
    expect((await store.incidents.alertsOf('ops-recovered')).waiting).toBe(2);
  });

  it('close once, and the recovery goes after the opening, to those who were sent it', async () => {
    const one = newIncident();
    await store.incidents.noteIncident(one, ['ops']);
    const closing = [1, 2].map(() => store.incidents.closeIncident(one.id, NOON + 5, 'puente', null));
    expect((await Promise.all(closing)).toSorted()).toEqual([false, true]);
    expect(await store.incidents.incidents({ is_open: true }, 9)).toEqual([]);
    const [first] = await store.incidents.dueAlerts(NOON + 5);
    if (first === undefined) throw new Error('no alert is due');
    expect(await due(NOON + 5)).toEqual(['ops opened']);
    const taken = await Promise.all([1, 2].map(() => store.incidents.takeAlert(first, NOON + MINUTE_MS, 1)));
    expect(taken.toSorted()).toEqual([false, true]);
    expect(await due(NOON + 5)).toEqual([]);
    await store.incidents.endAlert(first, 'delivered', 'it answered 200', NOON);
    expect(await due(NOON + 5)).toEqual(['ops recovered']);
    expect(await store.incidents.alertsOf('ops')).toMatchObject({
      waiting: 1,
      last: { state: 'delivered', attempts: 1 },
    });
    await store.incidents.noteIncident(newIncident(), []);
    expect(await store.incidents.incidents({ is_open: true }, 9)).toHaveLength(1);
  });

  it('are announced although their receiver refuses an earlier one: only alerts of one incident wait for each other', async () => {
    const [refused, later] = [newIncident(), newIncident({ subject: 'qr' })];
    for (const one of [refused, later]) await store.incidents.noteIncident(one, ['ops']);
    const [first] = await store.incidents.dueAlerts(NOON);
    if (first === undefined) throw new Error('no alert is due');
    await store.incidents.takeAlert(first, NOON + MINUTE_MS, 1);
    await store.incidents.closeIncident(refused.id, NOON, 'puente', null);
    expect(await store.incidents.dueAlerts(NOON)).toMatchObject([{ incident_id: later.id, event: 'opened' }]);
  });

  it('keep a bounded queue: the oldest alerts of a receiver are given up', async () => {
    for (let merchant = 0; merchant < MOST_ALERTS + 2; merchant++)
      await store.incidents.noteIncident(newIncident({ merchant_id: String(merchant) }), ['ops']);
    expect(await store.incidents.alertsOf('ops')).toEqual({ waiting: MOST_ALERTS, last: null });
    const [head] = await store.incidents.dueAlerts(NOON);
    expect((await store.incidents.incidents({ id: head?.incident_id ?? '' }, 1))[0]?.merchant_id).toBe('2');
  });

  it('are read from what stands: stops, creates in doubt, paid sales that their tills do not know, notices, moves', async () => {
    expect(await store.incidents.conditions(LIMITS)).toEqual([]);
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const evidence = { calls: 50, faults: 9, slow: 0, window_ms: 60_000, sample: 'exchange' };
    await store.merchants.saveTrips(
      MERCHANT,
      { qr: { at: NOON, why: 'Nine of fifty.', evidence } },
      1,
      auditOf('trip'),
    );
    const doubt = await opened(store);
    await store.links.saveLink(doubt, { state: 'IN_DOUBT' }, { notices: [newNotice(doubt, 'x')] });
    await opened(store, { merchant_id: OTHER_MERCHANT, created_at: NOON + 1 });
    const paid = async (status: string, known_by: 'till' | null, at = NOON) => {
      const link = await finished(store, {}, at);
      await store.links.saveLink(link, { order: { id: `ORD${link.legacy_id}`, status }, known_by });
      return link.legacy_id;
    };
    const unknown = await paid('processed', null);
    await paid('processed', 'till');
    await paid('failed', null);
    await paid('processed', null, NOON + 1);
    await paid('processed', null, NOON - 9);
    expect(await store.incidents.paidUnacknowledgedOf(MERCHANT, NOON, NOON - 9)).toMatchObject({
      count: 1,
      since: NOON,
      sample: unknown,
    });
    expect(await store.incidents.paidUnacknowledgedOf(MERCHANT, NOON, NOON - 10)).toMatchObject({
      count: 2,
      since: NOON - 9,
    });
    expect(await store.incidents.paidUnacknowledgedOf(OTHER_MERCHANT, NOON, 0)).toBeNull();
    const heard = await finished(store);
    const old = newNotice(heard, 'old', { next_attempt_at: NOON - 1 });
    await store.links.saveLink(heard, { known_by: 'till' }, { notices: [old] });
    const notice = await firstDue(store, NOON - 1);
    await store.notices.recordAttempt(notice, attempt('delivered', 200), { state: 'delivered', next_attempt_at: NOON });
    await store.notices.redeliverNotices([notice.id], NOON, auditOf('replay notice'));
    const proposal = {
      id: 'move',
      merchant_id: MERCHANT,
      move: {},
      reason: 'why',
      proposed_by: 'ben',
      proposed_at: NOON,
    };
    const open = { state: 'waiting', decided_by: null, decided_at: null } as const;
    await store.moves.saveProposal({ ...proposal, ...open, expires_at: NOON + 1 }, null);
    await store.moves.saveProposal({ ...proposal, ...open, id: 'expired', expires_at: NOON }, null);
    const ramp = { steps: [100], soak_ms: 60_000, min_sales: 3, approved_by: null };
    const [first] = newBulk('').items;
    for (const [id, change] of [
      ['ramp', {}],
      ['one', { items: first === undefined ? [] : [first] }],
      ['expired', { created_at: NOON - 1 }],
      ['approved', { state: 'running' }],
    ] as const)
      await store.moves.saveBulkMove(newBulk(id, { ramp, state: 'proposed', ...change }), null, null);
    const standing = { merchant_id: MERCHANT, subject: '', count: 1, since: NOON, sample: null, why: null };
    expect(await store.incidents.conditions(LIMITS)).toEqual([
      { ...standing, kind: 'safety_stop', subject: 'qr', sample: 'exchange', why: 'Nine of fifty.' },
      { ...standing, kind: 'create_in_doubt', sample: doubt.legacy_id },
      { ...standing, kind: 'paid_unacknowledged', sample: unknown },
      { ...standing, kind: 'notices_stuck' },
      { ...standing, kind: 'move_waiting', sample: 'move' },
      { ...standing, kind: 'move_waiting', merchant_id: '', subject: 'ramp', count: 2, sample: 'ramp' },
      { ...standing, kind: 'move_waiting', subject: 'one', sample: 'one' },
    ]);
  });

  it('count paid sales and stuck notices so far and no further, and other work runs meanwhile', async () => {
    const link = await finished(store);
    const order = { id: orderId(1), status: 'processed' };
    await store.links.saveLink(link, { order }, { notices: [newNotice(link, 'x')] });
    const found = await store.incidents.conditions(LIMITS);
    expect(found).toMatchObject([{ count: 1, sample: link.legacy_id }, { count: 1 }]);
    const copy = (table: string, columns: string, ids: string[], from: number, to: number) => {
      const names = namesIn(columns);
      const values = names.map((name) => (ids.includes(name) ? `${name} || n` : name === 'sequence' ? 'n' : name));
      return harness.sql(`WITH RECURSIVE copy (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM copy WHERE n < ${to})
        INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table}, copy WHERE ${table}.legacy_id = '${link.legacy_id}'
        ${table === 'notices' ? 'AND sequence = 1' : ''}`);
    };
    await copy('notices', NOTICE, ['id'], 2, MOST_COUNTED - 1);
    expect(await store.incidents.conditions(LIMITS)).toMatchObject([{ count: 1 }, { count: MOST_COUNTED - 1 }]);
    await copy('notices', NOTICE, ['id'], MOST_COUNTED, MOST_COUNTED + 9);
    await copy('links', LINK, ['legacy_id', 'order_id', 'idempotency_key'], 1, MOST_COUNTED);
    await harness.sql(`INSERT INTO link_states (legacy_id, revision, at, state, legacy_state, order_status)
      SELECT legacy_id, 99, 0, 'DONE', 'FINISHED', 'processed' FROM links`);
    const other = await finished(store, { merchant_id: OTHER_MERCHANT });
    await store.links.saveLink(other, {}, { notices: [newNotice(other, 'x', { created_at: NOON - 1 })] });
    let is_held_up = true;
    setImmediate(() => {
      is_held_up = false;
    });
    const many = await store.incidents.conditions(LIMITS);
    expect(is_held_up).toBe(false);
    expect(many).toMatchObject([
      { kind: 'paid_unacknowledged', merchant_id: MERCHANT, count: MOST_COUNTED, since: NOON },
      { kind: 'notices_stuck', merchant_id: MERCHANT, count: MOST_COUNTED, since: NOON },
      { kind: 'notices_stuck', merchant_id: OTHER_MERCHANT, count: 1, since: NOON - 1 },
    ]);
    expect(await store.incidents.paidUnacknowledgedOf(MERCHANT, NOON, NOON - 9)).toMatchObject({ count: MOST_COUNTED });
  });

  it('go when they are closed and old, or with their merchant', async () => {
    const [old, young, open] = [newIncident(), newIncident({ subject: 'b' }), newIncident({ subject: 'c' })];
    for (const incident of [old, young, open]) await store.incidents.noteIncident(incident, ['ops']);
    await store.incidents.closeIncident(old.id, NOON, 'puente', null);
    await store.incidents.closeIncident(young.id, NOON + 1, 'puente', null);
    const never = { links_before: 0, events_before: 0, sums_before: 0, tokens_before: 0 };
    expect(await store.upkeep.tidyOld({ ...never, notices_before: NOON + 1 }, 9)).toMatchObject({ notices: 1 });
    expect((await all()).map(({ subject }) => subject).toSorted()).toEqual(['b', 'c']);
    expect((await store.incidents.alertsOf('ops')).waiting).toBe(3);
    await store.upkeep.eraseMerchant(MERCHANT, (gone) => auditOf('erase', { ...gone }));
    expect([await all(), (await store.incidents.alertsOf('ops')).waiting]).toEqual([[], 0]);
  });
}
