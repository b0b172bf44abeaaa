/** Background calls: evenly spaced over all callers, and paused while upstream requests it. */
import { expect, it } from 'vitest';
import { paceUpstream } from '../../../src/proxy/upstream/client.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';

const CALL: UpstreamCall = {
  name: 'get',
  method: 'GET',
  path: '/v1/orders/x',
  token: new Secret('t'),
  timeout_ms: 1_000,
};
const OK: UpstreamOutcome = { kind: 'answered', status: 200, retry_after_ms: null, body: {} };
const limited = (retry_after_ms: number | null): UpstreamOutcome => ({ ...OK, status: 429, retry_after_ms });

/** An upstream that records the times of its calls, on a clock that only a sleep advances; `set_ms`: its wall clock was set by so much. */
function paced(per_second: number, answers: UpstreamOutcome[] = []) {
  const clock = {
    at: 1_000_000,
    set_ms: 0,
    now: () => clock.at + clock.set_ms,
    monotonic: () => clock.at,
    sleep: async (ms: number): Promise<void> => {
      clock.at += ms;
    },
  };
  const calls: number[] = [];
  const upstream: Upstream = {
    async send() {
      calls.push(clock.at);
      return answers.shift() ?? OK;
    },
  };
  return { upstream: paceUpstream(upstream, per_second, clock), calls, clock };
}

it('a burst goes out evenly spaced, and the first one at once [F31]', async () => {
  const { upstream, calls } = paced(50);
  for (let call = 0; call < 6; call++) await upstream.send(CALL);
  expect(calls.map((at) => at - 1_000_000)).toEqual([0, 20, 40, 60, 80, 100]);
});

it('what comes together shares the pace', async () => {
  const waits: number[] = [];
  const clock = { now: () => 5_000, sleep: async (ms: number) => void waits.push(ms) };
  const upstream = paceUpstream({ send: async () => OK }, 10, clock);
  await Promise.all([upstream.send(CALL), upstream.send(CALL), upstream.send(CALL)]);
  expect(waits).toEqual([100, 200]);
});

it('idle time is not saved up for a burst', async () => {
  const { upstream, calls, clock } = paced(10);
  await upstream.send(CALL);
  clock.at += 60_000;
  for (let call = 0; call < 3; call++) await upstream.send(CALL);
  expect(calls.slice(1).map((at) => at - 1_060_000)).toEqual([0, 100, 200]);
});

it.each([
  ['as long as it says', 5_000, 5_000],
  ['a second when it says nothing', null, 1_000],
  ['a minute at most', 3_600_000, 60_000],
])('a 429 pauses all calls for %s, and calls that start meanwhile are not sent [F19]', async (_name, said, rest_ms) => {
  const { upstream, calls, clock } = paced(10, [limited(said)]);
  await upstream.send(CALL);
  expect(upstream.rests()).toBe(true);
  expect(await upstream.send(CALL)).toEqual({ kind: 'not_sent', cause: 'background calls rest' });
  clock.at = 1_000_000 + rest_ms - 1;
  expect(upstream.rests()).toBe(true);
  clock.at++;
  expect(upstream.rests()).toBe(false);
  expect(await upstream.send(CALL)).toEqual(OK);
  expect(calls).toHaveLength(2);
});

it.each([-3_600_000, -30_000, 3_600_000])(
  'a wall clock that is set by %i ms changes neither the pace nor a pause [F47]',
  async (set_ms) => {
    const { upstream, calls, clock } = paced(10, [OK, limited(30_000)]);
    await upstream.send(CALL);
    clock.set_ms = set_ms;
    await upstream.send(CALL);
    expect(calls.map((at) => at - 1_000_000)).toEqual([0, 100]);
    clock.set_ms = 0;
    expect(upstream.rests()).toBe(true);
    clock.set_ms = 2 * set_ms;
    expect(upstream.rests()).toBe(true);
    clock.at += 30_000;
    expect(upstream.rests()).toBe(false);
  },
);
