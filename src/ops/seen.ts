/** Merchants and units that Puente has seen: the only ones that an action may change, unless it makes one on purpose. */

import { z } from 'zod';
import { USER_ID } from '../contract/identifiers.ts';
import { PuenteError, type Spoken } from '../error.ts';
import { say } from '../locales/message.ts';
import { folded, MOST_NEAR, nearTo } from '../mapping/near.ts';
import { yieldToEventLoop } from '../proxy/concurrency.ts';
import { type Merchant, merchantSettings } from '../proxy/routing/merchant.ts';
import { LONGEST_NAME, noId, reasonAlone, said } from './fields.ts';
import { openSales } from './open-sales.ts';
import type { Ports } from './ports.ts';

/** The field `new` of every action on merchants. */
export const is_new = z
  .boolean()
  .default(false)
  .describe('also on a merchant or a unit that was never seen, which a mistyped id would be');
export const reasonOrNew = reasonAlone.extend({ new: is_new });

/** Whether an action may name what was never seen; null for an action that makes nothing. */
export type OnPurpose = { new: boolean } | null;

/**
 * The merchant before an action on it, and on these units of it; revision 0 without a row.
 * @throws PuenteError bad_request for an invalid id; not_found for a merchant or a unit that was never seen, with those
 * that are near it.
 */
export async function merchantToChange(
  ports: Ports,
  id: string,
  purpose: OnPurpose,
  units: readonly string[] = [],
): Promise<Merchant> {
  if (!USER_ID.test(id)) throw new PuenteError('bad_request', noId('refusal.merchant_id', id));
  const stored = await ports.store.merchants.merchant(id);
  if (stored === null) await refuseUnseen(ports, [id], purpose);
  const merchant = stored ?? newMerchant(id);
  if (units.length > 0 && purpose?.new !== true) await refuseUnseenUnits(ports, merchant, units);
  return merchant;
}

/** The merchant for a read; revision 0 without a row. @throws PuenteError bad_request for an invalid id. */
export async function merchantOf({ store }: Ports, id: string): Promise<Merchant> {
  if (!USER_ID.test(id)) throw new PuenteError('bad_request', noId('refusal.merchant_id', id));
  return (await store.merchants.merchant(id)) ?? newMerchant(id);
}

/** The field of a list that names merchants. */
export const merchant_name = z.string().nullable().describe('the name of the merchant');

export type Named<Row> = Row & { merchant_name: string | null };

/** The lines of a list with the names of their merchants. */
export async function named<Row extends { merchant_id: string | null }>(
  { store }: Pick<Ports, 'store'>,
  lines: readonly Row[],
): Promise<Named<Row>[]> {
  const names = await store.merchants.merchantNames(lines.flatMap(({ merchant_id }) => merchant_id ?? []));
  return lines.map((line) => ({ ...line, merchant_name: names.get(line.merchant_id ?? '') ?? null }));
}

/** Merchants with a row, and merchants whose calls were proxied without any setting, in order of their ids. */
export async function knownMerchants({ store }: Ports): Promise<Merchant[]> {
  const stored = await store.merchants.merchants();
  const have = new Set(stored.map(({ id }) => id));
  const called = (await store.exchanges.calledMerchants()).filter((id) => !have.has(id)).map(newMerchant);
  return [...stored, ...called].toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** The wait for calls of a moment ago that are not written yet, while evidence can't be written. */
const EVIDENCE_WAIT_MS = 250;

/**
 * Seen: a setting, a credential or an accepted token (a row), an accepted call, an open sale, or a proposed move.
 * @throws PuenteError not_found, one sentence for each that was never seen.
 */
export async function refuseUnseen(ports: Ports, ids: readonly string[], purpose: OnPurpose): Promise<void> {
  if (purpose?.new === true) return;
  const { unseen, known } = await unseenOf(ports, ids);
  if (unseen.length === 0) return;
  const each: Spoken[] = [];
  for (const merchant of unseen.slice(0, MOST_NAMED)) {
    each.push(say('refusal.unseen_merchant', { merchant }), ...nearSentence(await nearMerchants(merchant, known)));
  }
  const more = unseen.length - MOST_NAMED;
  throw new PuenteError('not_found', [
    ...each,
    ...(more > 0 ? [say('refusal.unseen_more', { count: more })] : []),
    ...(purpose === null ? [] : [say('refusal.unseen_purpose', {})]),
  ]);
}

/**
 * For a read whose answer would be empty, and so misleading, for a mistyped id. One that was erased has audit lines.
 * @throws PuenteError not_found for a merchant without a trace, with those that are near it.
 */
export async function refuseUnseenRead(ports: Ports, id: string | undefined): Promise<void> {
  const unseen = id === undefined ? [] : await unseenRead(ports, id);
  if (unseen.length > 0) throw new PuenteError('not_found', unseen);
}

/** The sentences of that refusal; none for a merchant with a trace. */
export async function unseenRead(ports: Ports, id: string): Promise<Spoken[]> {
  const near = await nearUnseen(ports, id);
  if (near === null || (await ports.store.audit.auditsOf({ subject: id }, 1)).length > 0) return [];
  return [say('refusal.unseen_read', { merchant: id }), ...nearSentence(near)];
}

/** Of answers about one merchant that the page of a merchant to come asks for, too, so that they are not refused. */
export const unseenFields = {
  unseen: z
    .string()
    .nullable()
    .describe('null for a merchant that was seen; else that it never was, and what its id may have meant'),
  unseen_said: z.array(said),
};

/** Their values. */
export async function unseenIn(ports: Ports, id: string): Promise<z.infer<z.ZodObject<typeof unseenFields>>> {
  const unseen = await unseenRead(ports, id);
  return {
    unseen: unseen.map(({ text }) => text).join(' ') || null,
    unseen_said: unseen.map(({ said }) => said),
  };
}

/** Null for a merchant that was seen; else those that the id may have meant. */
export async function nearUnseen(ports: Ports, id: string): Promise<string[] | null> {
  if ((await ports.store.merchants.merchant(id)) !== null) return null;
  const { unseen, known } = await unseenOf(ports, [id]);
  return unseen.length === 0 ? null : await nearMerchants(id, known);
}

async function unseenOf(ports: Ports, ids: readonly string[]): Promise<{ unseen: string[]; known: Merchant[] }> {
  await Promise.race([ports.evidence.settled(), ports.clock.sleep(EVIDENCE_WAIT_MS)]);
  const known = await knownMerchants(ports);
  const known_ids = new Set(known.map(({ id }) => id));
  const unseen: string[] = [];
  for (const id of ids.filter((one) => !known_ids.has(one))) {
    if (!(await hasWork(ports, id))) unseen.push(id);
    // Each is read from the store: payments run between two.
    await yieldToEventLoop();
  }
  return { unseen, known };
}

/** An open sale whose token is not proven yet, or a move that was proposed. */
async function hasWork(ports: Ports, merchant_id: string): Promise<boolean> {
  if ((await openSales(ports, merchant_id)).length > 0) return true;
  return (await ports.store.moves.proposals({ merchant_id }, 1)).length > 0;
}

async function refuseUnseenUnits(ports: Ports, merchant: Merchant, units: readonly string[]): Promise<void> {
  const { id, settings } = merchant;
  const named = new Set([...settings.units_in, ...settings.units_out]);
  const wanted = units.filter((unit) => !named.has(unit));
  if (wanted.length === 0) return;
  await Promise.race([ports.evidence.settled(), ports.clock.sleep(EVIDENCE_WAIT_MS)]);
  const open = (await openSales(ports, id)).flatMap(({ slot }) => slot ?? []);
  const seen = new Set([...(await ports.store.evidence.units(id)).map(({ slot }) => slot), ...open]);
  const unseen = wanted.filter((unit) => !seen.has(unit));
  if (unseen.length === 0) return;
  const each = unseen
    .slice(0, MOST_NAMED)
    .flatMap((unit) => [say('refusal.unseen_unit', { merchant: id, unit }), ...nearSentence(nearTo(unit, [...seen]))]);
  throw new PuenteError('not_found', [...each, say('refusal.unseen_purpose', {})]);
}

/** Attempts: another change of the same merchant may be saved first. */
const TRIES = 10;

/**
 * Makes a change that is right on any revision; after a conflict it is tried on the merchant as it is then.
 * @throws PuenteError conflict after ten tries, and as `merchantToChange` and `change` do.
 */
export async function changeInAnyCase<Result>(
  ports: Ports,
  id: string,
  purpose: OnPurpose,
  change: (before: Merchant) => Promise<Result>,
): Promise<Result> {
  return inAnyCase(async () => change(await merchantToChange(ports, id, purpose)));
}

/**
 * The same for any row. @param change reads it first. @param isToRepeat of a conflict; each is by default.
 * @throws PuenteError conflict after ten tries, and as `change` does.
 */
export async function inAnyCase<Result>(
  change: () => Promise<Result>,
  isToRepeat: (error: PuenteError) => boolean = () => true,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      const is_conflict = error instanceof PuenteError && error.code === 'conflict';
      if (!is_conflict || attempt === TRIES || !isToRepeat(error)) throw error;
    }
  }
}

/** One without a row. */
export function newMerchant(id: string): Merchant {
  return {
    id,
    site: null,
    settings: merchantSettings.parse({}),
    sealed_notice_url: null,
    sealed_notice_secret: null,
    sealed_credential: null,
    trips: {},
    revision: 0,
    updated_at: 0,
  };
}

// What a mistyped id may have meant: pure.

/** Unseen ids of one refusal that are named. */
const MOST_NAMED = 20;

/** The first id that a list has twice; undefined without one. Each id is looked at once. */
export function namedTwice(ids: Iterable<string>): string | undefined {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return undefined;
}

/** The sentence that names what an id without any row is near to; none without such. */
export async function whatIsNear(ports: Ports, id: string): Promise<Spoken[]> {
  return nearSentence(await nearMerchants(id, await knownMerchants(ports)));
}

/** What the first of these texts are near to; without those that are near nothing. */
export async function nearEach(ports: Ports, texts: readonly string[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const known = texts.length === 0 ? [] : await knownMerchants(ports);
  for (const text of texts.slice(0, MOST_NAMED)) {
    const near = await nearMerchants(text, known);
    if (near.length > 0) found.set(text, near);
  }
  return found;
}

/** What the first of several unseen ids may have meant, each once. */
export async function nearAny(unseen: readonly string[], known: readonly Merchant[]): Promise<string[]> {
  const near = new Set<string>();
  for (const id of unseen.slice(0, MOST_NAMED)) {
    for (const one of await nearMerchants(id, known)) near.add(one);
  }
  return [...near];
}

function nearSentence(near: readonly string[]): Spoken[] {
  return near.length === 0 ? [] : [say('refusal.near', { near })];
}

interface Labeled {
  settings: Pick<Merchant['settings'], 'name' | 'tags'>;
}

/**
 * Those with this name or tag, without case and accents; if there is none, those with it in their name or a tag. None for a
 * text of accents alone.
 */
export function labeled<One extends Labeled>(known: readonly One[], typed: string): One[] {
  const wanted = folded(typed);
  if (wanted === '') return [];
  const containing = known
    .map((one) => ({ one, texts: [one.settings.name ?? '', ...(one.settings.tags ?? [])].map(folded) }))
    .filter(({ texts }) => texts.some((text) => text.includes(wanted)));
  const equal = containing.filter(({ texts }) => texts.includes(wanted));
  return (equal.length > 0 ? equal : containing).map(({ one }) => one);
}

/** A merchant in sentences and links: a name alone is not unique. */
export function namedAs(id: string, name: string | null): string {
  return name === null ? id : `${id} (${name})`;
}

/** Merchants that are compared within one event-loop tick: a millisecond. */
const COMPARED_AT_ONCE = 200;

/**
 * Merchants with a near id, `labeled` with what was typed, or with a name that is two slips away; with their names. What this returns
 * may be typed, too: `700100200 (Café Sur)`. @param wanted is compared as far as a name may be long.
 */
export async function nearMerchants(
  wanted: string,
  known: readonly (Pick<Merchant, 'id'> & Labeled)[],
): Promise<string[]> {
  const id = /^(\d+) \(/.exec(wanted)?.[1] ?? wanted.slice(0, LONGEST_NAME);
  const typed = folded(wanted.slice(0, LONGEST_NAME));
  const has_letters = /\p{L}/u.test(typed);
  const isAlike = (name: string | null): boolean =>
    has_letters && name !== null && nearTo(typed, [folded(name)]).length > 0;
  let ids: string[] = [];
  let with_text: typeof known = [];
  const alike: (typeof known)[number][] = [];
  for (let from = 0; from < known.length; from += COMPARED_AT_ONCE) {
    const some = known.slice(from, from + COMPARED_AT_ONCE);
    // The nearest of those before and of these, and no more than are named.
    ids = nearTo(id, [...ids, ...some.map((one) => one.id)]);
    if (/[\p{L}\p{N}]/u.test(typed)) with_text = labeled([...with_text, ...some], typed).slice(0, MOST_NEAR);
    alike.push(...some.filter(({ settings: { name } }) => isAlike(name)));
    await yieldToEventLoop();
  }
  const meant = new Set([...with_text, ...alike]);
  return known
    .filter((one) => ids.includes(one.id) || meant.has(one))
    .slice(0, MOST_NEAR)
    .map(({ id, settings: { name } }) => namedAs(id, name));
}
