/** Work of this process that must not overlap waits here, in the order in which it was asked for, not at the server with a connection each. */
import { createPassing } from '../../proxy/lru.ts';
import type { Locks } from '../unit.ts';

export interface Turns {
  /** Runs `work` after all that was asked for before and may not go beside it. */
  take<Result>(locks: Locks, work: () => Promise<Result>): Promise<Result>;
}

/** Who has a name, or waits for it: the last that wants it alone, and those that share it after that one. */
interface Line {
  alone: Promise<unknown> | null;
  /** An array, because a Set holds on to what passed through it (`proxy/passing.ts`). */
  sharing: Promise<unknown>[];
}

export function createTurns(): Turns {
  const lines = createPassing<Line>();
  const lineOf = (name: string): Line => {
    const line = lines.get(name) ?? { alone: null, sharing: [] };
    lines.set(name, line);
    return line;
  };
  return {
    take(locks, work) {
      const alone = (locks.alone ?? []).map(lineOf);
      const shared = (locks.shared ?? []).map(lineOf);
      const before = [...alone, ...shared].map((line) => line.alone);
      for (const line of alone) before.push(...line.sharing);
      const mine = Promise.allSettled(before).then(work);
      for (const line of alone) Object.assign(line, { alone: mine, sharing: [] });
      for (const line of shared) line.sharing.push(mine);
      const leave = (): void => {
        for (const name of [...(locks.alone ?? []), ...(locks.shared ?? [])]) {
          const line = lineOf(name);
          const index = line.sharing.indexOf(mine);
          if (index !== -1) line.sharing.splice(index, 1);
          if (line.alone === mine) line.alone = null;
          if (line.alone === null && line.sharing.length === 0) lines.delete(name);
        }
      };
      mine.then(leave, leave);
      return mine;
    },
  };
}
