/** The seeded bugs of `reliability.md` §5.4: each breaks one rule of the protocol, and the checker must catch it. */
import { readBugs } from './bug.ts';
import { createBugs } from './creates.ts';
import { otherBugs } from './others.ts';
import { stateBugs } from './states.ts';

export { type Bug, patched } from './bug.ts';

export const bugs = readBugs([...createBugs, ...stateBugs, ...otherBugs]);

/** @throws Error for a name that is no bug's. */
export function bugNamed(name: string) {
  const found = bugs.find((bug) => bug.name === name);
  if (found === undefined)
    throw new Error(`there is no seeded bug named ${name}; there are ${bugs.map((bug) => bug.name).join(', ')}`);
  return found;
}
