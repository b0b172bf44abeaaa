/** Of whom a list is: a merchant by its id, or those of a name or tag; and the reads of several merchants. */
import { USER_ID } from '../contract/identifiers.ts';
import { type Fact, PuenteError, type Said, type Spoken } from '../error.ts';
import { say } from '../locales/message.ts';
import { folded } from '../mapping/near.ts';
import { yieldToEventLoop } from '../proxy/concurrency.ts';
import type { BulkMove } from '../proxy/records/routing.ts';
import { defined, type Whose } from './fields.ts';
import type { MoveStore, Ports } from './ports.ts';
import { knownMerchants, labeled, type Named, named, nearEach, refuseUnseenRead, whatIsNear } from './seen.ts';

/**
 * Whom an operator means by the field `merchant` of a list. Digits are an id, and are looked up nowhere: a mistyped id never
 * shows the rows of another merchant. A whole name or tag means those that have it alone, a part of one all that contain it.
 * @returns ids, one at least. @throws PuenteError not_found for a text that is in no name and no tag, with those that are near it.
 */
export async function merchantsMeant(ports: Ports, typed: string): Promise<string[]> {
  const id = folded(typed);
  if (USER_ID.test(id)) return [id];
  const found = labeled(await knownMerchants(ports), typed);
  if (found.length > 0) return found.map(({ id }) => id);
  throw new PuenteError('not_found', [say('refusal.nobody_meant', { typed }), ...(await whatIsNear(ports, typed))]);
}

/**
 * A refusal as people read it: with the name of each merchant beside its id; and where a text was typed in place of an id, with the
 * merchants that are near it.
 */
export async function namingRefusal(ports: Ports, error: PuenteError): Promise<PuenteError> {
  const { code, said, facts, between } = error;
  const ids = said.flatMap(({ facts: its }) => NAMED.flatMap((field) => idIn(its, field) ?? []));
  const names = ids.length === 0 ? new Map<string, string>() : await ports.store.merchants.merchantNames(ids);
  const near = await nearEach(ports, said.flatMap(typedIn));
  if (names.size === 0 && near.size === 0) return error;
  const again = said.map((one) => {
    const nameOf = (field: string) => names.get(idIn(one.facts, field) ?? '');
    const more = NAMED.map((field) => [`${field}_name`, nameOf(field)]).filter(([, name]) => name !== undefined);
    return withNear({ code: one.code, facts: { ...one.facts, ...Object.fromEntries(more) } }, near);
  });
  return new PuenteError(code, again, { facts, between, cause: error });
}

/** Facts that are the id of a merchant; the name of one is a fact beside it, such as `merchant_name`. */
const NAMED = ['merchant', 'owner'] as const;

function idIn(facts: Said['facts'], field: string): string | null {
  const id = facts[field];
  return typeof id === 'string' && USER_ID.test(id) ? id : null;
}

/** Sentences about a text in place of an id, their fact `id`. */
const NO_ID: readonly string[] = ['refusal.merchant_id', 'input.user_id'];

/** None in any other sentence. */
function typedIn({ code, facts: { id, wrong } }: Said): string[] {
  if (NO_ID.includes(code)) return [String(id)];
  return isSpoken(wrong) ? typedIn(wrong.said) : [];
}

function withNear({ code, facts }: Said, near: ReadonlyMap<string, string[]>): Spoken {
  const { wrong, id } = facts;
  const its = NO_ID.includes(code) ? near.get(String(id)) : undefined;
  if (its !== undefined) return say(code, { ...facts, near: its, has_near: true });
  return say(code, isSpoken(wrong) ? { ...facts, wrong: withNear(wrong.said, near) } : facts);
}

function isSpoken(fact: Fact | undefined): fact is Spoken {
  return typeof fact === 'object' && fact !== null && 'said' in fact && fact.said !== null;
}

/** Whether a row is of them. */
export function isOf(whose: Whose | undefined): (merchant_id: string | null) => boolean {
  if (whose === undefined) return () => true;
  const wanted = new Set(whose);
  return (merchant_id) => merchant_id !== null && wanted.has(merchant_id);
}

/** The only one of them, whose rows an index has; undefined for several, and for everyone. */
export function onlyOf(whose: Whose | undefined): string | undefined {
  return whose?.length === 1 ? whose[0] : undefined;
}

/**
 * Rows of each of them by its index; other work runs between two reads. Newest first, as each read is; or in the order of ids.
 * @param read of everyone without an id. @param order `newest` makes the key of a row, once. @throws when the signal is aborted.
 */
export async function ofEach<Row>(
  whose: Whose | undefined,
  read: (merchant_id?: string) => Promise<Row[]>,
  signal: AbortSignal | null,
  order?: { newest(row: Row): number | string; limit?: number },
): Promise<Row[]> {
  if (whose === undefined) return read();
  const { newest = () => 0, limit = Number.POSITIVE_INFINITY } = order ?? {};
  type Keyed = [key: number | string, row: Row];
  const first = (keyed: Keyed[]): Keyed[] =>
    keyed.toSorted(([one], [other]) => Number(one < other) - Number(one > other)).slice(0, limit);
  let keyed: Keyed[] = [];
  for (const merchant_id of whose) {
    signal?.throwIfAborted();
    for (const row of await read(merchant_id)) keyed.push([newest(row), row]);
    // Not after each merchant: with thousands of them the sorting would block the event loop for seconds.
    if (keyed.length > 2 * limit) keyed = first(keyed);
    if (whose.length > 1) await yieldToEventLoop();
  }
  return first(keyed).map(([, row]) => row);
}

/** Bulk moves and ramps that name any of them, newest first; each names many, so that they are looked through once. */
export async function bulkMovesOf(
  { store }: Pick<Ports, 'store'>,
  whose: Whose | undefined,
  filter: Omit<Parameters<MoveStore['bulkMoves']>[0], 'merchant_id'>,
  limit: number,
): Promise<BulkMove[]> {
  if (whose === undefined || whose.length === 1)
    return store.moves.bulkMoves(defined({ ...filter, merchant_id: onlyOf(whose) }), limit);
  const isMeant = isOf(whose);
  const found: BulkMove[] = [];
  for (let { before } = filter; ; ) {
    const page = await store.moves.bulkMoves(defined({ ...filter, before }), limit);
    found.push(...page.filter(({ items }) => items.some(({ merchant_id }) => isMeant(merchant_id))));
    if (page.length < limit || found.length >= limit) return found.slice(0, limit);
    before = page.at(-1)?.id;
  }
}

/** The rows of a list, which would say "none" of a mistyped id. @throws PuenteError as `refuseUnseenRead`. */
export async function listedOf<Row>(ports: Ports, whose: Whose | undefined, rows: Row[]): Promise<Row[]> {
  if (rows.length === 0) await refuseUnseenRead(ports, onlyOf(whose));
  return rows;
}

/** The same rows with the names of their merchants. @throws PuenteError as `refuseUnseenRead`. */
export async function namedOf<Row extends { merchant_id: string | null }>(
  ports: Ports,
  whose: Whose | undefined,
  rows: Row[],
): Promise<Named<Row>[]> {
  return named(ports, await listedOf(ports, whose, rows));
}
