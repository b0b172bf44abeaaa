/** Groups by key, each with its count, its span of time and the newest exchange that shows it. */
import type { StoredExchange } from '../../proxy/records/evidence.ts';

export interface Group<Facts> {
  /** Of the newest call. */
  facts: Facts;
  count: number;
  first_at: number;
  last_at: number;
  shown: StoredExchange;
}

export interface Groups<Facts> {
  /** Counts a call in the group of the key. */
  add(key: readonly (string | number)[], facts: Facts, shown: StoredExchange): void;
  all(): Group<Facts>[];
}

export function createGroups<Facts>(): Groups<Facts> {
  const groups = new Map<string, Group<Facts>>();
  return {
    add(key, facts, shown) {
      const name = JSON.stringify(key);
      const { at } = shown;
      const known = groups.get(name);
      if (known === undefined) {
        groups.set(name, { facts, count: 1, first_at: at, last_at: at, shown });
        return;
      }
      known.count++;
      known.first_at = Math.min(known.first_at, at);
      if (at >= known.last_at) Object.assign(known, { facts, shown, last_at: at });
    },
    all: () => [...groups.values()],
  };
}

/** Puts groups together whose key is the same; the first one's facts stand. */
export function mergedBy<Facts>(groups: readonly Group<Facts>[], keyOf: (facts: Facts) => string): Group<Facts>[][] {
  const merged = new Map<string, Group<Facts>[]>();
  for (const group of groups) {
    const key = keyOf(group.facts);
    const same = merged.get(key);
    if (same === undefined) merged.set(key, [group]);
    else same.push(group);
  }
  return [...merged.values()];
}

/** Each key once; the last of its items stands for it. */
export function onceEach<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}
