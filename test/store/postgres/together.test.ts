/** Several stores on one database, as of several processes: no work is given out twice, no unit has two lanes. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startAlerting } from '../../../src/ops/incidents/alerts.ts';
import type { Store } from '../../../src/ops/ports.ts';
import { createProcessMemory } from '../../../src/proxy/process-memory.ts';
import { conditionKinds } from '../../../src/proxy/records/incidents.ts';
import { keepProxiedRefunds } from '../../../src/proxy/routing/legacy-refunds.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { LEASE_SECONDS, SILENT_SECONDS } from '../../../src/store/postgres/leases.ts';
import { clientFor } from '../../../src/store/postgres/pool.ts';
import { rowLock } from '../../../src/store/rows.ts';
import { eventually, startReceiver, tokenOf } from '../../kit.ts';
import { verifyAudit } from '../../ops/audit-chain.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import {
  attempt,
  auditOf,
  busyUnlessFree,
  finished,
  joinUnlessNew,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newEvent,
  newLink,
  newMerchant,
  newNotice,
  newRefund,
  newSale,
  opened,
} from '../contract/harness.ts';
import { withMethods } from '../with-methods.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

describe('stores of several processes', () => {
  let server: Server;
  let url: string;
  let stores: Store[] = [];
  beforeAll(async () => {
    server = await startServer();
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
  afterAll(() => server.remove());

  const open = async (count: number): Promise<Store[]> => {
    url = await server.database();
    stores = await Promise.all(Array.from({ length: count }, () => openStore(url, { connections: 4 })));
    return stores;
  };
  const of = (index: number): Store => {
    const store = stores[index % stores.length];
    if (store === undefined) throw new Error('no store is open');
    return store;
  };

  it('open no second refund although the first is made in the moment in which the second is written', async () => {
    await open(1);
    const link = await finished(of(0));
    const { id, number, payment_id, fingerprint, idempotency_key } = newRefund(link);
    const first = clientFor(url, 5_000, 'test');
    await first.connect();
    try {
      await first.query('BEGIN');
      await first.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [rowLock(link.legacy_id)]);
      await first.query(
        `INSERT INTO refunds (id, number, legacy_id, merchant_id, payment_id, fingerprint, idempotency_key, state,
          refunded_before_minor, created_at, updated_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, 'SENDING', 0, 1, 1, 1)`,
        [id, number, link.legacy_id, link.merchant_id, payment_id, fingerprint, idempotency_key],
      );
      await first.query(`UPDATE refunds SET state = 'DONE'`);
      const second = of(0).refunds.openRefund(newRefund(link), ([earlier]) => earlier ?? 'open');
      const waits = () => server.run(url, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      await eventually(waits, (rows) => rows.length > 0);
      await first.query('COMMIT');
      expect(await second).toMatchObject({ opened: false, refund: { id } });
    } finally {
      await first.end();
    }
  });

  const MADE = { status: 201, body: { id: 77, amount: 2.5, status: 'approved' } };
  it.each([
    ['with the key of its till', { 'x-idempotency-key': 'till-1' }, MADE],
    ['without a key', {}, MADE],
    ['one of which legacy did not answer', { 'x-idempotency-key': 'till-1' }, null],
  ])(
    'record once a refund that legacy was called for by two of them in one moment, %s',
    async (_how, headers, other) => {
      await open(2);
      let arrived = 0;
      const both = Promise.withResolvers<void>();
      const calls = stores.map(async (store, index) => {
        const { legacy_sales } = store;
        // Each has looked for the row of the other before one of them writes its own.
        const openLegacySale: typeof legacy_sales.openLegacySale = async (sale) => {
          if (++arrived === 2) both.resolve();
          await both.promise;
          return legacy_sales.openLegacySale(sale);
        };
        const ports = portsAt(withMethods(store, { openLegacySale }), () => NOON);
        const operation = ports.tables.operations.find(({ name }) => name === 'payments.create_refund');
        if (operation === undefined) throw new Error('there is no such operation');
        const call = { merchant_id: MERCHANT, operation, path: { payment_id: '1234' }, body: { amount: 2.5 }, headers };
        const token = new Secret(tokenOf(MERCHANT));
        await keepProxiedRefunds(
          ports,
          { ...call, token, is_token_refused: false, at: NOON },
          index === 0 ? MADE : other,
        );
      });
      await Promise.all(calls);
      const made = { merchant_id: MERCHANT, since: 0, until: NOON + 1, after: null, limit: 9 };
      expect(await of(0).legacy_sales.legacySalesMade(made)).toMatchObject([
        { legacy_id: '77', state: 'ENDED', amount: '2.5', unproven_token: null },
      ]);
    },
  );

  it('ask legacy in turn, one of them at a time, and not hours later when the clock of the server is set back', async () => {
    await open(2);
    const turn = (index: number) => of(index).legacy_sales.turnToAsk(10_000);
    const waits = (await Promise.all([0, 1, 2, 3].map(turn))).map((wait_ms) => Math.ceil(wait_ms / 10_000));
    expect(waits.toSorted()).toEqual([0, 1, 2, 3]);
    await server.run(
      url,
      `UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 7200000 AS TEXT) WHERE name = 'legacy_turn'`,
    );
    expect(await turn(0)).toBe(0);
    expect(Math.ceil((await turn(1)) / 10_000)).toBe(1);
  });

  it.each(['with', 'without'] as const)(
    'give a reference to one of two sales %s a unit of one moment',
    async (which) => {
      await open(2);
      const without: Partial<Link> = which === 'with' ? {} : { slot: null, family: 'qr' };
      for (let pair = 0; pair < 15; pair++) {
        const told = await Promise.all(
          [0, 1, 2].map((each) => {
            const link = newLink({ unit: `PAX_A910__${pair}_${each}`, reference_sent: `sale-${pair}`, ...without });
            return of(each).links.openLink(link, () => ({ kind: 'open' }));
          }),
        );
        expect(told.map(({ opening }) => opening.kind).toSorted()).toEqual(['open', 'used', 'used']);
      }
    },
  );

  it('open an incident once, and send each alert from one of them', async () => {
    await open(3);
    const receiver = await startReceiver();
    const ops = { url: new Secret(receiver.url), secret: new Secret('secret-of-a-receiver'), kinds: conditionKinds };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const clock = { now: () => NOON, sleep: async () => undefined };
    const policy = { allow_private: true, allow_http: true, ports: [], own_hosts: [] };
    const processes = stores.map((store) => {
      const settings = { moves: { proposal_kept_ms: MINUTE_MS } };
      const ports = { settings, store, clock, log, count() {}, memory: createProcessMemory(clock) };
      return startAlerting(ports, { receivers: { ops }, language: 'en' }, policy, 'Puente');
    });
    const change = { created_at: NOON - 2 * MINUTE_MS };
    for (let unit = 0; unit < 6; unit++)
      await opened(of(unit), { ...change, unit: `PAX_A910__${unit}`, merchant_id: String(700 + unit) });
    for (let round = 0; round < 3; round++) await Promise.all(processes.map((one) => one.look()));
    const sent = await receiver.waitFor(6);
    await Promise.all(processes.map((one) => one.stop()));
    await receiver.close();
    const merchants = sent.map(({ body }) => (body as { incident: { merchant: string } }).incident.merchant);
    expect(merchants.toSorted()).toEqual(['700', '701', '702', '703', '704', '705']);
  });

  it('hand each due link, notice and event to one of them', async () => {
    await open(4);
    for (let unit = 0; unit < 40; unit++) {
      const link = await opened(of(unit), { unit: `PAX_A910__${unit}`, merchant_id: String(700 + (unit % 5)) });
      await of(unit).links.saveLink(link, {}, { notices: [newNotice(link, String(unit))] });
      await of(unit).events.receiveEvent(newEvent({ reference: `ref ${unit}` }));
    }
    const turn = { now: NOON, after_merchant: '', merchants: 9, each: 3, except_merchants: [] };
    const behind = { now: NOON, merchant_id: '701', after: null, limit: 3 };
    const took = await Promise.all(
      stores.map(async (store) => ({
        links: [
          ...(await store.links.dueLinks(NOON + 3_600_000, 7)),
          ...(await store.links.dueLinks(NOON + 3_600_000, 9)),
        ],
        notices: [
          ...(await store.notices.dueNotices(NOON, 5)),
          ...(await store.notices.dueNoticesInTurn(turn)).notices,
          ...(await store.notices.dueNoticesBehind(behind)),
        ],
        events: await store.events.dueEvents(NOON, 40),
      })),
    );
    const owners = new Map<string, Set<number>>();
    for (const [index, { links, notices, events }] of took.entries()) {
      const ids = [
        ...links.map((one) => one.legacy_id),
        ...notices.map((one) => one.id),
        ...events.map((one) => String(one.sequence)),
      ];
      for (const id of ids) owners.set(id, (owners.get(id) ?? new Set()).add(index));
    }
    expect([...owners.values()].filter((who) => who.size > 1)).toEqual([]);
    expect(took.flatMap(({ events }) => events)).toHaveLength(40);
    expect(owners.size).toBeGreaterThan(40 + 28);
  });

  it('hand on what one of them had when it is closed, and not before', async () => {
    const [first, second] = await open(2);
    if (first === undefined || second === undefined) return;
    await first.events.receiveEvent(newEvent());
    expect(await first.events.dueEvents(NOON, 9)).toHaveLength(1);
    expect(await first.events.dueEvents(NOON, 9)).toHaveLength(1);
    expect(await second.events.dueEvents(NOON, 9)).toEqual([]);
    await first.close();
    expect(await second.events.dueEvents(NOON, 9)).toHaveLength(1);
  });

  it('hand on what one of them had when its lease has ended, as after a crash', async () => {
    const [first, second] = await open(2);
    if (first === undefined || second === undefined) return;
    await opened(first);
    expect(await first.links.dueLinks(NOON + 3_600_000, 9)).toHaveLength(1);
    expect(await second.links.dueLinks(NOON + 3_600_000, 9)).toEqual([]);
    await server.run(url, `UPDATE leases SET until = clock_timestamp()`);
    expect(await second.links.dueLinks(NOON + 3_600_000, 9)).toHaveLength(1);
    expect(await first.links.dueLinks(NOON + 3_600_000, 9)).toEqual([]);
  });

  it('hand on what one of them had when it is not heard of any more, long before its leases end', async () => {
    await open(2);
    await of(0).events.receiveEvent(newEvent());
    expect(await of(0).events.dueEvents(NOON, 9)).toHaveLength(1);
    const silent_for = (seconds: number) =>
      server.run(
        url,
        `UPDATE lease_holders SET seen_at = clock_timestamp() - interval '${seconds} seconds'
        WHERE name = (SELECT holder FROM leases)`,
      );
    await silent_for(SILENT_SECONDS - 5);
    expect(await of(1).events.dueEvents(NOON, 9), 'it may only be slow').toEqual([]);
    await silent_for(SILENT_SECONDS + 1);
    expect(await of(1).events.dueEvents(NOON, 9), 'the server may have been away').toEqual([]);
    await server.run(
      url,
      `UPDATE lease_holders SET since = clock_timestamp() - interval '${SILENT_SECONDS + 5} seconds'`,
    );
    expect(await of(1).events.dueEvents(NOON, 9)).toHaveLength(1);
    expect(await of(0).events.dueEvents(NOON, 9)).toEqual([]);
  });

  it('write a lease once for many looks, and again before it ends', async () => {
    await open(1);
    for (let number = 0; number < 3; number++)
      await of(0).events.receiveEvent(newEvent({ reference: `ref ${number}` }));
    const look = async () => {
      expect(await of(0).events.dueEvents(NOON, 3)).toHaveLength(3);
      const leases = `SELECT id, xmin, until > clock_timestamp() + interval '${LEASE_SECONDS - 10} seconds' AS is_fresh FROM leases ORDER BY id`;
      return server.run(url, leases);
    };
    const first = await look();
    expect(first.map(({ is_fresh }) => is_fresh)).toEqual([true, true, true]);
    expect(await look()).toEqual(first);
    await server.run(url, `UPDATE leases SET until = clock_timestamp() + interval '20 seconds' WHERE id = '2'`);
    const renewed = await look();
    expect(renewed[1]).toMatchObject({ is_fresh: true });
    expect([renewed[0], renewed[2]]).toEqual([first[0], first[2]]);
  });

  it('do not merge a hint into one that another has taken', async () => {
    const [first, second] = await open(2);
    if (first === undefined || second === undefined) return;
    await Promise.all([...stores, ...stores].map((store) => store.events.receiveEvent(newEvent())));
    expect(await first.events.dueEvents(NOON, 9)).toHaveLength(1);
    await second.events.receiveEvent(newEvent());
    await first.events.receiveEvent(newEvent());
    expect(await second.events.dueEvents(NOON, 9)).toHaveLength(1);
  });

  it('record one attempt of a notice, and tell the next one of the link whoever tells it', async () => {
    const [first, second] = await open(2);
    if (first === undefined || second === undefined) return;
    const link = await opened(first);
    const saved = await first.links.saveLink(link, {}, { notices: [newNotice(link, '1')] });
    const [notice] = await first.notices.dueNotices(NOON, 9);
    if (notice === undefined) throw new Error('no notice is due');
    const next = { state: 'delivered', next_attempt_at: NOON } as const;
    // A delivery and news of the same link at once: the news must not wait for the delivered notice.
    await Promise.all([
      first.notices.recordAttempt(notice, attempt('delivered', 200), next),
      second.links.saveLink(saved, {}, { notices: [newNotice(link, '2')] }),
    ]);
    await expect(second.notices.recordAttempt(notice, attempt('delivered', 200), next)).rejects.toMatchObject({
      code: 'conflict',
    });
    expect((await second.notices.dueNotices(NOON, 9)).map(({ body }) => body)).toEqual(['2']);
  });

  it('open a unit once, on one lane, however many ask at once', async () => {
    await open(4);
    for (const slot of ['point:A', 'qr:B'] as const) {
      const [family, unit] = slot === 'point:A' ? (['point', 'A'] as const) : (['qr', 'B'] as const);
      const asks = Array.from({ length: 24 }, (_, index) =>
        index % 2 === 0
          ? of(index / 2)
              .links.openLink(newLink({ family, unit }), busyUnlessFree)
              .then(({ opening }) => opening.kind === 'open')
          : of(index)
              .legacy_sales.openLegacySale(
                newSale({ family, unit, slot: family === 'qr' && index % 3 === 0 ? 'qr:*' : slot }),
              )
              .then((holder) => (holder === null ? 'sale' : false)),
      );
      const results = await Promise.all(asks);
      const lanes = new Set(results.filter((result) => result !== false));
      expect(lanes.size).toBe(1);
      if (lanes.has(true)) expect(results.filter((result) => result === true)).toHaveLength(1);
    }
  });

  it('open one of equal sales without a unit', async () => {
    await open(4);
    const dynamic = { family: 'qr', slot: null, fingerprint: 'same' } as const;
    const results = await Promise.all(
      Array.from({ length: 16 }, (_, index) => of(index).links.openLink(newLink(dynamic), joinUnlessNew)),
    );
    expect(results.filter(({ opening }) => opening.kind === 'open')).toHaveLength(1);
    expect(new Set(results.map(({ link }) => link.legacy_id)).size).toBe(1);
  });

  it('write no sale on a lane that its merchant has left', async () => {
    const [first, second] = await open(2);
    if (first === undefined || second === undefined) return;
    let { revision } = await second.merchants.saveMerchant(newMerchant(), 0, auditOf('first'));
    for (let round = 0; round < 15; round++) {
      const unit = `PAX_A910__${round}`;
      const [{ opening, link }, moved] = await Promise.all([
        first.links.openLink(newLink({ unit }), busyUnlessFree, revision),
        second.merchants.saveMerchant(newMerchant(), revision, auditOf(`round ${round}`)),
      ]);
      // In either order: an opened link was opened before the commit of the move.
      const is_written = (await second.links.link(link.legacy_id)) !== null;
      expect(is_written).toBe(opening.kind === 'open');
      revision = moved.revision;
    }
  });

  it('chain one audit, in which no line is seen before an older one', async () => {
    await open(4);
    let [seen, is_over] = [0, false];
    const reading = (async () => {
      for (let was_over = false; !was_over; ) {
        was_over = is_over;
        const page = await of(3).audit.auditsAfter(seen, 100);
        expect(page.map(({ sequence }) => sequence)).toEqual(page.map((_line, nth) => seen + nth + 1));
        seen += page.length;
      }
    })();
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        of(index).merchants.saveMerchant(newMerchant({ id: String(index + 1) }), 0, auditOf(`action ${index}`)),
      ),
    );
    is_over = true;
    await reading;
    expect(seen).toBe(40);
    const lines = await of(0).audit.audits(100);
    expect(lines.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 40 }, (_, index) => 40 - index));
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 40 });
  });

  it('add up the evidence of all, and number it in the order in which it can be read', async () => {
    await open(4);
    const seen: number[] = [];
    let is_over = false;
    const reading = (async () => {
      for (let after = 0; ; ) {
        const was_over = is_over;
        const page = await of(0).exchanges.exchanges({}, after, 100);
        seen.push(...page.map(({ sequence }) => sequence));
        after = page.at(-1)?.sequence ?? after;
        if (was_over && page.length === 0) return;
      }
    })();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        of(index).exchanges.recordExchanges([
          newExchange(),
          newExchange({ unknown: [{ what: 'field', name: randomUUID() }] }),
        ]),
      ),
    );
    is_over = true;
    await reading;
    expect(seen).toHaveLength(40);
    expect(await of(1).evidence.traffic({ merchant_id: MERCHANT })).toMatchObject([{ calls: 40 }]);
    expect(await of(2).evidence.unknowns(MERCHANT)).toHaveLength(20);
  });
});
