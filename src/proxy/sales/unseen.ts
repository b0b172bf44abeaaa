/** How long an order may go on that nobody sees; apart from links, because the writer's thread starts with this and no schemas. */

/** At most so much of its lifetime is left: the default lifetime. A QR may live for months. */
export const LONGEST_UNSEEN_MS = 15 * 60_000;
