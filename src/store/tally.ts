/** The arithmetic of sums: keyed sums of one batch, the span of their times, and the exchange that shows one. */
import type { RecordedExchange } from '../proxy/records/evidence.ts';
import type { Value } from './unit.ts';

/** Sums by key; a row is the key's parts and what the sum lists after them. */
export interface Sums<Sum> {
  of(key: Value[], start: () => Sum): Sum;
  rows(values: (sum: Sum) => Value[]): Value[][];
}

export function newSums<Sum>(): Sums<Sum> {
  const sums = new Map<string, { key: Value[]; sum: Sum }>();
  return {
    of(written, start) {
      // As it is stored: two names of which only a half of a surrogate pair differs are one.
      const key = written.map((part) => (typeof part === 'string' ? part.toWellFormed() : part));
      const name = JSON.stringify(key);
      const known = sums.get(name);
      if (known !== undefined) return known.sum;
      const sum = start();
      sums.set(name, { key, sum });
      return sum;
    },
    rows: (values) => [...sums.values()].map(({ key, sum }) => [...key, ...values(sum)]),
  };
}

/** Epoch ms of the first and the last call. */
export interface Span {
  first_at: number;
  last_at: number;
}

export function spanFrom(at: number): Span {
  return { first_at: at, last_at: at };
}

export function widen(span: Span, at: number): void {
  span.first_at = Math.min(span.first_at, at);
  span.last_at = Math.max(span.last_at, at);
}

/** The exchange that shows a finding, and the tables it was found with. */
export interface Shown {
  sample: string;
  tables_revision: string;
}

export function shownBy(exchange: RecordedExchange): Shown {
  return { sample: exchange.id, tables_revision: exchange.tables_revision };
}

/** Each key once; the last of its items stands for it. */
export function onceEach<Item>(items: readonly Item[], keyOf: (item: Item) => string[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(keyOf(item)), item])).values()];
}
