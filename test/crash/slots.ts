/** Runs chains in parallel, as many as keep the cores busy: a chain often waits. */

/** A start costs a third of a second of one core; a second test file may run in parallel. */
const CHAINS_AT_ONCE = 3;

/** At most `free` tasks at a time, in the order of the calls. */
export function createSlots(free = CHAINS_AT_ONCE): <T>(work: () => Promise<T>) => Promise<T> {
  const tails: Promise<unknown>[] = Array.from({ length: free }, () => Promise.resolve());
  let next = 0;
  return (work) => {
    const slot = next++ % free;
    const mine = (tails[slot] ?? Promise.resolve()).then(work, work);
    tails[slot] = mine;
    return mine;
  };
}
