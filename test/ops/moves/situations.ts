/** Situations of a merchant for the tests of moves: a merchant without evidence, and changes merged over it. */
import type { Facts, MoveTarget, Sample, Situation } from '../../../src/ops/moves/target.ts';
import type { Finding, FindingCode, Readiness } from '../../../src/ops/readiness/facts.ts';
import {
  type Merchant,
  type MerchantSettings,
  merchantSettings,
  type Stage,
} from '../../../src/proxy/routing/merchant.ts';

export const MERCHANT = '700100200';
export const TERMINALS = Array.from(
  { length: 20 },
  (_, nth) => `point:NEWLAND_N950__LOAD${String(nth).padStart(7, '0')}`,
);
/** 2026-11-18, a Wednesday, 12:00 UTC. */
export const NOW = Date.UTC(2026, 10, 18, 12);
export const rules = { merchants: { stage: 'legacy' as Stage }, routing: { canary_salt: 'puente' } };

export function merchantWith(settings: Partial<MerchantSettings> = {}, trips: Merchant['trips'] = {}): Merchant {
  return {
    id: MERCHANT,
    site: 'MLA',
    settings: merchantSettings.parse(settings),
    sealed_notice_url: null,
    sealed_notice_secret: null,
    sealed_credential: null,
    trips,
    revision: 3,
    updated_at: 0,
  };
}

/** `none`: no calls. `shadowed`: enough in shadow. `served`: ready, enough on orders. `blocked`: and a hard blocker. */
export type Evidence = 'none' | 'shadowed' | 'served' | 'blocked';

const calls = (shadow: number, orders: number): Sample => ({ shadow, orders, seen: shadow + orders, calls_a_day: 40 });

export function factsWith(evidence: Evidence, over: Partial<Facts> = {}): Facts {
  const sample = evidence === 'none' ? calls(0, 0) : evidence === 'shadowed' ? calls(30, 0) : calls(30, 30);
  return {
    samples: { devices: sample, intents: sample, qr: { ...sample } },
    units: TERMINALS.map((slot) => ({ slot, calls: 10 })),
    open: [],
    worst_difference: null,
    predicted_refusals: [],
    exchange_sequence: 7,
    ...over,
  };
}

export function findingOf(code: FindingCode, operation: string | null = null): Finding {
  const what = `${code} was found`;
  const said = { code, facts: {} };
  return { code, what, said, command: `puente differences show ${MERCHANT}`, operation, sample: null };
}

export function readinessWith(evidence: Evidence, over: Partial<Readiness> = {}): Readiness {
  const verdict = evidence === 'served' ? 'ready' : evidence === 'blocked' ? 'blocked' : 'inconclusive';
  return {
    merchant_id: MERCHANT,
    merchant_name: null,
    about: 'next_move',
    verdict,
    move: 'a move',
    move_said: { code: 'judged.orders', facts: {} },
    blockers: evidence === 'blocked' ? [findingOf('open_difference')] : [],
    unproven: verdict === 'inconclusive' ? [findingOf('never_seen')] : [],
    acknowledged: [],
    remarks: [],
    operations: [],
    judged_at: new Date(NOW).toISOString(),
    tables_revision: '0123456789ab',
    ...over,
  };
}

export function targetWith(target: Partial<MoveTarget> & Pick<MoveTarget, 'stage'>): MoveTarget {
  return { override: false, ...target };
}

export function situationWith(
  over: Partial<Situation> & Pick<Situation, 'target'>,
  evidence: Evidence = 'none',
): Situation {
  return {
    merchant: merchantWith(),
    person: { name: 'ben', role: 'operator' },
    now: NOW,
    rules,
    settings: { gate: 'enforce', second_approver: false, window: null, min_sample: 20 },
    readiness: readinessWith(evidence),
    facts: factsWith(evidence),
    ...over,
  };
}
