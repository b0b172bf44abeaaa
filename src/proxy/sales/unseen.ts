/** A limit of recovery and store; in its own file, because the writer thread loads it and no schemas. */

/** An order that ended unseen counts as payable for so long at most: the default lifetime. A QR may live for months. */
export const LONGEST_UNSEEN_MS = 15 * 60_000;
