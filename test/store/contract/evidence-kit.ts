/** Invented exchanges with their findings. */
import { randomUUID } from 'node:crypto';
import type { DifferenceSeen, LossSeen, RecordedExchange } from '../../../src/proxy/records/evidence.ts';
import { MERCHANT, NOON, TERMINAL } from './harness.ts';

export function newExchange(change: Partial<RecordedExchange> = {}): RecordedExchange {
  return {
    id: randomUUID(),
    at: NOON,
    merchant_id: MERCHANT,
    operation: 'point.create',
    kind: 'intents',
    lane: 'legacy',
    stage: 'shadow',
    unit: `point:${TERMINAL}`,
    legacy_id: null,
    status: 201,
    error: null,
    outcome: 'ok',
    duration_ms: 12.25,
    tables_revision: 'revision-1',
    upstream: [],
    fired: [],
    losses: [],
    unknown: [],
    limitations: [],
    shadow: null,
    messages: null,
    cells: [],
    lost: [],
    differences: [],
    compared: false,
    ...change,
  };
}

export function newLoss(change: Partial<LossSeen> = {}): LossSeen {
  return {
    operation: 'point.create',
    table: 'point.create.request',
    path: 'body.payment.installments',
    why: 'Orders take no such field.',
    weight: 'money',
    would_be: true,
    ...change,
  };
}

export function newDifference(change: Partial<DifferenceSeen> = {}): DifferenceSeen {
  return {
    signature: '00000000000000a1',
    operation: 'devices.list',
    what: 'value',
    path: 'devices[].operating_mode',
    legacy: '"PDV"',
    orders: '"STANDALONE"',
    ...change,
  };
}

export const accepted = {
  verdict: 'accepted',
  status: null,
  code: null,
  error: null,
  detail: null,
  order: { type: 'point', transactions: { payments: [{ amount: '15.00' }] } },
  fired: ['point.create.request#1'],
  losses: [],
  took_ms: 0.25,
} as const;

export const messages = {
  request: {
    method: 'POST',
    target: '/point/x',
    headers: { 'content-type': 'application/json' },
    body: { amount: 1500 },
  },
  answer: { status: 201, headers: {}, body: 'ñ "text"' },
  upstream: [{ method: 'POST', path: '/v1/orders', body: { a: [1, 'two', null] }, status: null, answer: null }],
};
