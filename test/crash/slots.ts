/** Chains side by side: as many as keep the cores at work, because a chain often waits. */

/** A start costs a third of a second of one core; a second file may run beside this one. */
const CHAINS_AT_ONCE = 3;

/** At most `free` at a time, in the order of asking. */
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
