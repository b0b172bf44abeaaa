/** Fields that many operations take and show: instants, merchants, limits; and reading a list page by page. */
import { z } from 'zod';
import { USER_ID } from '../contract/identifiers.ts';
import { encoded, say } from '../locales/message.ts';

export const DAY_MS = 86_400_000;

/** Epoch ms of an RFC 3339 instant. */
export const instant = z.iso
  .datetime({ offset: true, error: encoded(say('input.instant', { example: '2026-01-31T09:00:00Z' })) })
  .transform((text) => Date.parse(text));
export const merchantId = z
  .string()
  .regex(USER_ID, encoded(say('input.user_id', {})))
  .describe('of this merchant');

/** How many rows are listed. @param code of the message, where it says how to reach the others. */
export function listLimit(usual: number, most: number, code = 'input.limit') {
  const wrong = encoded(say(code, { most }));
  return z.coerce.number({ error: wrong }).int(wrong).min(1, wrong).max(most, wrong).default(usual);
}

/** RFC 3339. @param at epoch ms. */
export function iso(at: number): string;
export function iso(at: number | null): string | null;
export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** The UTC day, ISO 8601. @param at epoch ms. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/**
 * Rows in ascending order of their sequence, page by page; other work has its turn between two pages.
 * @param read at most `size` rows after a sequence; fewer are the last ones.
 */
export async function* pagesOf<Row extends { sequence: number }>(
  read: (after: number, size: number) => Promise<Row[]>,
  size: number,
  after = 0,
): AsyncGenerator<Row[]> {
  for (let last = after; ; ) {
    const page = await read(last, size);
    yield page;
    if (page.length < size) return;
    last = page.at(-1)?.sequence ?? last;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
