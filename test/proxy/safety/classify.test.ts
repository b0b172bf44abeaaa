/** The classifier of the safety stop with labelled exchanges: incidents trip it, ordinary business does not. */
import { describe, expect, it } from 'vitest';
import type { UpstreamNote } from '../../../src/proxy/evidence/exchange.ts';
import { type Class, classify, type Judged, outcomeOf } from '../../../src/proxy/safety.ts';

const SLOW_MS = 6000;

/** Upstream calls with their answers, as `create 402 failed`; `-` for no complete answer. */
type Calls = string;

interface Case {
  what: string;
  status: number;
  calls?: Calls;
  after_ms?: number;
  operation?: string;
  kind?: Judged['kind'];
  default_row?: boolean;
  /** The terminal is held by one of Puente's creates that is in doubt. */
  by_doubt?: boolean;
}

const notes = (calls: Calls): UpstreamNote[] =>
  calls.split(', ').flatMap((text) => {
    const [name = '', status, code = null] = text.split(' ');
    return name === '' ? [] : [{ name, status: status === '-' ? null : Number(status), code, duration_ms: 10 }];
  });

function judgedOf({
  status,
  calls = '',
  after_ms = 120,
  operation,
  kind = 'intents',
  default_row = false,
  by_doubt = false,
}: Case): Judged {
  const upstream = notes(calls);
  return {
    merchant_id: '700100200',
    operation: operation ?? 'point.create_intent',
    kind,
    lane: 'orders',
    stage: 'orders',
    unit: 'point:PAX_A910__SMARTPOS0000000001',
    status,
    outcome: outcomeOf(status, upstream, by_doubt),
    upstream,
    duration_ms: after_ms,
    default_row,
  };
}

const corpus: Record<Class | 'not counted', Case[]> = {
  fault: [
    { what: 'a create that the service failed', status: 500, calls: 'create 500 internal_error' },
    { what: 'a create whose every attempt failed', status: 504, calls: 'create 500, create 502, create 503' },
    { what: 'a create that nobody answered', status: 504, calls: 'create -' },
    {
      what: 'a create in doubt after a repeat',
      status: 504,
      calls: 'create -, create 409 idempotency_key_already_used',
    },
    { what: 'a create answered with another order', status: 504, calls: 'create 201' },
    { what: 'a create answered with a redirect', status: 504, calls: 'create 302' },
    { what: 'a create that could not be sent', status: 503, calls: 'create -' },
    { what: 'a gateway that failed', status: 502, calls: 'create 502' },
    { what: 'a service that is away', status: 503, calls: 'create 503' },
    { what: 'a create while our store is away', status: 503 },
    { what: 'a fault of ours before any call', status: 500 },
    { what: 'a read that the service failed', status: 500, calls: 'get 500', operation: 'point.get_intent' },
    { what: 'a read that nobody answered', status: 504, calls: 'get -', operation: 'point.get_intent' },
    { what: 'a read of an order that nobody can read', status: 502, calls: 'get 200', operation: 'point.get_intent' },
    { what: 'a cancel that the service failed', status: 500, calls: 'cancel 500', operation: 'point.cancel_intent' },
    { what: 'a cancel without an answer', status: 504, calls: 'cancel -', operation: 'point.cancel_intent' },
    { what: 'a device list that failed', status: 500, calls: 'terminals_list 500', kind: 'devices' },
    { what: 'a device list without an answer', status: 504, calls: 'terminals_list -', kind: 'devices' },
    { what: 'a change of mode that failed', status: 500, calls: 'terminals_setup 500', kind: 'devices' },
    { what: 'a QR sale that failed', status: 500, calls: 'create 500', kind: 'qr', operation: 'qr.create' },
    { what: 'a QR sale without an answer', status: 504, calls: 'create -, create -', kind: 'qr' },
    { what: 'a refund that failed, of a sale on this unit', status: 500, calls: 'refund 500', kind: 'payments' },
    {
      what: 'a refusal that stands in for a call that failed',
      status: 404,
      calls: 'get 503',
      operation: 'point.get_intent',
    },
    { what: 'a conflict that stands in for a call without an answer', status: 409, calls: 'get -' },
    { what: 'a refusal that no row names', status: 400, calls: 'create 418 teapot', default_row: true },
    { what: 'a code that no row names', status: 400, calls: 'create 400 brand_new_rule', default_row: true },
    { what: 'a read refused as no row knows', status: 400, calls: 'get 410 gone', default_row: true },
    { what: 'a terminal that our own doubt holds', status: 409, by_doubt: true },
    { what: 'a till that our own doubt holds', status: 409, kind: 'qr', operation: 'qr.create', by_doubt: true },
    { what: 'a sale refused while an earlier one is in doubt', status: 503, by_doubt: true },
    { what: 'a fault that is late as well', status: 504, calls: 'create -', after_ms: 9500 },
  ],
  slow: [
    { what: 'a create that took as long as tills wait', status: 200, calls: 'create 201', after_ms: 6000 },
    { what: 'a create saved by a retry, late', status: 200, calls: 'create 500, create 201', after_ms: 8000 },
    { what: 'a late read', status: 200, calls: 'get 200', after_ms: 7000, operation: 'point.get_intent' },
    { what: 'a late device list', status: 200, calls: 'terminals_list 200', after_ms: 6500, kind: 'devices' },
    { what: 'a late QR sale', status: 204, calls: 'create 201', after_ms: 9000, kind: 'qr' },
  ],
  fine: [
    { what: 'a create', status: 200, calls: 'create 201' },
    { what: 'a create saved by a retry, in time', status: 200, calls: 'create 500, create 201', after_ms: 900 },
    { what: 'a create saved by a read', status: 200, calls: 'create -, create 201, get 200', after_ms: 4000 },
    { what: 'a create just in time', status: 200, calls: 'create 201', after_ms: 5999 },
    { what: 'a retry of the till that joins', status: 200 },
    { what: 'a read from memory', status: 200, operation: 'point.get_intent' },
    { what: 'a cancel', status: 200, calls: 'cancel 200', operation: 'point.cancel_intent' },
    { what: 'a device list', status: 200, calls: 'terminals_list 200', kind: 'devices' },
    { what: 'a QR sale', status: 204, calls: 'create 201', kind: 'qr' },
    { what: 'a refund', status: 201, calls: 'refund 201', kind: 'payments' },
  ],
  'not counted': [
    { what: 'a card that is declined', status: 400, calls: 'create 402 failed' },
    { what: 'a decline by a code that no row names', status: 400, calls: 'create 402 new_decline', default_row: true },
    {
      what: 'a conflict by a code that no row names',
      status: 400,
      calls: 'create 409 new_conflict',
      default_row: true,
    },
    {
      what: 'a thing that is not there, by a code that no row names',
      status: 400,
      calls: 'get 404 gone',
      default_row: true,
    },
    { what: 'a payment refused for its amount', status: 400, calls: 'create 400 minimum_amount' },
    {
      what: 'a busy terminal, as the service says',
      status: 409,
      calls: 'create 409 already_queued_order_for_terminal',
    },
    { what: 'a busy terminal, as we know', status: 409 },
    { what: 'a busy terminal, told late', status: 409, calls: 'get 200', after_ms: 9000 },
    { what: 'a till that repeats itself at a busy terminal', status: 409, calls: 'create 409 already_queued_order' },
    { what: 'an amount that is none', status: 400 },
    { what: 'a field too many', status: 400 },
    { what: 'a body that is no JSON', status: 400 },
    { what: 'a property that the service refuses', status: 400, calls: 'create 400 property_value' },
    { what: 'a property that the service misses', status: 400, calls: 'create 400 required_properties' },
    { what: 'a terminal of somebody else', status: 403, calls: 'create 403 forbidden' },
    { what: 'a terminal that does not exist', status: 404, calls: 'create 404 terminal_not_found' },
    { what: 'an intent that nobody knows', status: 404, calls: 'get 404 order_not_found' },
    { what: 'an intent that nobody knows, asked of nobody', status: 404 },
    { what: 'a cancel of what is on the terminal', status: 409, calls: 'cancel 409 cannot_cancel_order' },
    { what: 'a cancel of what is paid', status: 409, calls: 'get 200' },
    { what: 'a terminal in the wrong mode', status: 412, calls: 'terminals_setup 412', kind: 'devices' },
    { what: 'a body that is too large', status: 413 },
    { what: 'a refund of more than was paid', status: 400, calls: 'refund 400 invalid_amount', kind: 'payments' },
    { what: 'a refund that is made already', status: 409, calls: 'refund 409 already_refunded', kind: 'payments' },
    { what: 'a refund of a sale that nobody names', status: 404, kind: 'payments' },
    { what: 'a QR sale without a till', status: 404, calls: 'create 404 pos_not_found', kind: 'qr' },
    { what: 'a QR sale refused for its total', status: 400, kind: 'qr' },
    { what: 'a token that is not accepted', status: 401, calls: 'users_me 401' },
    { what: 'a token that died meanwhile', status: 401, calls: 'create 401 unauthorized' },
    { what: 'a token without the right', status: 403, calls: 'create 403 unauthorized_scopes' },
    { what: 'a rate limit of the service', status: 429, calls: 'create 429, create 429' },
    { what: 'a rate limit told as unavailable', status: 503, calls: 'create 429 too_many_requests' },
    { what: 'a rate limit of ours', status: 429 },
    { what: 'a rate limit behind our own doubt', status: 429, by_doubt: true },
    { what: 'a till that went away behind our own doubt', status: 499, by_doubt: true },
    { what: 'a rate limit by a row that names none', status: 429, calls: 'create 429', default_row: true },
    { what: 'a token by a row that names none', status: 401, calls: 'get 401 strange', default_row: true },
    { what: 'a till that went away', status: 499, calls: 'create 201' },
    { what: 'a till that went away late', status: 499, calls: 'create -', after_ms: 9000 },
  ],
};

describe('the corpus', () => {
  it('is large enough to say something', () => {
    expect(Object.values(corpus).flat().length).toBeGreaterThanOrEqual(60);
  });

  for (const [label, cases] of Object.entries(corpus))
    it.each(cases)(`${label}: $what`, (one) => {
      expect(classify(judgedOf(one), SLOW_MS)?.is ?? 'not counted').toBe(label);
    });
});

describe('what is not judged at all', () => {
  const fault: Case = { what: 'a fault', status: 500, calls: 'create 500' };

  it.each<[string, Partial<Judged>]>([
    ['the legacy lane', { lane: 'legacy' }],
    ['a merchant on shadow: it was taken back, or drains', { stage: 'shadow' }],
    ['a merchant on legacy', { stage: 'legacy' }],
    ['nobody that is known', { merchant_id: null }],
    ['no operation', { kind: null, operation: null }],
    ['a payment whose sale is not known', { kind: 'payments', unit: null }],
  ])('%s', (_name, over) => {
    expect(classify({ ...judgedOf(fault), ...over }, SLOW_MS)).toBeNull();
  });

  it('a canary is judged as orders are', () => {
    expect(classify({ ...judgedOf(fault), stage: 'canary' }, SLOW_MS)).toMatchObject({ kind: 'intents', is: 'fault' });
  });

  it('payments count for the kind of their sale', () => {
    const of = (unit: string) => classify({ ...judgedOf({ ...fault, kind: 'payments' }), unit }, SLOW_MS)?.kind;
    expect([of('qr:CAJA1'), of('point:PAX_A910__SMARTPOS0000000001')]).toEqual(['qr', 'intents']);
  });
});
