/** Timers of the virtual clock in the order in which they fall due. */

export interface Timer {
  /** The virtual time at which it fires, epoch milliseconds. */
  due_at_ms: number;
  cancel(): void;
}

export interface Due extends Timer {
  run: () => void;
}

export interface TimerQueue {
  add(due_at_ms: number, run: () => void): Due;
  /** The next timer that is not canceled. */
  first(): Due | null;
  takeFirst(): void;
  clear(): void;
}

interface Entry extends Due {
  /** Timers of the same time fire in the order in which they were added. */
  sequence: number;
  canceled: boolean;
}

export function createTimerQueue(): TimerQueue {
  const heap: Entry[] = [];
  let sequence = 0;
  return {
    add(due_at_ms, run) {
      const entry: Entry = {
        due_at_ms,
        run,
        sequence: sequence++,
        canceled: false,
        cancel() {
          entry.canceled = true;
          entry.run = () => {}; // what it would have touched may be forgotten
        },
      };
      insert(heap, entry);
      return entry;
    },
    first() {
      for (let next = heap[0]; next?.canceled; next = heap[0]) takeFirst(heap);
      return heap[0] ?? null;
    },
    takeFirst: () => takeFirst(heap),
    clear() {
      heap.length = 0;
    },
  };
}

/** Binary heap by due time, then by order of scheduling; an order's expiry timer costs O(log n) even under load. */
function insert(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || isBefore(above, entry)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function takeFirst(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = heap[2 * index + 1];
    const right = heap[2 * index + 2];
    if (left === undefined) break;
    const pickRight = right !== undefined && isBefore(right, left);
    const child = pickRight ? right : left;
    if (isBefore(last, child)) break;
    heap[index] = child;
    index = 2 * index + (pickRight ? 2 : 1);
  }
  heap[index] = last;
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.due_at_ms < other.due_at_ms || (one.due_at_ms === other.due_at_ms && one.sequence < other.sequence);
}
