/** Deleted entries of in-flight calls are freed: measured by the old space after minor collections. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createEntries } from '../../src/proxy/concurrency.ts';

const IN_FLIGHT = 64;
const CALLS = 4_000;
/** Per call. */
const VALUE_BYTES = 4_000;

setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' | 'major'; execution: 'sync' }) => void = runInNewContext('gc');

describe('what comes and goes with calls', () => {
  it('is found by its key until it is taken out, whatever the key', () => {
    const passing = createEntries<number>();
    const keys = ['0193b3f2-7c11-7abc', '12', '__proto__', 'constructor', ''];
    for (const [index, key] of keys.entries()) {
      expect(passing.has(key)).toBe(false);
      expect(passing.get(key)).toBeUndefined();
      passing.set(key, index);
    }
    passing.set('12', 7);
    expect(passing.size).toBe(5);
    expect(passing.values().sort()).toEqual([0, 2, 3, 4, 7]);
    expect(passing.keys().sort()).toEqual([...keys].sort());
    for (const key of [...keys, 'never there']) passing.delete(key);
    expect(passing.size).toBe(0);
    expect(passing.keys()).toEqual([]);
  });

  it('does not outlive young collections, as it does in a Map', () => {
    const [ofMap, ofPassing] = [new Map<string, number[]>(), createEntries<number[]>()].map(promotedBy);
    expect(ofMap, 'the reason for it; when V8 mends that, a Map will do').toBeGreaterThan((CALLS * VALUE_BYTES) / 2);
    expect(ofPassing).toBeLessThan((CALLS * VALUE_BYTES) / 10);
  });
});

/** Bytes promoted to the old space while calls were added and removed. */
function promotedBy(register: { set(key: string, value: number[]): unknown; delete(key: string): unknown }): number {
  const name = (call: number): string => `call-${call}`;
  const pass = (call: number): void => {
    register.set(
      name(call),
      Array.from({ length: VALUE_BYTES / 8 }, () => 0.5),
    );
    register.delete(name(call - IN_FLIGHT));
  };
  for (let call = 0; call < 2 * IN_FLIGHT; call++) pass(call);
  collect({ type: 'major', execution: 'sync' });
  const before = oldBytes();
  for (let call = 2 * IN_FLIGHT; call < CALLS; call++) {
    pass(call);
    if (call % (4 * IN_FLIGHT) === 0) collect({ type: 'minor', execution: 'sync' });
  }
  return oldBytes() - before;
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
}
