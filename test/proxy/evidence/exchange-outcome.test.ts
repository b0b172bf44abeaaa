/** The outcome of a call: only faults may trip the safety stop. */
import { describe, expect, it } from 'vitest';
import { endpointName, noteUnknown, TILL_LEFT, type UpstreamNote } from '../../../src/proxy/evidence/exchange.ts';
import { outcomeOf } from '../../../src/proxy/safety.ts';

function note(name: string, status: number | null): UpstreamNote {
  return { name, status, code: null, duration_ms: 1 };
}

describe('an outcome', () => {
  it.each<[string, number, UpstreamNote[], string]>([
    ['made', 201, [note('create', 201)], 'ok'],
    ['made at the second try', 200, [note('create', null), note('create', 201)], 'ok'],
    ['a token that is not accepted', 401, [note('users_me', 401)], 'auth'],
    ['a token of another', 403, [], 'auth'],
    ['a mistake of the till', 400, [], 'business'],
    ['a busy terminal', 409, [note('create', 409)], 'business'],
    ['an unknown id', 404, [note('get', 404)], 'business'],
    ['a rate limit, which is nobody’s mistake and never moves a merchant', 429, [note('create', 429)], 'business'],
    ['an outcome in doubt', 504, [note('create', null)], 'fault'],
    ['a service that fails', 502, [note('create', 500)], 'fault'],
    ['a refusal that stands in for a read that failed', 409, [note('cancel', null)], 'fault'],
    ['the same with a 500', 404, [note('users_me', 200), note('get', 503)], 'fault'],
    ['a refusal although nobody could say whose token it is', 400, [note('users_me', 500)], 'business'],
    ['a till that left', TILL_LEFT, [], 'fault'],
    ['a proxied answer', 200, [note('legacy', 200)], 'ok'],
    ['a proxied answer that broke off', 200, [note('legacy', null)], 'fault'],
    ['a proxied refusal', 422, [note('legacy', 422)], 'business'],
  ])('%s', (_name, status, upstream, outcome) => {
    expect(outcomeOf(status, upstream)).toBe(outcome);
  });
});

describe('what no table knows', () => {
  it.each([
    ['GET', '/stores/59712345?access_token=x', 'GET /stores/:id'],
    ['PUT', '/v1/payments/16500000001', 'PUT /v1/payments/:id'],
    ['GET', '/users/700100200/stores/search?x=1', 'GET /users/:id/stores/search'],
    ['POST', '/point/integration-api/devices/PAX_A910__1/actions', 'POST /point/integration-api/devices/:id/actions'],
    ['GET', '/pos/CAJA', 'GET /pos/:id'],
    ['GET', '/', 'GET /'],
    ['GET', '/a%2Fb/019539a0-0000-7000-8000-00000000dead/', 'GET /:id/:id/'],
  ])('%s %s is named without ids', (method, target, name) => {
    expect(endpointName(method, target)).toBe(name);
  });

  it('is noted once, cut, without indices and long numbers, and not without end', () => {
    const draft = { legacy_id: null, upstream: [], fired: [], losses: [], unknown: [], limitations: [], sent: [] };
    noteUnknown(draft, 'field', 'body.items[0].tip');
    noteUnknown(draft, 'field', 'body.items[7].tip');
    noteUnknown(draft, 'field', `body.${'y'.repeat(300)}`);
    noteUnknown(draft, 'field', `body.4111111111111111${'x'.repeat(300)}`);
    expect(draft.unknown).toEqual([
      { what: 'field', name: 'body.items[].tip' },
      { what: 'field', name: `body.${'y'.repeat(195)}` },
      { what: 'field', name: 'body.[masked]' },
    ]);
    for (let index = 0; index < 500; index++) noteUnknown(draft, 'header', `x-${index}`);
    expect(draft.unknown).toHaveLength(50);
  });
});
