/** The one rule for why something is done: whoever changes anything says it, and the audit trail keeps it. */
import { z } from 'zod';

/** What is said to whoever leaves it out, or is too short or long about it. */
export const SAY_WHY = 'say why, in 3 to 500 characters; it stands in the audit line';
export const reason = z.string(SAY_WHY).trim().min(3, SAY_WHY).max(500, SAY_WHY);
