/** The failpoints that the server is killed at, and how often, in the order of the kills of each chain. */

/** The protocol is the same on both engines, so the database server gets fewer kills. */
export const IS_ON_SERVER = process.env.TEST_POSTGRES_URL !== undefined;
/** Kills at each failpoint, over all chains; for a longer proof: `CRASH_POINT_REPEATS=200`. */
export const REPEATS = Number(process.env.CRASH_POINT_REPEATS ?? 1);
/** Kills at random moments, over all chains: `CRASH_KILLS=10000`. */
export const KILLS = Number(process.env.CRASH_KILLS ?? (IS_ON_SERVER ? 4 : 15));
/** A kill from outside in a chain of failpoints, when the parent sees the work in progress. */
export const OUTSIDE = 'outside';
/** Each chain has its own directory, sandbox and terminals. */
const CHAIN_KILLS = 50;

/** So many tenths of a point's kills, at least one; the rest is in other chains. */
const tenths = (count: number): number => Math.ceil((REPEATS * count) / 10);
/** So many tenths more, in a chain that has the point already. */
const moreTenths = (count: number): number => Math.floor((REPEATS * count) / 10);

/** From the repeat to the settlement, each more than once in a row: every start finds what the kill before it left. */
const IN_RECOVERY = [
  'create.before_send',
  'create.answer_read',
  'create.before_send',
  'create.answer_read',
  'create.settled',
  'cancel.marked',
  'cancel.marked',
  'cancel.sent',
  'order.applied',
  'order.applied',
];

export const PLAN = {
  create: [
    ...rounds(tenths(4), 'create.before_row', 'create.row_written', 'create.before_send', 'create.answer_read'),
    ...rounds(moreTenths(4), 'create.before_row', 'create.row_written', 'answer.sent'),
    ...rounds(tenths(6), 'create.settled'),
    ...rounds(tenths(4), 'answer.sent'),
    // Of the writer thread, which only SQLite has.
    ...(IS_ON_SERVER ? [] : rounds(tenths(10), 'store.group_posted')),
  ],
  recovery: rounds(tenths(2), ...IN_RECOVERY),
  event: [
    ...rounds(tenths(10), 'event.before_inbox', 'event.received'),
    ...rounds(tenths(6), 'notices.committed', 'order.applied', 'notice.sent', 'notice.recorded'),
    ...rounds(moreTenths(4), 'notices.committed', 'notice.sent', 'notice.recorded'),
  ],
  toggle: rounds(tenths(10), 'stage.before_save', 'stage.saved'),
  proxied: rounds(tenths(10), 'proxied.row_written'),
  /** Most sales replace an earlier one, whose order is canceled first. */
  qr_create: [
    ...rounds(
      tenths(2),
      'create.before_row',
      'create.row_written',
      'create.before_send',
      'create.answer_read',
      'create.settled',
      'answer.sent',
    ),
    ...rounds(tenths(6), 'cancel.marked'),
    ...rounds(tenths(8), 'cancel.sent'),
  ],
  qr_refund: rounds(tenths(10), 'refund.row_written', 'refund.answer_read', 'refund.settled'),
  first_start: rounds(tenths(5), 'migration.begun', 'migration.applied', 'migration.committed'),
  migration: [
    ...rounds(tenths(5), 'migration.begun', 'migration.applied', 'migration.committed'),
    ...rounds(tenths(4), OUTSIDE),
  ],
  backup: rounds(tenths(10), 'backup.begun', 'backup.copied', 'backup.in_place'),
  copy: [...rounds(tenths(10), 'copy.written', 'copy.in_place'), ...rounds(tenths(2), OUTSIDE)],
};

function rounds(count: number, ...points: string[]): string[] {
  return Array.from({ length: count }, () => points).flat();
}

export function chainsOf(points: string[]): string[][] {
  const count = Math.max(1, Math.ceil(points.length / CHAIN_KILLS));
  const length = Math.ceil(points.length / count);
  return Array.from({ length: count }, (_, index) => points.slice(index * length, (index + 1) * length));
}

export function anyMoment(count: number): string[] {
  return Array.from({ length: count }, () => OUTSIDE);
}
