/** Is a create a retry, in the way, or a new sale (`reliability.md` §3.9, `legacy-point.md` finding 11)? */
import { describe, expect, it } from 'vitest';
import type { Link } from '../../src/core/link.ts';
import { judgeOpening } from '../../src/core/opening.ts';

const NOW = 1_772_366_400_000;
const WINDOW_MS = 60_000;

type Rival = Pick<Link, 'legacy_id' | 'state' | 'client_answer' | 'fingerprint' | 'client_key' | 'created_at'>;

function judge(rivals: Partial<Rival>[], candidate: Partial<Rival> = {}) {
  const whole = (part: Partial<Rival>): Link => {
    const link: Rival = {
      legacy_id: 'first',
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
    rivals.map(whole),
    whole({ legacy_id: 'new', state: 'SENDING', client_answer: 'none', ...candidate }),
    WINDOW_MS,
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
    expect(judge([rival], candidate)).toEqual({ kind: 'busy', legacy_id: 'first' });
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
    expect(judge([rival], candidate)).toEqual({ kind: 'join', legacy_id: 'first' });
  });
});

describe('a new sale', () => {
  it.each<[string, Partial<Rival>]>([
    ['the first is final', { state: 'DONE' }],
    ['the first is final under the same key', { state: 'DONE', client_key: 'k' }],
    ['the first was refused', { state: 'REJECTED', client_answer: 'error' }],
    ['the first was never sent', { state: 'NOT_SENT', client_answer: 'error' }],
    ['the first is lost', { state: 'LOST', client_answer: 'error' }],
  ])('%s', (_name, rival) => {
    expect(judge([rival], { client_key: rival.client_key ?? null })).toEqual({ kind: 'open' });
  });

  it('nothing was there', () => {
    expect(judge([])).toEqual({ kind: 'open' });
  });

  it('a final rival does not hide a live one', () => {
    expect(judge([{ legacy_id: 'over', state: 'DONE' }, { legacy_id: 'live' }])).toEqual({
      kind: 'join',
      legacy_id: 'live',
    });
  });
});
