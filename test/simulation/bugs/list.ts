/** The seeded bugs of `docs/protocol.md` §5.4: each breaks one rule of the protocol, and the checker must catch it. */
import { readBugs } from './bug.ts';
import { createBugs } from './creates.ts';
import { otherBugs } from './others.ts';
import { refundBugs } from './refunds.ts';
import { stateBugs } from './states.ts';

export { type Bug, patched } from './bug.ts';

export const bugs = readBugs([...createBugs, ...stateBugs, ...refundBugs, ...otherBugs]);
