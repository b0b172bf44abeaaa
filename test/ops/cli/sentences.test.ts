/** Sentences of reconcile, sales, the audit chain, decommission and moves: each form of them in a golden file. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readinessFaces } from '../../../src/ops/cli/evidence.ts';
import { reconcileFaces } from '../../../src/ops/cli/files.ts';
import { brownoutFaces, bulkFaces, moveFaces, safetyFaces, stageFaces } from '../../../src/ops/cli/moves.ts';
import { rampFaces } from '../../../src/ops/cli/ramps.ts';
import type { AnyFaces, Given } from '../../../src/ops/cli/rows.ts';
import { auditFaces, incidentFaces, traceFaces } from '../../../src/ops/cli/sales.ts';

const faces: AnyFaces = {
  ...{ ...auditFaces, ...brownoutFaces, ...bulkFaces, ...incidentFaces, ...moveFaces, ...rampFaces },
  ...{ ...readinessFaces, ...reconcileFaces, ...safetyFaces, ...stageFaces, ...traceFaces },
};
const SALE = '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10';
const at = '2026-01-31T09:00:00.000Z';
const of = { merchant_id: '700100200', merchant_name: 'Café Sur', unit: 'PAX_1', legacy_id: SALE, order_id: 'ORD1' };
const done = { checked: 9, unreadable: 0, mismatches: 0, repaired: 0, left_out: false };
const stale = { ...of, kind: 'stale', what: 'The order has moved on.', said: null, repair: 'read', repaired: false };
const unread = (count: number) => Array.from({ length: count }, (_, nth) => ({ ...of, legacy_id: `sale-${nth}` }));
const sale = {
  ...{ merchant: '700100200', merchant_name: 'Café Sur', lane: 'orders', family: 'point', unit: 'PAX_1' },
  ...{ legacy_id: SALE, client_reference: 'mesa 4', amount: '15.00', currency: 'ARS', state: 'paid', created_at: at },
};
const disagreement = { kind: 'approvals', what: 'The order is processed.', said: null, is_acknowledged: false };
const head = { sequence: 7, hash: 'f'.repeat(64) };
const item = { merchant_id: '700100200', merchant_name: 'Café Sur', state: 'refused', at, detail: 'not ready' };
const bulk = { id: SALE, state: 'done', summary: '1 refused', detail: '1 refused', per_day: 20, items: [item] };
const use = {
  ...{ merchant_id: '700100200', name: 'Café Sur', why: 'It was called lately.', quiet_days_needed: 7 },
  ...{ open_on_legacy: 2, last_legacy_day: '2026-01-30', quiet_days: 1, may_go: false, units: [] },
  calls: [{ name: 'point.get_intent', calls: 3, last_day: '2026-01-30' }],
};

const named = { merchant_id: '700100200', merchant_name: 'Café Sur' };
const on = { stage: 'legacy', intended: 'legacy', share: 0, trip: null };
const in_force = { devices: on, intents: on, qr: on };
const moved = { id: '700100200', name: 'Café Sur', revision: 3, in_force };
const touched = { units_seen: 0, units_now: 0, units_later: 0, calls_a_day: 0, calls_a_day_touched: 0 };
const preview = {
  ...{ changes: [], notes: [], ...touched, open_on_orders: 0, open_on_legacy: 0, worst_difference: null },
  ...{ predicted_refusals: [], units: [] },
};
const judgement = { allowed: true, kind: 'forward', missing: [], needs: 'approval', overridden: false, preview };
const proposed = { ...named, id: SALE, move: { stage: 'canary', share: 5 }, reason: 'week 1', expires_at: at };
const nothing_open = { orders: { units: [] }, legacy: { units: [] }, says: 'Nothing is open on orders.' };
const back = { ...named, ...nothing_open, withdrawn: [], left: [], before: in_force };
const rules = {
  fault_share: 20,
  slow_share: 50,
  slow_ms: 5_000,
  min_sample: 20,
  window_ms: 300_000,
  faults_in_a_row: 5,
};
const line = {
  ...{ sequence: 7, at, who: 'ben', action: 'stage', subject: '700100200', merchant_name: 'Café Sur' },
  ...{ change: 'legacy → shadow', detail: {}, reason: 'week 1' },
};

/** Answers of the API in each form that changes a sentence. */
const told: readonly (readonly [command: string, answer: unknown, fields?: object])[] = [
  ['reconcile', { done, mismatches: [], unread: [] }],
  ['reconcile', { done: { ...done, unreadable: 1, left_out: true }, mismatches: [], unread: unread(1) }],
  ['reconcile', { done: { ...done, mismatches: 1, unreadable: 22 }, mismatches: [stale], unread: unread(22) }],
  ['reconcile', { done, mismatches: [{ ...stale, repaired: true }], unread: [] }, { apply: true }],
  ['sales', { sales: [], next: null, searched_to: null }],
  ['sales', { sales: [], next: '1_a', searched_to: at }],
  ['sales', { sales: [sale, { ...sale, amount: null, legacy_id: null }], next: '1_a', searched_to: null }],
  [
    'sales disagreements',
    {
      ...{ id: SALE, amount: null, currency: 'ARS' },
      disagreements: [],
      newest: 0,
      in_the_way: 'There is nothing to accept.',
    },
  ],
  [
    'sales disagreements',
    { ...{ id: SALE, amount: '15.00', currency: 'ARS' }, disagreements: [disagreement], newest: 7, in_the_way: null },
  ],
  ['audit verify', { intact: true, lines: 0, head: null, expected: null, broken: null }],
  ['audit verify', { intact: true, lines: 1, head, expected: head, broken: null }],
  ['audit verify', { intact: true, lines: 7, head, expected: null, broken: null }],
  [
    'audit verify',
    { intact: false, lines: 1, head, expected: null, broken: { sequence: 2, reason: 'it was changed' } },
  ],
  [
    'audit verify',
    { intact: false, lines: 3, head, expected: null, broken: { sequence: 4, reason: 'it was changed' } },
  ],
  ['decommission', use],
  ['decommission', { ...use, name: null, may_go: true, last_legacy_day: null, calls: [] }],
  ['decommission', []],
  ['bulk show', { ...bulk, next: null }],
  ['bulk show', { ...bulk, detail: 'It waits.', next: 500 }],
  ['bulk list', []],
  ['stage', { ...named, judgement }],
  ['stage', { result: 'proposed', merchant_name: 'Café Sur', proposed, judgement }],
  ['stage', { ...moved, result: 'moved', judgement: { ...judgement, needs: 'nothing' } }],
  ['stage', { ...moved, name: null, result: 'unchanged', judgement: { ...judgement, kind: 'same' } }],
  ['moves show', { ...proposed, judgement: null }],
  ['rollback', { ...back, result: 'rolled_back', withdrawn: [SALE], left: [SALE] }],
  ['rollback', { ...back, result: 'unchanged' }],
  ['safety show', { ...named, mode: 'armed', unseen: null, rules, trips: [], now: [], history: [] }],
  ['safety reset', moved, { kind: 'intents' }],
  ['ramp', [{ ...named, from: 'shadow', steps: ['canary 5 %', 'orders'], judgement }]],
  ['ramps show', { ...named, step: 1, of: 2, now: 'canary 5 %', next: 'orders', since_at: at, conditions: [] }],
  ['brownout abort', { id: SALE, merchants: ['700100200', '700100300'], names: { 700100200: 'Café Sur' } }],
  ['incidents close', { id: SALE, kind: 'mismatch', merchant: '700100200', name: 'Café Sur' }],
  ['incidents close', { id: SALE, kind: 'data_lost', merchant: null, name: null }],
  ['audit list', [line, { ...line, subject: SALE, merchant_name: null }]],
];

it('each form', async () => {
  const text = told.map(([command, answer, fields = {}]) => {
    const given = { row: {}, path: {}, fields, options: {} } as unknown as Given; // the texts read no more
    return `$ puente ${command}\n${faces[command]?.text?.(answer, given)}\n`;
  });
  await expect(text.join('\n')).toMatchFileSnapshot(join(import.meta.dirname, 'golden', 'sentences.txt'));
});
