/** The sliding window of the safety stop: its calls, their removal, and when it trips. */
import { describe, expect, it } from 'vitest';
import { addCall, type Class, emptyWindow, leftOf, sumsOf, tripReason } from '../../../src/proxy/safety.ts';

const rules = { window_ms: 300_000, min_sample: 20, fault_share: 10, slow_ms: 6000, slow_share: 30 };
const START = Date.UTC(2026, 10, 18);

function windowOf(calls: [Class, number][], at = START) {
  const window = emptyWindow();
  for (const [is, many] of calls) for (let nth = 0; nth < many; nth++) addCall(window, rules, at, is, own());
  return window;
}

let calls = 0;
/** A call that is no retry: a fault of its own. */
function own() {
  const exchange = `call ${++calls}`;
  return { exchange, fault: { of: exchange } };
}

const reasonOf = (calls: [Class, number][]) => tripReason(sumsOf(windowOf(calls), rules, START), rules)?.text ?? null;

describe('tripping', () => {
  it.each<[string, [Class, number][], string | null]>([
    ['nothing', [], null],
    [
      'too few calls, most of them faults',
      [
        ['fault', 4],
        ['fine', 1],
        ['fault', 4],
        ['fine', 1],
        ['fault', 4],
      ],
      null,
    ],
    ['a few faults in a row', [['fault', 4]], null],
    [
      'as many faults in a row as say that nothing works',
      [['fault', 5]],
      '5 faults in a row, with no successful call between; 5 trip it.',
    ],
    [
      'a slow call between is a good one',
      [
        ['fault', 4],
        ['slow', 1],
        ['fault', 4],
      ],
      null,
    ],
    [
      'faults in a row among many good calls',
      [
        ['fine', 95],
        ['fault', 5],
      ],
      '5 faults in a row, with no successful call between; 5 trip it.',
    ],
    [
      'just enough faults',
      [
        ['fine', 18],
        ['fault', 2],
      ],
      '2 of 20 calls in 5 min were faults; 10 % trips it.',
    ],
    [
      'just too few faults',
      [
        ['fine', 19],
        ['fault', 2],
      ],
      null,
    ],
    [
      'just enough slow calls',
      [
        ['fine', 14],
        ['slow', 6],
      ],
      '6 of 20 calls in 5 min took 6000 ms or longer; 30 % trips it.',
    ],
    [
      'just too few slow calls',
      [
        ['fine', 15],
        ['slow', 6],
      ],
      null,
    ],
    [
      'slow calls are no faults',
      [
        ['fine', 15],
        ['slow', 5],
      ],
      null,
    ],
  ])('%s', (_name, calls, why) => {
    expect(reasonOf(calls)).toBe(why);
  });
});

describe('a row of faults', () => {
  const MINUTE = 60_000;
  const rowOf = (pause_ms: number) => {
    const window = emptyWindow();
    for (let nth = 0; nth < 5; nth++) addCall(window, rules, START + nth * pause_ms, 'fault', own());
    return sumsOf(window, rules, START + 4 * pause_ms);
  };

  it('of a shop that sells a few times an hour is longer than the window', () => {
    expect(rowOf(20 * MINUTE)).toMatchObject({ calls: 1, in_a_row: 5 });
  });

  it('ends where nothing was called for an hour', () => {
    expect(rowOf(60 * MINUTE)).toMatchObject({ calls: 1, in_a_row: 1 });
  });
});

describe('sliding', () => {
  it('lets go of what is older than the window, and keeps what is not', () => {
    const window = windowOf([['fault', 20]]);
    expect(sumsOf(window, rules, START + rules.window_ms - 10_000)).toMatchObject({ calls: 20, faults: 20 });
    expect(sumsOf(window, rules, START + rules.window_ms)).toMatchObject({ calls: 0, faults: 0 });
    addCall(window, rules, START + rules.window_ms, 'fine', own());
    expect(window.slices).toHaveLength(1);
  });

  it('keeps as little for a busy merchant as for a quiet one', () => {
    const window = emptyWindow();
    for (let at = START; at < START + 4 * rules.window_ms; at += 100) addCall(window, rules, at, 'fine', own());
    expect(window.slices.length).toBeLessThanOrEqual(30);
    expect(sumsOf(window, rules, START + 4 * rules.window_ms - 1)).toMatchObject({ calls: 3000, faults: 0 });
  });

  it('names the calls that were not fine, newest first, at most ten, and none that has left the window', () => {
    const window = windowOf([['fault', 12]]);
    addCall(window, rules, START + 1, 'slow', { exchange: 'the slow one', fault: { of: 'x' } });
    addCall(window, rules, START + 2, 'fine', own());
    const { exchanges } = sumsOf(window, rules, START + 2);
    expect([exchanges.length, exchanges[0], exchanges.at(-1)]).toEqual([10, 'the slow one', `call ${calls - 9}`]);
    expect(sumsOf(window, rules, START + 2 * rules.window_ms).exchanges).toEqual([]);
  });
});

describe('retries of a fault', () => {
  const MINUTE = 60_000;
  const retry = (nth: number) => ({ exchange: `retry ${nth}`, fault: { of: 'the create in doubt' } });

  it('are one fault, in the row too, however long they go on, and dilute nothing', () => {
    const window = emptyWindow();
    for (let nth = 0; nth < 90; nth++) addCall(window, rules, START + nth * MINUTE, 'fault', retry(nth));
    const at = START + 89 * MINUTE;
    expect(sumsOf(window, rules, at)).toMatchObject({ calls: 0, faults: 0 });
    expect(tripReason(sumsOf(window, rules, at), rules)).toBeNull();
    const soon = windowOf([['fault', 4]]);
    for (let nth = 0; nth < 12; nth++) addCall(soon, rules, START, 'fault', retry(nth));
    expect(sumsOf(soon, rules, START)).toMatchObject({ calls: 5, faults: 5, in_a_row: 5 });
    expect(sumsOf(soon, rules, START).exchanges.filter((id) => id.startsWith('retry'))).toEqual(['retry 0']);
  });

  it('of a sale that was not sent are one fault for 15 seconds; then it is the next customer’s', () => {
    const window = emptyWindow();
    const unsent = (nth: number) => ({ exchange: `try ${nth}`, fault: { of: 'T1 1500', new_after_ms: 15_000 } });
    const tried = (from_s: number, to_s: number): void => {
      for (let s = from_s; s < to_s; s++) addCall(window, rules, START + s * 1_000, 'fault', unsent(s));
    };
    tried(0, 15);
    expect(sumsOf(window, rules, START + 15_000)).toMatchObject({ calls: 1, faults: 1, in_a_row: 1 });
    tried(15, 61);
    expect(sumsOf(window, rules, START + MINUTE)).toMatchObject({ calls: 5, faults: 5, in_a_row: 5 });
  });

  it('are new faults where the clock was set back since', () => {
    const window = emptyWindow();
    const unsent = { exchange: 'try', fault: { of: 'T1 1500', new_after_ms: 15_000 } };
    for (const at of [START, START - 60 * MINUTE, START - 59 * MINUTE]) addCall(window, rules, at, 'fault', unsent);
    expect(window.row.faults).toBe(3);
  });

  it('are forgotten with those of other faults, so that memory is bounded', () => {
    const window = windowOf([['fault', 500]]);
    expect(window.seen.size).toBe(100);
  });
});

describe('how near it is', () => {
  it.each<[string, [Class, number][], number, number | null]>([
    ['nothing called', [], 5, 20],
    ['faults in a row', [['fault', 3]], 2, 17],
    [
      'a share',
      [
        ['fine', 18],
        ['fault', 1],
        ['fine', 1],
      ],
      2,
      9,
    ],
    [
      'tripped',
      [
        ['fine', 18],
        ['fault', 2],
      ],
      0,
      0,
    ],
  ])('%s', (_name, of_calls, faults_left, slow_left) => {
    const sums = sumsOf(windowOf(of_calls), rules, START);
    expect(leftOf(sums, rules)).toEqual({ faults_left, slow_left });
    // The number that is named trips it, and one less does not.
    for (const [is, left] of [
      ['fault', faults_left],
      ['slow', slow_left ?? 0],
    ] as const)
      for (const [more, trips] of [
        [left, true],
        [left - 1, false],
      ] as const) {
        if (more < 0) continue;
        const then = sumsOf(windowOf([...of_calls, [is, more]]), rules, START);
        expect(tripReason(then, rules) !== null, `${more} more ${is}`).toBe(trips);
      }
  });

  it('at a share of 100 % is a number, and faults alone or in a row trip it', () => {
    const all = { ...rules, fault_share: 100 };
    const leftAfter = (of_calls: [Class, number][]) => leftOf(sumsOf(windowOf(of_calls), all, START), all).faults_left;
    expect([leftAfter([]), leftAfter([['fault', 1]]), leftAfter([['fine', 1]])]).toEqual([
      leftAfter([['fault', 1]]) + 1,
      expect.any(Number),
      leftAfter([]),
    ]);
    expect(Number.isInteger(leftAfter([['fault', 1]]))).toBe(true);
  });
});
