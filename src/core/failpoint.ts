/** The named points at which a crash test may stop the process (`reliability.md` §5.4); otherwise they do nothing. */

export const failpoints = [
  'create.before_row',
  'create.row_written',
  'create.before_send',
  'create.answer_read',
  'create.settled',
  'answer.sent',
  'carried.row_written',
  'order.applied',
  'cancel.marked',
  'cancel.sent',
  'refund.row_written',
  'refund.answer_read',
  'refund.settled',
  'event.before_inbox',
  'event.received',
  'notices.committed',
  'notice.sent',
  'notice.recorded',
  'stage.before_save',
  'stage.saved',
  'store.group_posted',
  'migration.begun',
  'migration.applied',
  'migration.committed',
  'copy.written',
  'copy.in_place',
  'backup.begun',
  'backup.copied',
  'backup.in_place',
  'restore.proved',
  'restore.aside',
  'restore.in_place',
] as const;

export type Failpoint = (name: (typeof failpoints)[number]) => void;
export const noFailpoint: Failpoint = () => undefined;
