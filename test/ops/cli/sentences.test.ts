/** Sentences of reconcile, sales, the audit chain, decommission and bulk moves: each form of them, as it is printed, in a golden file. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, it } from 'vitest';
import { OPS_TOKEN } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';
import { command } from '../moves/command.ts';
import { toldBy, wordsOf } from './golden.ts';

const SALE = '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10';
const at = '2026-01-31T09:00:00.000Z';
const of = { merchant_id: '700100200', merchant_name: 'Café Sur', unit: 'PAX_1', legacy_id: SALE, order_id: 'ORD1' };
const done = { news: 'done', checked: 9, unreadable: 0, mismatches: 0, repaired: 0, left_out: false };
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

/** Commands, and the answer of the ops door in each form that changes a sentence; of a stream each line. */
const told: readonly (readonly [line: string, ...answer: readonly unknown[]])[] = [
  ['reconcile', done],
  ['reconcile', ...unread(1), { ...done, unreadable: 1, left_out: true }],
  ['reconcile --since 2026-01-31T00:00:00Z', found(false), ...unread(22), { ...done, mismatches: 1, unreadable: 22 }],
  ['reconcile --apply --reason "after the outage"', found(true), { ...done, mismatches: 1, repaired: 1 }],
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
