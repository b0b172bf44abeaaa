/** The fleet board's decisions: pulses of both lanes over an hour, drains, merchants that need attention, pages. */
import { describe, expect, it } from 'vitest';
import {
  type Beside,
  createPulses,
  fleetLine,
  fleetQuery,
  PULSE_MS,
  selectLines,
  totalsOf,
} from '../../../src/ops/fleet/line.ts';
import type { CallSeen } from '../../../src/proxy/records/evidence.ts';
import { merchantSettings, type Stage } from '../../../src/proxy/routing/merchant.ts';

const NOON = 1_767_614_400_000;
const MINUTE_MS = 60_000;
const RULES = { merchants: { stage: 'legacy' as const }, routing: { canary_salt: 'salt' } };

function call(change: Partial<CallSeen> = {}): CallSeen {
  return {
    sequence: 1,
    at: NOON,
    merchant_id: '1',
    operation: null,
    legacy_id: null,
    lane: 'orders',
    outcome: 'ok',
    duration_ms: 40,
    ...change,
  };
}

function line(id: string, stage: Stage, beside: Partial<Beside> = {}, kinds = {}) {
  const settings = merchantSettings.parse({ stage, share: stage === 'canary' ? 10 : 0, kinds });
  const sealed = { sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null };
  const merchant = { id, site: 'MLA', settings, ...sealed, trips: {}, revision: 1, updated_at: NOON };
  const health = { legacy: null, orders: null };
  return fleetLine(RULES, merchant, {
    health,
    open: undefined,
    readiness: null,
    last_incident: null,
    waiting_moves: 0,
    ...beside,
  });
}

const open = (orders: number, legacy: number) => ({
  open: { merchant_id: '', orders, legacy, in_doubt: 0, notices_pending: 0 },
});

describe('a pulse', () => {
  it('counts calls, faults and waits of each lane over the last hour', () => {
    const pulses = createPulses();
    for (let nth = 0; nth < 99; nth++) pulses.add(call({ at: NOON - nth * 1_000, duration_ms: 40 }));
    pulses.add(call({ outcome: 'fault', duration_ms: 5_000 }));
    pulses.add(call({ lane: 'legacy', outcome: 'business' }));
    pulses.add(call({ merchant_id: null }));
    pulses.add(call({ merchant_id: '2' }));
    const { legacy, orders } = pulses.of('1', NOON);
    expect(orders).toMatchObject({ calls: 100, per_minute: 1.67, faults: 1, fault_share: 1 });
    expect(orders?.p50_ms).toBeGreaterThanOrEqual(40);
    expect(orders?.p50_ms).toBeLessThan(46);
    expect(orders?.p99_ms).toBeLessThan(46);
    expect(orders?.trend).toHaveLength(20);
    expect(orders?.trend.at(-1)).toBeGreaterThan(0);
    expect(legacy).toMatchObject({ calls: 1, faults: 0 });
    expect(pulses.of('3', NOON)).toEqual({ legacy: null, orders: null });
  });

  it('leaves out what has left the hour, and lets go of it', () => {
    const pulses = createPulses();
    pulses.add(call({ at: NOON }));
    const later = NOON + PULSE_MS - 4 * MINUTE_MS;
    expect(pulses.of('1', later).orders?.calls).toBe(1);
    pulses.trim(later);
    expect(pulses.of('1', later).orders?.calls).toBe(1);
    pulses.trim(NOON + PULSE_MS);
    expect(pulses.of('1', later).orders).toBeNull();
  });
});

describe('a line', () => {
  it('drains the lane that new work of every kind has left, and a canary none', () => {
    expect(line('1', 'legacy', open(2, 1)).draining).toEqual({ lane: 'orders', open: 2 });
    expect(line('1', 'orders', open(2, 1)).draining).toEqual({ lane: 'legacy', open: 1 });
    expect(line('1', 'canary', open(2, 1)).draining).toBeNull();
    expect(line('1', 'legacy', open(2, 1), { qr: { stage: 'orders', share: 0 } }).draining).toBeNull();
    expect(line('1', 'legacy', open(0, 3)).draining).toBeNull();
  });

  it('names the kinds of work that go elsewhere than the merchant', () => {
    expect(line('1', 'shadow', {}, { qr: { stage: 'canary', share: 5 } }).apart).toEqual([
      { kind: 'qr', stage: 'canary', share: 5 },
    ]);
    expect(line('1', 'canary').apart).toEqual([]);
  });
});

describe('a selection', () => {
  const judged = (verdict: 'ready' | 'blocked') => ({
    readiness: { verdict, blockers: 1, first: null, first_said: null, at: '' },
  });
  const lines = [
    line('700100300', 'legacy'),
    line('700100200', 'shadow', judged('blocked')),
    line('700100400', 'orders', { ...judged('ready'), waiting_moves: 1 }),
    line('800100500', 'legacy', judged('blocked')),
  ];
  const select = (query: Record<string, unknown>) => selectLines(lines, fleetQuery.parse(query));
  const ids = (query: Record<string, unknown>) => select(query).merchants.map(({ merchant_id }) => merchant_id);

  it('shows first what wants to be looked at, and a blocked merchant that nobody has moved does not', () => {
    expect(ids({})).toEqual(['700100200', '700100400', '700100300', '800100500']);
    expect(ids({ attention: 'true' })).toEqual(['700100200', '700100400']);
    expect(lines.map(({ attention }) => attention)).toEqual([[], ['blocked'], ['waiting_move'], []]);
    expect(totalsOf(lines)).toEqual({
      merchants: 4,
      stages: { legacy: 2, shadow: 1, canary: 0, orders: 1 },
      readiness: { ready: 1, blocked: 2, inconclusive: 0, unjudged: 1 },
      stopped: 0,
      attention: 2,
    });
  });

  it('finds by part of an id, by stage and by verdict', () => {
    expect(ids({ search: ' 7001 ', sort: 'merchant' })).toEqual(['700100200', '700100300', '700100400']);
    expect(ids({ stage: 'legacy' })).toEqual(['700100300', '800100500']);
    expect(ids({ readiness: 'unjudged' })).toEqual(['700100300']);
    expect(ids({ readiness: 'blocked', sort: 'stage' })).toEqual(['800100500', '700100200']);
  });

  it('turns the order around but for equals, and pages through all of them once', () => {
    expect(ids({ sort: 'merchant', order: 'reversed' })[0]).toBe('800100500');
    const pages = [1, 2, 3].map((page) => select({ sort: 'merchant', per_page: 2, page }));
    expect(pages.map(({ page, pages: all, found }) => [page, all, found])).toEqual([
      [1, 2, 4],
      [2, 2, 4],
      [2, 2, 4],
    ]);
    expect(select({ search: 'nobody' })).toEqual({ found: 0, page: 1, pages: 1, merchants: [] });
  });
});
