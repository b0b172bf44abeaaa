/** Is a create a retry, in the way, or a new sale (`reliability.md` §3.9, `legacy-point.md` finding 11)? */
import { describe, expect, it } from 'vitest';
import type { Link } from '../../src/core/link.ts';
import { judgeOpening } from '../../src/core/opening.ts';

const NOW = 1_772_366_400_000;
const WINDOW_MS = 60_000;

type Rival = Pick<Link, 'state' | 'client_answer' | 'fingerprint' | 'client_key' | 'created_at'>;

function judge(holder: Partial<Rival> | null, candidate: Partial<Rival> = {}) {
  const whole = (part: Partial<Rival>): Link => {
    const link: Rival = {
      state: 'LIVE',
      client_answer: 'maybe',
      fingerprint: 'same',
      client_key: null,
      created_at: NOW,
      ...part,
    };
    return link as Link; // the decision reads these fields alone
  };
  return judgeOpening(
    holder === null ? null : whole(holder),
    whole({ state: 'SENDING', client_answer: 'none', ...candidate }),
    WINDOW_MS,
    NOW - (holder?.created_at ?? NOW),
  );
}

describe('something else holds the unit', () => {
  it.each<[string, Partial<Rival>, Partial<Rival>]>([
    ['another body', { fingerprint: 'other' }, {}],
    ['another body under the same key', { fingerprint: 'other', client_key: 'k' }, { client_key: 'k' }],
    [
      'another body while the first is in doubt',
      { fingerprint: 'other', state: 'IN_DOUBT', client_answer: 'error' },
      {},
    ],
    ['the same body without a key, outside the window', { created_at: NOW - WINDOW_MS }, {}],
    ['the same body under another key', { client_key: 'k1' }, { client_key: 'k2' }],
    ['the same body, a key only now', {}, { client_key: 'k' }],
    ['the same body, a key only then', { client_key: 'k' }, {}],
  ])('%s is busy', (_name, rival, candidate) => {
    expect(judge(rival, candidate)).toEqual({ kind: 'busy' });
  });
});

describe('the same sale', () => {
  it.each<[string, Partial<Rival>, Partial<Rival>]>([
    ['while the first is being sent', { state: 'SENDING', client_answer: 'none' }, {}],
    ['while the first is in doubt', { state: 'IN_DOUBT', client_answer: 'error' }, {}],
    ['in doubt for long', { state: 'IN_DOUBT', client_answer: 'error', created_at: NOW - 10 * WINDOW_MS }, {}],
    ['live, but the client was told an error', { client_answer: 'error', created_at: NOW - 10 * WINDOW_MS }, {}],
    ['live and acknowledged, without a key, inside the window', { created_at: NOW - WINDOW_MS + 1 }, {}],
    [
      'live and acknowledged, with the same key, whenever',
      { client_key: 'k', created_at: NOW - 10 * WINDOW_MS },
      { client_key: 'k' },
    ],
    [
      'unacknowledged under another key: the terminal takes one order',
      { state: 'SENDING', client_answer: 'none', client_key: 'k1' },
      { client_key: 'k2' },
    ],
  ])('%s is joined', (_name, rival, candidate) => {
    expect(judge(rival, candidate)).toEqual({ kind: 'join' });
  });
});

it('is a new sale when nothing holds the unit', () => {
  expect(judge(null)).toEqual({ kind: 'open' });
});
