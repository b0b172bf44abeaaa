/** How long a create may go on when its end was seen by nobody. */

/** A create that ended while nobody looked has at most so much of its lifetime left: the default lifetime. A QR may live for months. */
export const LONGEST_UNSEEN_MS = 15 * 60_000;
