/** Whether a create is a retry or a new sale (`docs/protocol.md` §3.9, `docs/field-notes.md` Point finding 11). */
import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import { CLIENT_PATIENCE_MS, retriedSale } from '../../../src/proxy/sales/create.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { MINUTE_MS, NOON, newLink } from '../../store/contract/harness.ts';

const WINDOW_MS = MINUTE_MS;
const REPEAT_MS = 15 * MINUTE_MS;
/** The end of retries of a sale of `newLink` without a delivered answer: its own fifteen minutes and the repeat window. */
const END_MS = 30 * MINUTE_MS;

/** Whether an equal create, `later_ms` after the sale, is its retry. */
function isRetry(sale: Partial<Link>, candidate: Partial<Link> = {}, later_ms = 1_000): boolean {
  const retriable = newLink({ fingerprint: 'same', state: 'LIVE', ...sale });
  const created_at = NOON + later_ms;
  const retried = retriedSale({ holder: null, retriable }, newLink({ fingerprint: 'same', created_at, ...candidate }), {
    join_window_ms: WINDOW_MS,
    replay_window_ms: REPEAT_MS,
    age_ms: (link) => created_at - link.created_at,
    lifetime_ms: () => END_MS - REPEAT_MS,
    answer_delivered_ms: (link) => created_at - (link.acknowledged_at ?? link.created_at),
  });
  if (retried !== null) expect(retried).toBe(retriable);
  return retried !== null;
}

const DELIVERED: Partial<Link> = { client_answer: 'maybe', acknowledged_at: NOON };
const PAID: Partial<Link> = { state: 'DONE', legacy_state: 'FINISHED' };
const canceled = { status: 'canceled' } as Order; // the decision reads the status only

it('is a new sale when no equal one is retriable', () => {
  const windows = {
    join_window_ms: 1,
    replay_window_ms: 1,
    age_ms: () => 0,
    lifetime_ms: () => 1,
    answer_delivered_ms: () => 0,
  };
  expect(retriedSale({ holder: newLink(), retriable: null }, newLink(), windows)).toBeNull();
});

describe('a sale whose till was answered an error or nothing', () => {
  const states: [string, Partial<Link>][] = [
    ['being sent', { state: 'SENDING' }],
    ['in doubt', { state: 'IN_DOUBT', client_answer: 'error' }],
    ['live', { client_answer: 'error' }],
    ['paid', { ...PAID, client_answer: 'error' }],
    ['declined', { state: 'DONE', legacy_state: 'ERROR', client_answer: 'error' }],
    ['canceled at the terminal', { state: 'DONE', legacy_state: 'CANCELED', client_answer: 'error', order: canceled }],
  ];

  it.each(states)('is repeated while it is %s, with its key, without one, or with a new one', (_what, sale) => {
    expect(isRetry(sale)).toBe(true);
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'k' })).toBe(true);
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'l' })).toBe(true);
    expect(isRetry({ ...sale, client_key: 'k' })).toBe(true);
    expect(isRetry(sale, { client_key: 'k' })).toBe(true);
  });

  it('is repeated until its own end and the repeat window are over, and a live one for as long as it lives', () => {
    expect(isRetry(PAID, {}, END_MS - 1)).toBe(true);
    expect(isRetry(PAID, {}, END_MS)).toBe(false);
    expect(isRetry({ state: 'IN_DOUBT' }, {}, 10 * END_MS)).toBe(true);
  });

  it('and that was canceled at the wish of the till, or because nobody claimed it, is not repeated', () => {
    for (const cancel of ['sent', 'acknowledged'] as const)
      expect(isRetry({ state: 'DONE', legacy_state: 'CANCELED', order: canceled, cancel })).toBe(false);
  });

  it('that is a dynamic code is another sale with another key: nobody has seen the first code', () => {
    const code = { slot: null, family: 'qr' } as const;
    expect(isRetry({ ...code, client_key: 'k' }, { ...code, client_key: 'l' })).toBe(false);
    expect(isRetry({ ...code, client_key: 'k' }, { ...code, client_key: 'k' })).toBe(true);
    expect(isRetry({ ...code, client_key: 'k' }, code)).toBe(true);
    expect(isRetry(code, { ...code, client_key: 'l' })).toBe(true);
  });
});

describe('a sale whose till was answered and has not shown that it knows it', () => {
  it.each([
    ['live', DELIVERED],
    ['paid', { ...DELIVERED, ...PAID }],
  ])('is repeated while it is %s: with its key, or without any inside the window', (_what, sale) => {
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'k' }, 10 * WINDOW_MS)).toBe(true);
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'l' })).toBe(false);
    expect(isRetry({ ...sale, client_key: 'k' })).toBe(false);
    expect(isRetry(sale, { client_key: 'k' })).toBe(false);
    expect(isRetry(sale, {}, WINDOW_MS - 1)).toBe(true);
    expect(isRetry(sale, {}, WINDOW_MS)).toBe(false);
  });

  it('has its window from the answer on, not from the create that was answered an error', () => {
    const late = { ...DELIVERED, ...PAID, acknowledged_at: NOON + 5 * MINUTE_MS };
    expect(isRetry(late, {}, 5 * MINUTE_MS + WINDOW_MS - 1)).toBe(true);
    expect(isRetry(late, {}, 5 * MINUTE_MS + WINDOW_MS)).toBe(false);
  });
});

describe('a sale about which a notice was acknowledged', () => {
  const sale: Partial<Link> = { ...DELIVERED, ...PAID, known_by: 'notice' };

  it('is not repeated by a create without a key: two identical coffees in a row are two sales', () => {
    expect(isRetry(sale)).toBe(false);
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'l' })).toBe(false);
  });

  it('is repeated by the same key for as long as a client library waits for the answer that was lost', () => {
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'k' }, CLIENT_PATIENCE_MS - 1)).toBe(true);
    expect(isRetry({ ...sale, client_key: 'k' }, { client_key: 'k' }, CLIENT_PATIENCE_MS)).toBe(false);
  });
});
