/** I6: the notices are exactly the changes of the sales. */
import { type Books, type Finding, HARMLESS, orderOf, PAID } from './cross-books.ts';
import type { BookedOrder, LinkFacts } from './history.ts';

/** States that legacy announced (`docs/field-notes.md` Point §3.1). */
const ANNOUNCED = new Set(['FINISHED', 'ERROR', 'CANCELED']);

export function changesTold(books: Books): Finding {
  const { told_of, told, database } = books;
  const due = database.links.flatMap((link) => {
    const order = orderOf(books, link);
    if (order === undefined) return [];
    return link.family === 'point' ? pointNotices(link) : qrNotices(link, order);
  });
  const untold = due.filter((notice) => !told_of.has(notice)).map((notice) => `no notice was sent: ${notice}`);
  const ends = new Map(due.map((notice) => [subjectOf(notice), notice]));
  const untrue = told.filter((notice) => isEnd(notice) && isUntrue(notice, ends.get(subjectOf(notice))));
  return { looked_at: due.length, violations: [...untold, ...untrue.map((notice) => `never was so: ${notice}`)] };
}

function subjectOf(notice: string): string {
  return notice.slice(0, notice.lastIndexOf(' '));
}

function isEnd(notice: string): boolean {
  return /^(point|merchant_order) .* (FINISHED|ERROR|CANCELED|closed|expired)$/.test(notice);
}

/** A notice without a row of Puente's is legacy's own. */
function isUntrue(notice: string, end: string | undefined): boolean {
  return end !== undefined && notice !== end;
}

function pointNotices({ legacy_id, legacy_state }: LinkFacts): string[] {
  return ANNOUNCED.has(legacy_state) ? [`point ${legacy_id} ${legacy_state}`] : [];
}

/** Terminal merchant orders, by webhooks, which hold their state; and payments, by both IPN and webhook. */
function qrNotices({ merchant_order_id }: LinkFacts, { status, payment_id }: BookedOrder): string[] {
  const end = PAID.has(status) ? ['closed'] : HARMLESS.has(status) ? ['expired'] : [];
  const paid = PAID.has(status) && payment_id !== null ? [`payment ${payment_id} `] : [];
  return [...end.map((state) => `merchant_order ${merchant_order_id} ${state}`), ...paid];
}
