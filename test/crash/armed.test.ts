/** A failpoint is accepted in tests only; outside of them, or if it is unknown, the server refuses to start. */
import { describe, expect, it } from 'vitest';
import { armedFailpoint } from '../../src/app/armed.ts';

const SANDBOX = { upstream: 'sandbox', legacy_upstream: 'sandbox' } as const;
const HERE = 'http://127.0.0.1:8082';
const UNDER_TEST = { NODE_ENV: 'test', CRASH_TEST_FAILPOINT: 'create.settled:2' };

describe('a crash-test failpoint is refused', () => {
  it.each<[string, NodeJS.ProcessEnv, { upstream: string; legacy_upstream: string }]>([
    ['in production', { ...UNDER_TEST, NODE_ENV: 'production' }, SANDBOX],
    ['without a word that this is a test', { CRASH_TEST_FAILPOINT: 'create.settled' }, SANDBOX],
    ['with a real upstream', UNDER_TEST, { upstream: 'https://api.example', legacy_upstream: HERE }],
    ['with a real legacy upstream', UNDER_TEST, { upstream: 'sandbox', legacy_upstream: 'https://api.example' }],
    [
      'with an upstream that only sounds like this machine',
      UNDER_TEST,
      { ...SANDBOX, upstream: 'http://localhost.example' },
    ],
    ['for a point that there is not', { ...UNDER_TEST, CRASH_TEST_FAILPOINT: 'create.setled' }, SANDBOX],
    ['for the zeroth time', { ...UNDER_TEST, CRASH_TEST_FAILPOINT: 'create.settled:0' }, SANDBOX],
    ['for half a time', { ...UNDER_TEST, CRASH_TEST_FAILPOINT: 'create.settled:1.5' }, SANDBOX],
  ])('%s', (_name, environment, upstreams) => {
    expect(() => armedFailpoint(environment, upstreams)).toThrow(
      expect.objectContaining({ code: 'bad_setting', message: expect.stringContaining('CRASH_TEST_FAILPOINT') }),
    );
  });
});

describe('a crash-test failpoint', () => {
  it.each(['sandbox', HERE, 'http://localhost:8082', 'http://[::1]:8082'])('may be set beside %s', (upstream) => {
    expect(() => armedFailpoint(UNDER_TEST, { upstream, legacy_upstream: upstream })('create.settled')).not.toThrow();
  });

  it('that is not set does nothing', () => {
    expect(
      armedFailpoint({ NODE_ENV: 'production', CRASH_TEST_FAILPOINT: '' }, SANDBOX)('answer.sent'),
    ).toBeUndefined();
  });
});
