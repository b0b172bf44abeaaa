/** A list that keeps its newest entries: the sandbox's logs never grow past their bound. */

export interface Ring<Entry> {
  push(entry: Entry): void;
  /** Oldest first. */
  list(): Entry[];
  clear(): void;
}

export function createRing<Entry>(capacity: number): Ring<Entry> {
  let entries: Entry[] = [];
  let next = 0;
  return {
    push(entry) {
      entries[next] = entry;
      next = (next + 1) % capacity;
    },
    list: () => (entries.length < capacity ? [...entries] : [...entries.slice(next), ...entries.slice(0, next)]),
    clear() {
      entries = [];
      next = 0;
    },
  };
}
