/** The breaker in virtual time: calls it blocks during an outage, and how traffic returns (F31, F32, P12). */
import { describe, expect, it } from 'vitest';
import { type BreakerState, createBreaker, withBreaker } from '../../src/proxy/upstream/breaker.ts';
import { NO_FREE_CONNECTION, type UpstreamClient } from '../../src/proxy/upstream/client.ts';
import type { UpstreamCall, UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../src/proxy/vault.ts';

/** As in `config/default.yaml`. */
const SETTINGS = { failures: 20, probe_ms: 1_000, steady_ms: 2_500 };
const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;

interface Run {
  /** Virtual ms of each admitted call, and whether it worked. */
  sent: { at: number; worked: boolean }[];
  offered: number;
  changes: { at: number; state: BreakerState }[];
}

/** Offers calls evenly; each admitted call ends at once and works if upstream works at that time. */
function offer(per_second: number, length_ms: number, works: (at: number) => boolean, settings = SETTINGS): Run {
  let at = 0;
  const run: Run = { sent: [], offered: 0, changes: [] };
  const breaker = createBreaker(
    settings,
    () => at,
    (state) => run.changes.push({ at, state }),
  );
  for (; at < length_ms; at += SECOND_MS / per_second) {
    run.offered++;
    const tell = breaker.admit();
    if (tell === null) continue;
    const worked = works(at);
    run.sent.push({ at, worked });
    tell(worked ? 'success' : 'failure');
  }
  return run;
}

/** The highest number of admitted calls in one second of the interval. */
function busiest({ sent }: Run, from: number, to: number): number {
  const seconds = new Map<number, number>();
  for (const { at } of sent) {
    const second = Math.floor(at / SECOND_MS);
    if (at >= from && at < to) seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  return Math.max(0, ...seconds.values());
}

describe('a breaker', () => {
  it('opens when nothing works, and lets one probe through in its time', () => {
    const run = offer(50, 60 * SECOND_MS, () => false);
    expect(run.changes.map(({ state }) => state)).toEqual(['open']);
    expect(run.changes[0]?.at).toBeLessThanOrEqual(1.5 * SECOND_MS);
    expect(busiest(run, 3 * SECOND_MS, 60 * SECOND_MS)).toBe(1);
  });

  it.each<[string, number, (at: number) => boolean]>([
    ['while one call in fifteen works', 50, (at) => Math.round(at / 20) % 15 === 0],
    ['for a blip that breaks all connections at once', 1_000, (at) => at > 500],
    ["for a quiet shop's failures, two in three seconds", 0.6, () => false],
  ])('stays closed %s', (_name, per_second, works) => {
    const run = offer(per_second, 120 * SECOND_MS, works);
    expect(run.changes).toEqual([]);
    expect(run.sent).toHaveLength(run.offered);
  });

  it('never opens where it is turned off', () => {
    expect(offer(50, 60 * SECOND_MS, () => false, { ...SETTINGS, failures: 0 }).changes).toEqual([]);
  });

  it('an answer that is neither good nor bad moves nothing', () => {
    let at = 0;
    const breaker = createBreaker(SETTINGS, () => at);
    for (; at < 10 * SECOND_MS; at += 50) breaker.admit()?.('neutral');
    expect(breaker.state()).toBe('closed');
  });

  it('a call that began before it opened and fails late does not end the trial', () => {
    let at = 0;
    const breaker = createBreaker(SETTINGS, () => at);
    const slow = Array.from({ length: 10 }, () => breaker.admit());
    for (; at < 2 * SECOND_MS; at += 50) breaker.admit()?.('failure');
    expect(breaker.state()).toBe('open');
    at += SETTINGS.probe_ms;
    breaker.admit()?.('success');
    expect(breaker.state()).toBe('trial');
    for (const tell of slow) tell?.('failure');
    expect(breaker.state()).toBe('trial');
  });

  it.each<[BreakerState, readonly ('success' | 'failure')[]]>([
    ['open', []],
    ['trial', ['success']],
  ])(
    'forgets an outage of before a quiet time: none of the next calls is kept back when it was %s',
    (before, probes) => {
      let at = 0;
      const breaker = createBreaker(SETTINGS, () => at);
      for (; at < 2 * SECOND_MS; at += 50) breaker.admit()?.('failure');
      at += SETTINGS.probe_ms;
      breaker.admit()?.('failure');
      const failed_at = at;
      at += SETTINGS.probe_ms;
      for (const result of probes) breaker.admit()?.(result);
      expect(breaker.state()).toBe(before);
      at = failed_at + 30 * SECOND_MS - 1;
      breaker.admit();
      expect([breaker.isShut(), breaker.admit()], 'a moment earlier one is still in doubt').toEqual([true, null]);
      at++;
      expect([breaker.isShut(), breaker.isShut()]).toEqual([false, false]);
      expect([breaker.admit(), breaker.admit()]).toEqual([expect.any(Function), expect.any(Function)]);
      expect(breaker.state()).toBe('closed');
    },
  );

  it("one failure in a trial, which may be one order's, does not open it again", () => {
    let failed = false;
    const run = offer(20, 30 * SECOND_MS, (at) => {
      if (at < 5 * SECOND_MS) return false;
      if (failed || at < 6.5 * SECOND_MS) return true;
      failed = true;
      return false;
    });
    expect(run.changes.map(({ state }) => state)).toEqual(['open', 'trial', 'closed']);
  });
});

describe('a merchant whose every call fails', () => {
  /** Calls of `broken` fail from the start, those of `other` from `other_fails_at` on. */
  function offerTwo(length_ms: number, other_fails_at: number) {
    let at = 0;
    const let_through: { at: number; who: string }[] = [];
    const changes: BreakerState[] = [];
    const breaker = createBreaker(
      SETTINGS,
      () => at,
      (state) => changes.push(state),
    );
    const offerOf = (who: string, works: boolean): void => {
      const is_shut = breaker.isShut(who);
      const tell = breaker.admit(who);
      expect(tell === null, 'told alike beforehand').toBe(is_shut);
      if (tell === null) return;
      let_through.push({ at, who });
      tell(works ? 'success' : 'failure');
    };
    for (; at < length_ms; at += 20) {
      offerOf('broken', false);
      if (at % 5_000 === 0) offerOf('other', at < other_fails_at);
    }
    const count = (who: string, from: number): number =>
      let_through.filter((call) => call.who === who && call.at >= from).length;
    return { changes, count };
  }

  it('is held back alone: every call of other merchants goes through [F99]', () => {
    const { changes, count } = offerTwo(120 * SECOND_MS, Number.POSITIVE_INFINITY);
    expect(count('other', 0)).toBe(24);
    expect(count('broken', 10 * SECOND_MS), 'a probe a second').toBeLessThanOrEqual(111);
    expect(changes).toEqual(['open']);
  });

  it('all merchants are held back once a call of another one fails, too [F31]', () => {
    const { changes, count } = offerTwo(120 * SECOND_MS, 60 * SECOND_MS);
    expect(changes).toEqual(['open']);
    expect(count('other', 60 * SECOND_MS), 'the one that failed, and perhaps a probe').toBeLessThanOrEqual(2);
    expect(count('other', 0)).toBeGreaterThanOrEqual(13);
  });

  it('is probed alone, and slows down no other merchant [F32 F99]', () => {
    let at = 0;
    const breaker = createBreaker(SETTINGS, () => at);
    const offerOf = (who: string, result: 'success' | 'failure'): boolean => {
      const tell = breaker.admit(who);
      tell?.(result);
      return tell !== null;
    };
    for (; at < 5 * SECOND_MS; at += 20) offerOf('broken', 'failure');
    at += SETTINGS.probe_ms;
    expect(offerOf('broken', 'success')).toBe(true);
    expect(breaker.state()).toBe('trial');
    expect([offerOf('broken', 'success'), offerOf('other', 'success'), offerOf('other', 'success')]).toEqual([
      false,
      true,
      true,
    ]);
    for (; at < 12 * SECOND_MS; at += 20) offerOf('broken', 'success');
    expect(breaker.state()).toBe('closed');
  });
});

const token = new Secret('APP_USR-4004001-112026-invented-700100200');
const read = { name: 'get', method: 'GET', path: '/v1/orders/x', token, timeout_ms: 1 } as const;
const sale = { name: 'create', method: 'POST', path: '/v1/orders', token, timeout_ms: 1 } as const;

describe('an answer', () => {
  const answered = (status: number) => ({ kind: 'answered', status, retry_after_ms: null, body: {} }) as const;
  it.each<[string, UpstreamOutcome, string[]]>([
    ['that a terminal is busy holds no call back, however often it comes', answered(409), []],
    ['that asks for fewer calls, too', answered(429), []],
    ['that a token is refused, too', answered(401), []],
    [
      'that nobody gave, for want of a connection of Puente’s own, too',
      { kind: 'not_sent', cause: NO_FREE_CONNECTION },
      [],
    ],
    ["that is a gateway's page, too [F138]", { kind: 'broken', cause: '404', page: 404 }, []],
    ['that upstream has failed does', answered(503), ['writes open']],
  ])('%s', async (_what, outcome, expected) => {
    let at = 0;
    const changes: string[] = [];
    const client: UpstreamClient = { send: async () => outcome, close: async () => undefined };
    const guarded = withBreaker(
      client,
      SETTINGS,
      (calls, state) => changes.push(`${calls} ${state}`),
      () => at,
    );
    for (; at < 10 * SECOND_MS; at += 50) await guarded.send(sale);
    expect(changes).toEqual(expected);
  });
});

describe('a read that a payment waits for', () => {
  const own = { ...read, for_payment: true };

  it('is sent while only reads are held back, and held back while payments are, too [F31]', async () => {
    let at = 0;
    let works: (method: string) => boolean = (method) => method === 'POST';
    const client: UpstreamClient = {
      send: async ({ method }) => ({
        kind: 'answered',
        status: works(method) ? 200 : 503,
        retry_after_ms: null,
        body: {},
      }),
      close: async () => undefined,
    };
    const changes: string[] = [];
    const guarded = withBreaker(
      client,
      SETTINGS,
      (calls, state) => changes.push(`${calls} ${state}`),
      () => at,
    );
    const offer = async (call: UpstreamCall): Promise<number> => {
      let sent = 0;
      for (const end = at + 10 * SECOND_MS; at < end; at += 50)
        if ((await guarded.send(call)).kind === 'answered') sent++;
      return sent;
    };
    await offer(read);
    expect(changes).toEqual(['reads open']);
    expect(await offer(read), 'probes').toBeLessThanOrEqual(11);
    expect(await offer(own)).toBe(200);
    expect(await offer(sale)).toBe(200);
    expect(changes, 'they tell nothing of payments').toEqual(['reads open']);
    works = () => false;
    await offer(sale);
    expect(changes).toEqual(['reads open', 'writes open']);
    expect(await offer(own), 'probes').toBeLessThanOrEqual(11);
  });
});

describe('an upstream that is down for an hour and comes back', () => {
  const per_second = 20;
  const run = offer(per_second, HOUR_MS + 60 * SECOND_MS, (at) => at >= HOUR_MS);

  it('is sent a probe a second and nothing more, far below what is offered [F31 P12]', () => {
    const down = run.sent.filter(({ at }) => at < HOUR_MS).length;
    expect(down).toBeLessThanOrEqual(HOUR_MS / SETTINGS.probe_ms + 2 * per_second);
    expect(down / run.offered).toBeLessThan(0.1);
  });

  it('gets all calls again within five seconds, and never more than tills offer [F31 P12]', () => {
    expect(run.changes.map(({ state }) => state)).toEqual(['open', 'trial', 'closed']);
    expect(run.changes.at(-1)?.at).toBeLessThanOrEqual(HOUR_MS + 5 * SECOND_MS);
    expect(busiest(run, HOUR_MS, HOUR_MS + 60 * SECOND_MS)).toBeLessThanOrEqual(per_second);
    const last = run.sent.filter(({ at }) => at >= HOUR_MS + 30 * SECOND_MS);
    expect(last.length, 'and then all of it').toBe(30 * per_second);
  });
});

describe('an upstream that flaps every two seconds', () => {
  const FLAPPING_MS = 300 * SECOND_MS;
  const up = (at: number): boolean => at >= FLAPPING_MS || Math.floor(at / (2 * SECOND_MS)) % 2 === 1;
  const run = offer(100, FLAPPING_MS + 30 * SECOND_MS, up);
  const opened_at = run.changes[0]?.at ?? 0;

  it('is probed at a steady pace; the share of admitted calls never swings back to all [F32]', () => {
    expect(opened_at).toBeLessThanOrEqual(2 * SECOND_MS);
    expect(run.changes.filter(({ at, state }) => at < FLAPPING_MS && state === 'closed')).toEqual([]);
    expect(busiest(run, 4 * SECOND_MS, FLAPPING_MS)).toBeLessThanOrEqual(11);
    const wasted = run.sent.filter(({ at, worked }) => at > opened_at && at < FLAPPING_MS && !worked).length;
    expect(wasted, 'five calls in four seconds meet an upstream that is down').toBeLessThanOrEqual((300 / 4) * 5);
  });

  it('gets all calls again within five seconds of working steadily [F32]', () => {
    const closed = run.changes.at(-1);
    expect(closed?.state).toBe('closed');
    expect(closed?.at).toBeLessThanOrEqual(FLAPPING_MS + 5 * SECOND_MS);
  });
});
