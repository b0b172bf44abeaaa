/** The outcome of a create attempt, row by row of `docs/protocol.md` §3.5; a 2xx needs Puente's own order. */
import { describe, expect, it } from 'vitest';
import { judgeCreate } from '../../../src/proxy/sales/submit.ts';
import { errorCode, type UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';

const ORDER = {
  id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD',
  status: 'created',
  external_reference: 'sale-1',
  user_id: '700100200',
};
const sale = {
  merchant_id: '700100200',
  family: 'point',
  unit: 'PAX_A910__S1',
  reference_sent: 'sale-1',
  amount_minor: 90_000,
} as const;

const OTHER = { kind: 'ambiguous', retry: true, busy: false, contradicts: { order_id: ORDER.id } };

function judge(outcome: UpstreamOutcome, is_repeat: boolean) {
  return judgeCreate(outcome, { sale, exponent: 2, is_repeat });
}

function answered(status: number, body: unknown = null, retry_after_ms: number | null = null): UpstreamOutcome {
  return { kind: 'answered', status, body, retry_after_ms };
}

function refusal(code: string): unknown {
  return { errors: [{ code, message: 'said upstream' }] };
}

describe('the same whether it is a first try or a repeat', () => {
  it.each<[string, UpstreamOutcome, object]>([
    ['nothing left the process', { kind: 'not_sent', cause: 'ECONNREFUSED' }, { kind: 'not_sent' }],
    [
      'something left and nothing came',
      { kind: 'broken', cause: 'reset' },
      { kind: 'ambiguous', retry: true, busy: false },
    ],
    ['201 with nothing', answered(201), { kind: 'ambiguous', retry: true }],
    ['201 with a list', answered(201, [ORDER]), { kind: 'ambiguous', retry: true }],
    ['201 with a foreign reference', answered(201, { ...ORDER, external_reference: 'sale-2' }), { kind: 'ambiguous' }],
    ['201 without a reference', answered(201, { ...ORDER, external_reference: undefined }), { kind: 'ambiguous' }],
    ['201 with an id that climbs paths', answered(201, { ...ORDER, id: '../users/me' }), { kind: 'ambiguous' }],
    ['202 with our order', answered(202, ORDER), { kind: 'ambiguous', retry: true }],
    ['201 of another merchant', answered(201, { ...ORDER, user_id: 700100300 }), { kind: 'ambiguous' }],
    ['201 with a malformed id', answered(201, { ...ORDER, id: 'ORD123' }), { kind: 'ambiguous' }],
    [
      '201 with another terminal',
      answered(201, { ...ORDER, config: { point: { terminal_id: 'PAX_A910__S2' } } }),
      OTHER,
    ],
    ['201 with another amount', answered(201, { ...ORDER, transactions: { payments: [{ amount: '1.00' }] } }), OTHER],
    ['201 of another type', answered(201, { ...ORDER, type: 'qr' }), OTHER],
    ['204', answered(204), { kind: 'ambiguous', retry: true }],
    ['301', answered(301), { kind: 'ambiguous', retry: false }],
    ['408', answered(408), { kind: 'ambiguous', retry: true }],
    [
      '409 idempotency_key_already_used',
      answered(409, refusal('idempotency_key_already_used')),
      { kind: 'ambiguous', retry: false, busy: false },
    ],
    [
      'the same with details of another form',
      answered(409, { errors: [{ code: 'idempotency_key_already_used', message: null, details: [{ field: 'x' }] }] }),
      { kind: 'ambiguous', retry: false, busy: false },
    ],
    ['429', answered(429, null, 1500), { kind: 'not_executed', status: 429, retry_after_ms: 1500 }],
    ['500 internal_error', answered(500, refusal('internal_error')), { kind: 'ambiguous', retry: true }],
    [
      '500 idempotency_validation_failed [F13]',
      answered(500, refusal('idempotency_validation_failed')),
      { kind: 'ambiguous', retry: true },
    ],
    ['599 with text', answered(599, 'what'), { kind: 'ambiguous', retry: true }],
    ['201 with our order', answered(201, ORDER), { kind: 'success', order: { id: ORDER.id } }],
    ['200 with our order', answered(200, { ...ORDER, user_id: 700100200 }), { kind: 'success' }],
    ['201 that names no merchant', answered(201, { ...ORDER, user_id: undefined }), { kind: 'success' }],
  ])('%s', (_name, outcome, verdict) => {
    expect(judge(outcome, false)).toMatchObject(verdict);
    expect(judge(outcome, true)).toMatchObject(verdict);
  });
});

describe('definite on a first try, doubt on a repeat', () => {
  it.each<[string, number, unknown, boolean]>([
    ['bad_request', 400, refusal('bad_request'), false],
    ['unauthorized, flat envelope', 401, { code: 'unauthorized', message: 'user not found' }, false],
    ['forbidden_checking_terminal_owner', 403, refusal('forbidden_checking_terminal_owner'), false],
    ['pos_not_found', 404, refusal('pos_not_found'), false],
    ['a status nobody documents', 422, 'text', false],
    ['already_queued_order_for_terminal', 409, refusal('already_queued_order_for_terminal'), true],
    ['already_queued_order_on_terminal', 409, refusal('already_queued_order_on_terminal'), true],
  ])('%s', (_name, status, body, busy) => {
    expect(judge(answered(status, body), false)).toMatchObject({ kind: 'definite', status });
    expect(judge(answered(status, body), true)).toMatchObject({ kind: 'ambiguous', retry: false, busy });
  });
});

describe('error codes', () => {
  it.each([
    ['a list', refusal('one'), 'one'],
    ['flat', { code: 'two' }, 'two'],
    ['an empty list', { errors: [] }, null],
    ['no object', 'three', null],
    ['a code that is no text', { code: 4 }, null],
  ])('%s', (_name, body, code) => {
    expect(errorCode(body)).toBe(code);
  });
});
