/** Permissions on the ops door: every row without a token, with a wrong token, and with each role (F123, F124). */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, describe, expect, it } from 'vitest';
import { membersOf, personOf } from '../../../src/ops/api/access.ts';
import { opsRoutes } from '../../../src/ops/api/api.ts';
import type { Clock } from '../../../src/proxy/clock.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { whenComparisonsSay } from '../../constant-time.ts';
import { ANA, ARGENTINA, BEN, type Bench, call, EVA, OPS_TOKEN, PEOPLE, startBench, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { auditsOf } from '../../proxy/http/till.ts';

/** A wall clock that tests advance; pauses of loops take real time. */
function movedClock(): Clock & { move(duration_ms: number): void } {
  let moved_ms = 0;
  return {
    now: () => Date.now() + moved_ms,
    sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
    move: (duration_ms) => {
      moved_ms += duration_ms;
    },
  };
}

const ZOE = { role: 'approver', token: 'token-of-zoe-who-has-left', expires_at: '2026-01-01T00:00:00Z' };
/** A program with the one role that is apart: it passes one row, and no other. */
const RITA = { name: 'rita', role: 'rollback', token: 'token-of-rita-the-alertmanager' } as const;
const TOO_LOW = { viewer: [RITA], operator: [ANA, RITA], approver: [ANA, BEN, RITA], rollback: [ANA] } as const;
const WRONG = { code: 'refusal.token_wrong', facts: {} };

describe('every row', () => {
  const clock = movedClock();
  const rita = { role: RITA.role, token: RITA.token };
  const people = { ...JSON.parse(PEOPLE.PUENTE_OPS_TOKENS), zoe: ZOE, rita };
  const bench = openForAll(() => startBench({ PUENTE_OPS_TOKENS: JSON.stringify(people) }, { clock }));

  it.each(opsRoutes.map((row) => ({ ...row, name: `${row.method} ${row.path}` })))(
    '$name needs a token, and the role $role [F123 P16]',
    async ({ method, path, role, command }) => {
      clock.move(60_000);
      const url = bench.app.ops_url + path.replace(/:\w+/g, '1');
      const body = method === 'GET' ? {} : { body: {} };
      const expired = { code: 'refusal.token_expired', facts: { name: 'zoe', expired_at: '2026-01-01T00:00:00.000Z' } };
      for (const [token, said] of [
        [null, { code: 'refusal.token', facts: {} }],
        ...['wrong', `${EVA.token}x`, OPS_TOKEN.slice(1), tokenOf(ARGENTINA)].map((one) => [one, WRONG] as const),
        [ZOE.token, expired],
      ] as const) {
        const answer = await call(url, { method, token, ...body });
        expect([token, answer.status, answer.body]).toEqual([
          token,
          401,
          {
            error: 'unauthorized',
            message: expect.stringContaining('PUENTE_OPS_TOKEN'),
            said: [said],
          },
        ]);
      }
      for (const person of TOO_LOW[role]) {
        const answer = await call(url, { method, token: person.token, ...body });
        expect([person.name, answer.status, answer.body]).toEqual([
          person.name,
          403,
          {
            error: 'forbidden',
            message: expect.stringContaining(role),
            said: [{ code: 'refusal.role', facts: expect.objectContaining({ name: person.name, needed: role }) }],
            role: person.role,
            needed: role,
          },
        ]);
        expect((answer.body as { message: string }).message).toContain(command);
      }
      expect(await auditsOf(bench.data_dir)).toEqual([]);
    },
  );

  it('lets the role itself, and the ones above it, pass [P16]', async () => {
    const change = (revision: number) => ({
      method: 'PUT',
      body: { reason: 'agreed', revision, new: true, declined: revision === 1 ? 'finished' : 'error' },
    });
    const path = `${bench.app.ops_url}/api/merchants/${ARGENTINA}`;
    for (const { token } of [ANA, BEN, EVA]) expect((await call(path, { token })).status).toBe(200);
    expect((await call(path, { token: BEN.token, ...change(0) })).status).toBe(200);
    expect((await call(path, { token: EVA.token, ...change(1) })).status).toBe(200);
    expect((await call(path, { token: OPS_TOKEN, ...change(2) })).status).toBe(200);
    expect((await auditsOf(bench.data_dir)).map(({ who }) => who)).toEqual(['ben', 'eva', 'operator']);
  });

  it('answers 401 before it says whether the route exists [F123]', async () => {
    for (const path of ['/api', '/api/', '/api/nothing', '/API/merchants', '/api/%6derchants', '/api//merchants']) {
      expect([path, (await call(bench.app.ops_url + path)).status]).toEqual([path, 401]);
    }
  });
});

describe('tokens', () => {
  let bench: Bench | null = null;
  afterEach(async () => {
    await bench?.close();
    bench = null;
  });

  it('end when the settings say so [F123]', async () => {
    const clock = movedClock();
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const tokens = JSON.stringify({ ana: { role: 'viewer', token: ANA.token, expires_at } });
    bench = await startBench({ PUENTE_OPS_TOKENS: tokens }, { clock });
    const path = `${bench.app.ops_url}/api/merchants`;
    expect((await call(path, { token: ANA.token })).status).toBe(200);
    clock.move(3_600_000);
    expect((await call(path, { token: ANA.token })).status).toBe(401);
    expect((await call(path, { token: OPS_TOKEN })).status, 'the owner stays').toBe(200);
  });

  it('that are wrong too often get 429, and are logged no more; right ones always pass [F123]', async () => {
    const clock = movedClock();
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    bench = await startBench(PEOPLE, { clock, log });
    const path = `${bench.app.ops_url}/api/merchants?access_token=${ANA.token}`;
    const guess = (nth: number) =>
      call(path, { token: `guess-number-${nth}-of-many`, headers: { 'x-forwarded-for': `192.0.2.${nth}` } });
    const statuses: number[] = [];
    for (let nth = 0; nth < 65; nth += 1) statuses.push((await guess(nth)).status);
    expect(statuses).toEqual([...Array(60).fill(401), ...Array(5).fill(429)]);
    const refused = await guess(99);
    expect(refused.body).toMatchObject({ error: 'too_many', message: expect.stringContaining('wait') });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await call(`${bench.app.ops_url}/api/merchants`, { token: BEN.token })).status).toBe(200);
    const told = lines.filter((line) => line.includes('without a known token'));
    expect(told).toHaveLength(60);
    expect(lines.join('')).not.toMatch(/guess-number|token-of/);
    clock.move(60_000);
    expect((await guess(1)).status).toBe(401);
  });

  it('of named people alone leave no other way in', async () => {
    bench = await startBench({ ...PEOPLE, PUENTE_OPS_TOKEN: '' });
    expect(bench.app.ops_token).toBeNull();
    expect((await call(`${bench.app.ops_url}/api/merchants`, { token: OPS_TOKEN })).status).toBe(401);
    expect((await call(`${bench.app.ops_url}/api/merchants`, { token: ANA.token })).status).toBe(200);
  });

  it('are compared by the constant-time comparison alone [F124]', () => {
    const token = new Secret(OPS_TOKEN);
    const members = membersOf({ token, tokens: {} });
    const known = (given: string): boolean => personOf(members, `Bearer ${given}`, 0) !== null;
    expect(whenComparisonsSay(false, () => known(OPS_TOKEN))).toBe(false);
    expect(whenComparisonsSay(true, () => known('another token'))).toBe(true);
    expect([known(OPS_TOKEN), known('another token')]).toEqual([true, false]);
  });

  it('are compared by their digests alone, whatever the header looks like [F124]', () => {
    const members = membersOf({
      token: new Secret(OPS_TOKEN),
      tokens: { ana: { role: 'viewer', token: new Secret(ANA.token), expires_at: 5 } },
    });
    expect(JSON.stringify(members)).not.toMatch(/token-of/);
    expect(personOf(members, `Bearer ${ANA.token}`, 4)).toEqual({ name: 'ana', role: 'viewer' });
    expect(personOf(members, `bearer ${OPS_TOKEN}`, 9)).toEqual({ name: 'operator', role: 'approver' });
    for (const header of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      ANA.token,
      `Basic ${ANA.token}`,
      `Bearer ${ANA.token} `,
      `Bearer ${ANA.token},Bearer ${OPS_TOKEN}`,
      `Bearer ${ANA.token.toUpperCase()}`,
    ]) {
      expect([header, personOf(members, header, 4)]).toEqual([header, null]);
    }
    expect(personOf([], `Bearer ${ANA.token}`, 0)).toBeNull();
  });

  it('are compared in constant time: digests of one length, and with every member, wherever the right one stands [F124]', () => {
    const members = membersOf({
      token: new Secret(OPS_TOKEN),
      tokens: { ana: { role: 'viewer', token: new Secret(ANA.token), expires_at: null } },
    });
    const compared: [number, number][] = [];
    const honest = crypto.timingSafeEqual;
    crypto.timingSafeEqual = (one, other) => {
      compared.push([one.byteLength, other.byteLength]);
      return honest(one, other);
    };
    syncBuiltinESMExports(); // so imports by name call this function too
    try {
      for (const token of [OPS_TOKEN, ANA.token, `${ANA.token}x`, 'x', 'x'.repeat(5_000)]) {
        compared.length = 0;
        personOf(members, `Bearer ${token}`, 0);
        expect([token.length, compared]).toEqual([token.length, members.map(() => [32, 32])]);
      }
    } finally {
      crypto.timingSafeEqual = honest;
      syncBuiltinESMExports();
    }
  });
});
