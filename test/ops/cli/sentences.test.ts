/** Sentences of reconcile, sales, the audit chain, decommission and moves: each form of them, as it is printed, in a golden file. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, it } from 'vitest';
import { OPS_TOKEN } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';
import { command } from '../moves/command.ts';
import { toldBy, wordsOf } from './golden.ts';

const SALE = '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10';
const at = '2026-01-31T09:00:00.000Z';
const of = { merchant_id: '700100200', merchant_name: 'Café Sur', unit: 'PAX_1', legacy_id: SALE, order_id: 'ORD1' };
const done = {
  news: 'done',
  checked: 9,
  unreadable: 0,
  mismatches: 0,
  repaired: 0,
  open_on_legacy: 0,
  asked_on_legacy: 0,
  ended_on_legacy: 0,
  not_asked: 0,
  left_out: false,
};
const stale = { ...of, kind: 'stale', what: 'The order has moved on.', said: null, repair: 'read' };
const found = (repaired: boolean) => ({ news: 'mismatch', mismatch: stale, repaired });
const unread = (count: number) =>
  Array.from({ length: count }, (_, nth) => ({ ...of, news: 'unread', legacy_id: `sale-${nth}` }));
const sale = {
  ...{ merchant: '700100200', merchant_name: 'Café Sur', lane: 'orders', family: 'point', unit: 'PAX_1' },
  ...{ legacy_id: SALE, client_reference: 'mesa 4', amount: '15.00', currency: 'ARS', state: 'paid', created_at: at },
};
const disagreement = { kind: 'approvals', what: 'The order is processed.', said: null, is_acknowledged: false };
const head = { sequence: 7, hash: 'f'.repeat(64) };
const item = { merchant_id: '700100200', merchant_name: 'Café Sur', state: 'refused', at, detail: 'not ready' };
const bulk = {
  ...{ id: SALE, state: 'done', summary: '1 refused', summary_said: { facts: { refused: 1 } } },
  ...{ detail: '1 refused', per_day: 20, items: [item] },
};
const unit = {
  ...{ unit: 'point:PAX_1', new_work: 'legacy', last_legacy_at: at, last_operation: 'point.get_intent' },
  ...{ quiet_days: 1, open_on_legacy: 2, may_go: false, why: 'It called legacy lately.' },
};
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

/** Commands, and the answer of the ops door in each form that changes a sentence; of a stream each line. */
const told: readonly (readonly [line: string, ...answer: readonly unknown[]])[] = [
  ['reconcile', done],
  ['reconcile', ...unread(1), { ...done, unreadable: 1, left_out: true }],
  ['reconcile --since 2026-01-31T00:00:00Z', found(false), ...unread(22), { ...done, mismatches: 1, unreadable: 22 }],
  ['reconcile --apply --reason "after the outage"', found(true), { ...done, mismatches: 1, repaired: 1 }],
  ['reconcile', { ...done, open_on_legacy: 2 }],
  ['reconcile --apply --reason "the last ones"', { ...done, ended_on_legacy: 1 }],
  ['reconcile --apply --reason "the last ones"', { ...done, ended_on_legacy: 2, open_on_legacy: 1 }],
  ['reconcile --apply --reason "the last ones"', { ...done, open_on_legacy: 3, not_asked: 1 }],
  ['sales', { sales: [], next: null, searched_to: null }],
  ['sales', { sales: [], next: '1_a', searched_to: at }],
  ['sales', { sales: [sale, { ...sale, amount: null, legacy_id: null }], next: '1_a', searched_to: null }],
  [
    `sales disagreements ${SALE}`,
    {
      ...{ id: SALE, amount: null, currency: 'ARS' },
      disagreements: [],
      newest: 0,
      in_the_way: 'There is nothing to accept.',
    },
  ],
  [
    `sales disagreements ${SALE}`,
    { ...{ id: SALE, amount: '15.00', currency: 'ARS' }, disagreements: [disagreement], newest: 7, in_the_way: null },
  ],
  ['audit verify', { intact: true, lines: 0, head: null, expected: null, broken: null }],
  [`audit verify --expect 7:${head.hash}`, { intact: true, lines: 1, head, expected: head, broken: null }],
  ['audit verify', { intact: true, lines: 7, head, expected: null, broken: null }],
  [
    'audit verify',
    { intact: false, lines: 1, head, expected: null, broken: { sequence: 2, reason: 'it was changed' } },
  ],
  [
    'audit verify',
    { intact: false, lines: 3, head, expected: null, broken: { sequence: 4, reason: 'it was changed' } },
  ],
  ['decommission 700100200', use],
  [
    'decommission 700100200',
    {
      ...use,
      ...{
        name: null,
        may_go: true,
        why: 'Nothing of it needs legacy any more.',
        open_on_legacy: 0,
        last_legacy_day: null,
        calls: [],
      },
    },
  ],
  [
    'decommission 700100200',
    {
      ...use,
      units: [
        unit,
        { ...unit, last_operation: null },
        {
          ...unit,
          new_work: 'orders',
          last_legacy_at: null,
          last_operation: null,
          quiet_days: null,
          open_on_legacy: 0,
          may_go: true,
          why: 'It never called legacy.',
        },
      ],
    },
  ],
  ['decommission', { merchants: [] }],
  [`bulk show ${SALE}`, { ...bulk, next: null }],
  [`bulk show ${SALE}`, { ...bulk, detail: 'It waits.', next: 500 }],
  ['bulk list', { bulk_moves: [] }],
  [`stage 700100200 canary --share 5 --dry-run`, { ...named, judgement }],
  [
    'stage 700100200 canary --share 5 --reason "week 1"',
    { result: 'proposed', merchant_name: 'Café Sur', proposed, judgement },
  ],
  [
    'stage 700100200 legacy --reason "week 1"',
    { ...moved, result: 'moved', judgement: { ...judgement, needs: 'nothing' } },
  ],
  [
    'stage 700100200 legacy --reason "week 1"',
    { ...moved, name: null, result: 'unchanged', judgement: { ...judgement, kind: 'same' } },
  ],
  [`moves show ${SALE}`, { ...proposed, judgement: null }],
  [
    'rollback 700100200 --reason "tills stand still"',
    { ...back, result: 'rolled_back', withdrawn: [SALE], left: [SALE] },
  ],
  ['rollback 700100200 --reason "tills stand still"', { ...back, result: 'unchanged' }],
  ['safety show 700100200', { ...named, mode: 'armed', unseen: null, rules, trips: [], now: [], history: [] }],
  ['safety reset 700100200 --kind intents --reason "upstream works again"', moved],
  [
    'ramp 700100200 --steps 5,100 --soak 2h --min-sales 50 --dry-run',
    { merchants: [{ ...named, from: 'shadow', steps: ['canary 5 %', 'orders'], judgement }] },
  ],
  [
    `ramps show ${SALE} 700100200`,
    { ...named, step: 1, of: 2, now: 'canary 5 %', next: 'orders', since_at: at, conditions: [] },
  ],
  [
    `brownout abort ${SALE} --reason "a shop called"`,
    { id: SALE, merchants: ['700100200', '700100300'], names: { 700100200: 'Café Sur' } },
  ],
  [
    `incidents close ${SALE} --reason "compared with the panel"`,
    { id: SALE, kind: 'mismatch', merchant: '700100200', name: 'Café Sur' },
  ],
  [`incidents close ${SALE} --reason "read anew"`, { id: SALE, kind: 'data_lost', merchant: null, name: null }],
  ['audit list', { lines: [line, { ...line, subject: SALE, merchant_name: null }] }],
];

let answer: readonly unknown[] = [];
const door = createServer((request, response) => {
  request.resume();
  response.end(answer.map((line) => `${JSON.stringify(line)}\n`).join(''));
});
let env: Record<string, string> = {};
beforeAll(async () => {
  env = { PUENTE_OPS_URL: `http://127.0.0.1:${await listen(door)}`, PUENTE_OPS_TOKEN: OPS_TOKEN };
});
afterAll(() => shut(door));

it('each form', async () => {
  const waiting = told.map(([, ...one]) => one);
  await toldBy(
    'sentences',
    told.map(([line]) => wordsOf(line)),
    (words) => {
      answer = waiting.shift() ?? [];
      return command(words, env);
    },
  );
});
