/** The signature of order webhooks in every form in use, and forgeries. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SignedDelivery, verifyOrderSignature } from '../../../src/proxy/http/signature.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { anyText } from '../../any-text.ts';
import { whenComparisonsSay } from '../../constant-time.ts';

const SECRET = 'a-secret-that-only-the-tests-know';
const ID = 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD';
const REQUEST = '5f8a1c1e-5d2b-4a63-9a0c-3d2f1f3b9e10';
const MS = '1793624762110';

function digest(manifest: string, secret = SECRET): string {
  return createHmac('sha256', secret).update(manifest).digest('hex');
}

const GOOD = digest(`id:${ID.toLowerCase()};request-id:${REQUEST};ts:${MS};`);

function verify(more: Partial<SignedDelivery> = {}) {
  return verifyOrderSignature({
    query_id: ID,
    body_id: ID,
    request_id: REQUEST,
    signature_header: `ts=${MS},v1=${GOOD}`,
    secret: new Secret(SECRET),
    ...more,
  });
}

it('is decided by the constant-time comparison and by nothing else', () => {
  const forged = { signature_header: `ts=${MS},v1=${'0'.repeat(64)}` };
  expect(whenComparisonsSay(false, () => verify().verified)).toBe(false);
  expect(whenComparisonsSay(true, () => verify(forged).verified)).toBe(true);
  expect([verify().verified, verify(forged).verified]).toEqual([true, false]);
});

describe('verified', () => {
  const verbatim = digest(`id:${ID};request-id:${REQUEST};ts:${MS};`);
  const table: [string, Partial<SignedDelivery>][] = [
    ['id in lower case', {}],
    ['id verbatim', { signature_header: `ts=${MS},v1=${verbatim}` }],
    [
      'id signed in upper case, query in lower case',
      { query_id: ID.toLowerCase(), signature_header: `ts=${MS},v1=${verbatim}` },
    ],
    ['body id in another case', { body_id: ID.toLowerCase() }],
    ['no body id', { body_id: null }],
    ['parts in the other order, with spaces', { signature_header: ` v1 = ${GOOD} , ts = ${MS} ` }],
    ['upper-case hex', { signature_header: `ts=${MS},v1=${GOOD.toUpperCase()}` }],
    ['an unknown part beside', { signature_header: `ts=${MS},v0=x,v1=${GOOD},flag` }],
    ['no request id', { request_id: null, signature_header: `ts=${MS},v1=${digest(`id:${ID};ts:${MS};`)}` }],
    ['empty request id', { request_id: '', signature_header: `ts=${MS},v1=${digest(`id:${ID};ts:${MS};`)}` }],
    ['no query id', { query_id: null, signature_header: `ts=${MS},v1=${digest(`request-id:${REQUEST};ts:${MS};`)}` }],
    [
      'an old one',
      { signature_header: `ts=1400000000000,v1=${digest(`id:${ID};request-id:${REQUEST};ts:1400000000000;`)}` },
    ],
  ];
  it.each(table)('%s', (_name, delivery) => {
    expect(verify(delivery).verified).toBe(true);
  });

  it('seconds and milliseconds are told apart by their digits', () => {
    const seconds = digest(`id:${ID};request-id:${REQUEST};ts:1793624762;`);
    expect(verify({ signature_header: `ts=1793624762,v1=${seconds}` })).toEqual({
      verified: true,
      timestamp_ms: 1_793_624_762_000,
    });
    expect(verify()).toEqual({ verified: true, timestamp_ms: 1_793_624_762_110 });
  });
});

describe('signatures that are not verified', () => {
  const table: [string, Partial<SignedDelivery>][] = [
    ['no header', { signature_header: null }],
    ['empty header', { signature_header: '' }],
    ['no v1', { signature_header: `ts=${MS}` }],
    ['no ts', { signature_header: `v1=${GOOD}` }],
    ['v1 twice', { signature_header: `ts=${MS},v1=${'0'.repeat(64)},v1=${GOOD}` }],
    ['ts twice', { signature_header: `ts=${MS},ts=${MS},v1=${GOOD}` }],
    ['truncated', { signature_header: `ts=${MS},v1=${GOOD.slice(0, 63)}` }],
    ['too long', { signature_header: `ts=${MS},v1=${GOOD}00` }],
    ['no hex', { signature_header: `ts=${MS},v1=${'g'.repeat(64)}` }],
    ['empty v1', { signature_header: `ts=${MS},v1=` }],
    ['another ts', { signature_header: `ts=1793624762111,v1=${GOOD}` }],
    [
      'ts of 11 digits',
      { signature_header: `ts=17936247621,v1=${digest(`id:${ID};request-id:${REQUEST};ts:17936247621;`)}` },
    ],
    ['ts with letters', { signature_header: `ts=179362476211x,v1=${GOOD}` }],
    ['another secret', { secret: new Secret('another') }],
    [
      'an empty secret',
      {
        secret: new Secret(''),
        signature_header: `ts=${MS},v1=${digest(`id:${ID};request-id:${REQUEST};ts:${MS};`, '')}`,
      },
    ],
    ['another request id', { request_id: 'x' }],
    ['another query id', { query_id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCE', body_id: null }],
    ['a body about another order', { body_id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCE' }],
    ['a header of a megabyte', { signature_header: `${'a,'.repeat(500_000)}ts=${MS},v1=${GOOD}` }],
  ];
  it.each(table)('%s', (_name, delivery) => {
    expect(verify(delivery).verified).toBe(false);
  });

  it('hostile input never throws and never passes [F103]', () => {
    const text = fc.option(anyText(), { nil: null });
    const header = fc.oneof(
      text,
      fc.tuple(fc.string(), fc.string()).map(([ts, v1]) => `ts=${ts},v1=${v1}`),
    );
    fc.assert(
      fc.property(text, text, text, header, (query_id, body_id, request_id, signature_header) => {
        expect(verify({ query_id, body_id, request_id, signature_header }).verified).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});
