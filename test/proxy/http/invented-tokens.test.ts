/** A token that only names a merchant: its calls do not count for the merchant, and it sees nothing of the merchant. */
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Readiness } from '../../../src/ops/readiness/facts.ts';
import {
  type Answer,
  ARGENTINA,
  type Bench,
  BRAZIL,
  type Call,
  CHILE,
  DEVICE,
  eventually,
  MEXICO,
  POINT,
  startBench,
} from '../../kit.ts';
import { type Kept, keptExchanges, seed } from '../../ops/seed.ts';
import { rawRequest } from './raw.ts';

const NOW = Date.now();
const HOUR_MS = 3_600_000;
const drill = { id: 'd1', from: NOW - HOUR_MS, until: NOW + HOUR_MS, reason: 'a drill', aborted_at: null };
const deprecation = { deprecated_at: 1_700_000_000_000, sunset_at: 1_800_000_000_000, link: null };
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
const inventedOf = (merchant: string): string => `APP_USR-6666666-666666-${'f'.repeat(32)}-${merchant}`;

let bench: Bench;
let data_dir: string;
beforeAll(async () => {
  const settings = await seed({
    [ARGENTINA]: { stage: 'orders', safety_stop: 'armed' },
    [BRAZIL]: { stage: 'shadow', deprecation, capture: true, unknown_endpoint: 'refuse' },
    [MEXICO]: { stage: 'legacy', brownouts: [drill] },
    [CHILE]: { stage: 'legacy' },
  });
  data_dir = settings.PUENTE_DATA_DIR ?? '';
  bench = await startBench({ ...settings, PUENTE_SAFETY_MIN_SAMPLE: '3', PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
});
afterEach(() => bench.control('/faults', { method: 'DELETE' }));
afterAll(async () => {
  await bench.close();
  rmSync(data_dir, { recursive: true, force: true });
});

async function kept<Done>(count: number, work: () => Promise<Done>): Promise<{ done: Done; exchanges: Kept[] }> {
  const known = new Set(keptExchanges(data_dir).map(({ id }) => id));
  const done = await work();
  const exchanges = await eventually(
    async () => keptExchanges(data_dir).filter(({ id }) => !known.has(id)),
    (fresh) => fresh.length === count,
  );
  return { done, exchanges };
}

async function asStranger(merchant: string, path: string, options: Call = {}): Promise<{ answer: Answer; one: Kept }> {
  const { done, exchanges } = await kept(1, () => bench.till(path, { ...options, token: inventedOf(merchant) }));
  return { answer: done, one: exchanges[0] as Kept }; // waited for
}

/** Disconnects while legacy has the call and does not answer. */
async function sendAndLeave(bytes: Buffer): Promise<void> {
  const fault = { method: 'POST', path: '/point/*', kind: 'no_answer' };
  await bench.control('/faults', { method: 'DELETE' });
  await bench.control('/faults', { body: fault });
  const { hostname, port } = new URL(bench.app.public_url);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  await eventually(
    async () => (await bench.control('/faults')).text,
    (text) => text.includes('"acted":1'),
  );
  socket.destroy();
}

function rowsOf(table: 'seen_units' | 'unknowns' | 'tokens', merchant: string): unknown[] {
  const database = new Database(join(data_dir, 'puente.db'), { readonly: true });
  try {
    return database.prepare(`SELECT * FROM ${table} WHERE merchant_id = ?`).all(merchant);
  } finally {
    database.close();
  }
}

async function readiness(merchant: string): Promise<Pick<Readiness, 'verdict' | 'unproven' | 'operations'>> {
  const { verdict, unproven, operations } = (await bench.ops(`/api/merchants/${merchant}/readiness`)).body as Readiness; // the API's own form
  return { verdict, unproven, operations };
}

describe('nothing counts for whom an invented token names', () => {
  it('faults of asking whose it is trip no safety stop', async () => {
    await kept(1, () => bench.till(INTENTS, { body: { amount: 1500 } }));
    const fault = { method: 'GET', path: '/users/me', kind: 'error', status: 400, times: 'always' };
    await bench.control('/faults', { body: fault });
    for (let call = 0; call < 5; call++) {
      const { answer, one } = await asStranger(ARGENTINA, INTENTS, { body: { amount: 1500 } });
      expect([answer.status, one.outcome, one.merchant_id]).toEqual([503, 'fault', null]);
    }
    const { body } = await bench.ops(`/api/merchants/${ARGENTINA}/safety`);
    expect(body).toMatchObject({ mode: 'armed', trips: [], now: [{ calls: 1, faults: 0 }] });
  });

  it('one that is refused, and one that hangs up before it is, change no verdict, no unit, no name', async () => {
    await kept(1, () => bench.till(INTENTS, { merchant: BRAZIL, body: { amount: 1500 } }));
    const before = await readiness(BRAZIL);
    const evil = { amount: 'none', evil_field: 1 };
    const refused = await asStranger(BRAZIL, `${POINT}/devices/ATTACK/payment-intents`, { body: evil });
    expect(refused.one).toMatchObject({ merchant_id: null, outcome: 'auth', shadow: null, messages: null });
    const headers = [`authorization: Bearer ${inventedOf(BRAZIL)}`, 'content-type: application/json'];
    const { exchanges } = await kept(3, async () => {
      const bytes = rawRequest(`POST ${POINT}/devices/ATTACK/payment-intents`, headers, JSON.stringify(evil));
      for (let call = 0; call < 3; call++) await sendAndLeave(bytes);
    });
    for (const one of exchanges) {
      expect(one).toMatchObject({ merchant_id: null, status: 499, outcome: 'fault', shadow: null, messages: null });
    }
    await asStranger(BRAZIL, '/evil/endpoint');
    expect(await readiness(BRAZIL)).toEqual(before);
    expect(rowsOf('seen_units', BRAZIL)).toMatchObject([{ slot: `point:${DEVICE}` }]);
    expect(rowsOf('unknowns', BRAZIL)).toEqual([]);
  });
});

describe('what counts', () => {
  it('on legacy, from the first call that legacy has done: what it refused before may be anybody’s', async () => {
    const of = async (path: string): Promise<unknown> =>
      (await kept(1, () => bench.till(path, { merchant: CHILE }))).exchanges[0]?.merchant_id;
    const unknown = `${POINT}/payment-intents/019539a0-0000-7000-8000-00000000dead`;
    expect(await of(unknown)).toBeNull();
    expect(await of(`${POINT}/devices`)).toBe(CHILE);
    expect(await of(unknown)).toBe(CHILE);
    // No identity call was made: on legacy, upstream belongs to no merchant.
    expect(keptExchanges(data_dir).filter((one) => one.merchant_id === CHILE)).toHaveLength(2);
    expect(rowsOf('tokens', CHILE)).toEqual([]);
  });

  it('in shadow, also a first call that legacy refuses: the upstream is asked off the path', async () => {
    const { exchanges } = await kept(1, () => bench.till(INTENTS, { merchant: BRAZIL, body: { amount: 'none' } }));
    expect(exchanges[0]).toMatchObject({ merchant_id: BRAZIL, status: 400, shadow: { verdict: 'refused_here' } });
    expect(exchanges[0]?.messages).not.toBeNull();
  });
});

describe('nothing of a merchant shows to an invented token', () => {
  it('neither what is going away, nor that unknown endpoints are refused', async () => {
    const { answer } = await asStranger(BRAZIL, `${POINT}/devices`);
    expect([answer.status, answer.headers.deprecation, answer.headers.sunset]).toEqual([401, undefined, undefined]);
    const { done } = await kept(1, () => bench.till(`${POINT}/devices`, { merchant: BRAZIL }));
    expect(done.headers.deprecation).toBe('@1700000000');
    const endpoint = await asStranger(BRAZIL, '/users/700100300/stores/search');
    expect(endpoint.one.upstream?.map(({ name }) => name)).toContain('legacy');
    const { done: own } = await kept(1, () => bench.till('/users/700100300/stores/search', { merchant: BRAZIL }));
    expect(own.body).toMatchObject({ message: 'Action not supported' });
  });

  it('nor a brown-out, which refuses the first call of the merchant’s own token', async () => {
    const { answer } = await asStranger(MEXICO, INTENTS, { body: { amount: 1500 } });
    expect([answer.status, answer.headers['retry-after']]).toEqual([401, undefined]);
    const { done: own } = await kept(1, () => bench.till(INTENTS, { merchant: MEXICO, body: { amount: 1500 } }));
    expect([own.status, own.headers['retry-after']]).toEqual([503, '60']);
  });

  it('a brown-out refuses nobody while nobody can say whose the token is', async () => {
    const fault = { method: 'GET', path: '/users/me', kind: 'error', status: 503, times: 'always' };
    await bench.control('/faults', { body: fault });
    const { answer } = await asStranger(MEXICO, `${POINT}/devices`);
    expect(answer.status).toBe(401);
  });
});
