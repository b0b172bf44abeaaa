/** Which named points the server is killed at, and how often: by failpoint, in the order of the kills of one chain. */

/** Kills at each named point; more for a longer proof: `CRASH_KILLS=200`. */
export const KILLS = Number(process.env.CRASH_KILLS ?? 10);
/** Kills at random moments, over all chains that have them. */
export const RANDOM_KILLS = Number(process.env.CRASH_RANDOM_KILLS ?? 300);
/** A kill from outside, in a chain of named points: when the parent sees the work under way. */
export const OUTSIDE = 'outside';
/** Kills in one chain at most: each has a directory, a sandbox and terminals of its own. */
const CHAIN_KILLS = 50;

/** Half as often where another chain kills at the same points. */
const HALF = Math.ceil(KILLS / 2);
const FEW = Math.ceil(KILLS / 5);

/** From the replay to the settlement, each more than once in a row: what one kill left is what the next start finds. */
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

/** The points of each chain, one for each kill. */
export const PLAN = {
  row: rounds(KILLS, 'create.before_row', 'store.group_posted'),
  sending: rounds(KILLS, 'create.row_written', 'create.before_send'),
  answer_read: rounds(KILLS, 'create.answer_read'),
  settled: rounds(KILLS, 'create.settled'),
  answered: rounds(KILLS, 'answer.sent'),
  /** `reliability.md` F34: 20 in a row. */
  recovery: rounds(FEW, ...IN_RECOVERY),
  before_inbox: rounds(KILLS, 'event.before_inbox'),
  in_inbox: rounds(KILLS, 'event.received'),
  applied: rounds(KILLS, 'notices.committed', 'order.applied'),
  delivered: rounds(KILLS, 'notice.sent', 'notice.recorded'),
  toggle: rounds(KILLS, 'stage.before_save', 'stage.saved'),
  carried: rounds(KILLS, 'carried.row_written'),
  qr_create: rounds(
    FEW,
    'create.before_row',
    'create.row_written',
    'create.before_send',
    'create.answer_read',
    'create.settled',
    'answer.sent',
  ),
  qr_replace: rounds(KILLS, 'cancel.marked', 'cancel.sent'),
  qr_refund: rounds(KILLS, 'refund.row_written', 'refund.answer_read', 'refund.settled'),
  first_start: rounds(HALF, 'migration.begun', 'migration.applied', 'migration.committed'),
  migration: [
    ...rounds(HALF, 'migration.begun', 'migration.applied', 'migration.committed'),
    ...rounds(FEW, OUTSIDE, OUTSIDE),
  ],
  backup: rounds(KILLS, 'backup.begun', 'backup.copied', 'backup.in_place'),
  copy: [...rounds(KILLS, 'copy.written', 'copy.in_place'), ...rounds(FEW, OUTSIDE)],
};

function rounds(count: number, ...points: string[]): string[] {
  return Array.from({ length: count }, () => points).flat();
}

/** A long list of kills as several chains. */
export function chainsOf(points: string[]): string[][] {
  const count = Math.max(1, Math.ceil(points.length / CHAIN_KILLS));
  const length = Math.ceil(points.length / count);
  return Array.from({ length: count }, (_, index) => points.slice(index * length, (index + 1) * length));
}

/** Kills without a point. */
export function anyMoment(count: number): string[] {
  return Array.from({ length: count }, () => OUTSIDE);
}
