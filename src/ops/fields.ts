/** Fields that many operations share (instants, merchants, limits, reasons), and reading a list page by page. */

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { USER_ID } from '../contract/identifiers.ts';
import { PuenteError, type Said, type Spoken } from '../error.ts';
import { encoded, say } from '../locales/message.ts';
import { yieldToEventLoop } from '../proxy/concurrency.ts';
import { maskWritten } from '../proxy/evidence/redact-text.ts';
import type { CallSeen, ExchangeFilter, StoredExchange } from '../proxy/records/evidence.ts';
import type { ExchangeStore } from './ports.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Parses an RFC 3339 instant to epoch ms. */
export const instant = z.iso
  .datetime({ offset: true, error: encoded(say('input.instant', { example: '2026-01-31T09:00:00Z' })) })
  .transform((text) => Date.parse(text));
export const merchantId = z
  .string()
  .regex(USER_ID, { error: ({ input }) => encoded(noId('input.user_id', maskWritten(String(input)))) })
  .describe('of this merchant');

/** The sentence about a text in place of an id. `runRow` adds the merchants that are near it (`namingRefusal`). */
export function noId(code: 'refusal.merchant_id' | 'input.user_id', typed: string): Spoken {
  return say(code, { id: typed.slice(0, LONGEST_NAME), near: [], has_near: false });
}

/** Characters of a merchant's name. */
export const LONGEST_NAME = 80;

/** True for a text without U+FFFD, which stands for characters that were lost when a file was read in another encoding. */
export function isWhole(text: string | null): boolean {
  return text === null || !text.includes('\uFFFD');
}

export const LOST_CHARACTERS = encoded(say('input.lost_characters', {}));

/** @param file its name, for errors; null for a pasted text. @throws PuenteError bad_request with the first line that is not whole. */
export function refuseDamaged(text: string, file: string | null): void {
  const line = text.split('\n').findIndex((one) => !isWhole(one)) + 1;
  if (line > 0) throw new PuenteError('bad_request', say('input.damaged', { file, line }));
}

/** Merchants by their ids, one at least. */
export type Whose = readonly string[];
/** The field `merchant` of a list. As it is typed until `runRow` has put the ids in its place (`merchantsMeant`). */
export const whose = z
  .string()
  .trim()
  .min(1)
  .max(LONGEST_NAME)
  .transform((typed): Whose => [typed])
  .describe(
    'only of the merchant with this id, or of those with this name or tag, or with this in them; digits are always an id',
  );
export const byMerchant = z.strictObject({ merchant: whose.exactOptional() });

/** A message by its code and facts; answers have it beside the English text. */
export const said = z
  .object({
    code: z.string().describe('of the sentence, a word for programs'),
    facts: z.record(z.string(), z.unknown()).describe('values of the sentence; instants are RFC 3339'),
  })
  .describe('the sentence by its code, for other languages') as unknown as z.ZodType<Said>; // facts are core's own
export const time = z.iso.datetime();
export const lane = z.enum(['legacy', 'orders']);
export const currency = z.string().regex(/^[A-Z]{3}$/, encoded(say('input.currency', { example: 'ARS' })));

/** The `limit` of a list. @param code of the message, where it says how to reach the other rows. */
export function listLimit(usual: number, most: number, code = 'input.limit') {
  const wrong = encoded(say(code, { most }));
  return z.coerce.number({ error: wrong }).int(wrong).min(1, wrong).max(most, wrong).default(usual);
}

/** Every change has one. It stays in the audit chain: a secret in it is masked, because no rollback is refused for its words. */
export const no_reason = say('input.reason', {});
const NO_REASON = encoded(no_reason);
export const reason = z
  .string(NO_REASON)
  .trim()
  .min(3, NO_REASON)
  .max(500, NO_REASON)
  .transform(maskWritten)
  .describe('why, for the audit trail');

export const reasonAlone = z.strictObject({ reason });

/** RFC 3339. @param at epoch ms. */
export function iso(at: number): string;
export function iso(at: number | null): string | null;
export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** A script's clock may run ahead of Puente's by less. */
const AHEAD_MS = MINUTE_MS;

/**
 * An empty list would look like one in which nothing happened. The window is [since, until), in epoch ms as `now`.
 * @throws PuenteError bad_request where it is empty or begins in the future.
 */
export function refuseEmptyWindow(since: number, until: number, now: number): void {
  if (since >= until)
    throw new PuenteError('bad_request', say('refusal.empty_window', { since_at: iso(since), until_at: iso(until) }));
  if (since > now + AHEAD_MS)
    throw new PuenteError('bad_request', say('refusal.future_window', { since_at: iso(since), now_at: iso(now) }));
}

export type Shown<Row> = {
  [Name in keyof Row]: Name extends 'at' | `${string}_${'at' | 'until'}`
    ? Row[Name] extends number
      ? string
      : string | null
    : Row[Name];
};

/** A row as it is answered: instants (`at`, `…_at`, `…_until`) in RFC 3339. */
export function shown<Row extends object>(row: Row): Shown<Row> {
  const fields = Object.entries(row).map(([name, value]) => [name, /(^|_)at$|_until$/.test(name) ? iso(value) : value]);
  return Object.fromEntries(fields);
}

/** A number for display. @param decimals digits after the point. */
export function rounded(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** Without the fields that are undefined, as optional properties want them. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>; // the others stay
}

type Defined<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & { [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined> };

/** The UTC day, ISO 8601. @param at epoch ms. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/**
 * Rows in ascending order of their sequence, page by page; other work runs between two pages.
 * @param read at most `size` rows after a sequence; a shorter page is the last.
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
    await yieldToEventLoop();
  }
}

/**
 * Calls after the last one that was read before, page by page. A standby that takes over may lack it, and gives its number to
 * another: then all are read anew. @param forget drops what was read before.
 */
export async function* callsAfter(
  exchanges: Pick<ExchangeStore, 'calls'>,
  filter: ExchangeFilter,
  size: number,
  last: CallSeen | null,
  forget: () => void,
): AsyncGenerator<CallSeen[]> {
  const read = (after: number, most: number) => exchanges.calls(filter, after, most);
  const is_there = last !== null && isDeepStrictEqual((await read(last.sequence - 1, 1))[0], last);
  if (last !== null && !is_there) forget();
  yield* pagesOf(read, size, is_there ? last.sequence : 0);
}

/** Exchanges recorded before the call, page by page; later ones belong to the next reader. */
export async function exchangePages(
  store: Pick<ExchangeStore, 'exchanges' | 'lastExchange'>,
  filter: ExchangeFilter,
  size: number,
): Promise<AsyncIterable<StoredExchange[]>> {
  const last = await store.lastExchange();
  const pages = pagesOf((after, most) => store.exchanges(filter, after, most), size);
  return (async function* () {
    for await (const page of pages) {
      const wanted = page.filter(({ sequence }) => sequence <= last);
      yield wanted;
      if (wanted.length < page.length) return;
    }
  })();
}
