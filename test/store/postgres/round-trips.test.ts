/** Round trips of a create to a database server: each sequential query delays the till. */
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { createIntent } from '../../../src/proxy/point/create.ts';
import { getIntent } from '../../../src/proxy/point/read.ts';
import { byIntent, chooseLane, type Lane } from '../../../src/proxy/routing/lane.ts';
import { slotOf } from '../../../src/proxy/sales/link.ts';
import { inOneTransaction, openPool, withConnection } from '../../../src/store/postgres/pool.ts';
import { callOf, createStand, creates, meetMerchant, TOKEN } from '../../proof/stand.ts';
import { MERCHANT, NOON, newSale, TERMINAL } from '../contract/harness.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

const SLOT = slotOf('point', TERMINAL);

describe('on a server', () => {
  const stand = createStand();
  let server: Server;
  let store: Store;
  const asked = vi.spyOn(pg.Pool.prototype, 'connect');
  const sent = vi.spyOn(pg.Client.prototype, 'query');

  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    asked.mockRestore();
    sent.mockRestore();
    await server.remove();
  });
  beforeEach(async () => {
    await stand.reset();
    store = await openStore(await server.database());
    await meetMerchant({ store, ports: stand.ports, now: NOON });
    stand.restart({ store });
    asked.mockClear();
    return () => store.close();
  });

  async function create(): Promise<number> {
    stand.answers = [creates()];
    const lane = await laneOf();
    if (lane.lane !== 'orders') throw new Error(`the lane is ${lane.lane}`);
    const answer = await createIntent(stand.ports, callOf(stand, 'point.create_intent', { merchant: lane.merchant }));
    return answer.kind === 'answer' ? answer.status : 0;
  }

  const laneOf = (): Promise<Lane> =>
    chooseLane(stand.ports, TOKEN, { kind: 'slot', slot: SLOT, work: 'sale' }, 'intents');

  it('a create asks three times: whose it is and where it goes, its row, its end', async () => {
    expect(await create()).toBe(201);
    expect(asked).toHaveBeenCalledTimes(3);
    expect(await store.history.linksOf(MERCHANT, 0, Number.MAX_SAFE_INTEGER, 10)).toMatchObject([{ state: 'LIVE' }]);
  });

  it('the statements of a commit are one query, without BEGIN and COMMIT', async () => {
    sent.mockClear();
    expect(await create()).toBe(201);
    const queries: unknown[] = sent.mock.calls.map(([query]) => query);
    expect(queries.filter((query) => query instanceof pg.Query)).toHaveLength(2);
    expect(queries.filter((query) => typeof query === 'string' && !query.startsWith('SET'))).toEqual([]);
  });

  it('a statement with the name of another is refused, with all of its transaction', async () => {
    const pool = openPool(await server.database(), {
      connections: 1,
      connect_timeout_ms: 9_000,
      statement_timeout_ms: 9_000,
    });
    const run = (...texts: string[]) =>
      withConnection(pool, (client) =>
        inOneTransaction(
          client,
          texts.map((text) => ({ name: 'one', text, values: [] })),
        ),
      );
    await run('CREATE TABLE one (id INTEGER)').catch(() => undefined);
    await expect(run('INSERT INTO one VALUES (1)', 'INSERT INTO one VALUES (2)')).rejects.toThrow(/must be unique/);
    expect((await pool.query('SELECT id FROM one')).rows).toEqual([]);
    await pool.end();
  });

  it('a read of a sale that is over asks once; the first one also writes that its till has heard of it', async () => {
    await create();
    const [link] = await store.history.linksOf(MERCHANT, 0, Number.MAX_SAFE_INTEGER, 1);
    if (link === undefined) throw new Error('no sale was opened');
    await store.links.saveLink(link, { state: 'DONE', legacy_state: 'FINISHED' });
    const path = { intent_id: link.legacy_id };
    const read = async () => {
      asked.mockClear();
      const lane = await chooseLane(stand.ports, TOKEN, byIntent(stand.ports, path), 'intents');
      if (lane.lane !== 'orders') throw new Error(`the lane is ${lane.lane}`);
      const call = callOf(stand, 'point.get_intent', { merchant: lane.merchant, link: lane.link, path });
      expect(await getIntent(stand.ports, call)).toMatchObject({ status: 200, body: { state: 'FINISHED' } });
      return asked.mock.calls.length;
    };
    expect([await read(), await read()]).toEqual([2, 1]);
  });

  it('a unit that legacy holds is seen in the first of them', async () => {
    await store.legacy_sales.openLegacySale(newSale({ state: 'IN_DOUBT' }));
    const seen = await store.merchants.merchantWithToken(MERCHANT, stand.ports.vault.fingerprint(TOKEN), {
      slot: SLOT,
      now: NOON,
    });
    expect(seen).toMatchObject({ is_free: false, accepted_until: expect.any(Number) });
    expect(await laneOf()).toMatchObject({ lane: 'legacy', stage: 'orders' });
  });
});
