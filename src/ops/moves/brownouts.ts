/** Brown-outs for operators: schedule windows in which legacy refuses new work, list them, abort them at once. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import type { AuditEntry } from '../../proxy/audit.ts';
import type { Brownout, Merchant } from '../../proxy/routing/merchant.ts';
import { BY_ITSELF } from '../api/person.ts';
import { DAY_MS, exchangePages, instant, iso, reason, time, type Whose } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { changeInAnyCase, is_new, merchant_name } from '../seen.ts';
import { names_whom, selected, whom } from '../selection.ts';
import { isOf, listedOf } from '../whose.ts';

/** A brown-out is a drill: a merchant must be able to sell the next day. */
const LONGEST_MS = DAY_MS;
/** Windows kept per merchant (`merchantSettings`); those that ended longest ago are dropped. */
const MOST_KEPT = 100;
const MOST_MERCHANTS = 1_000;

export const brownoutAsk = z
  .strictObject({
    ...whom(MOST_MERCHANTS),
    from: instant.describe('when it begins, such as 2026-01-31T09:00:00Z'),
    until: instant.describe('when it ends, not included'),
    reason,
    new: is_new,
  })
  .refine(...names_whom);
type BrownoutAsk = z.infer<typeof brownoutAsk>;

export const brownoutView = z.object({
  id: z.string(),
  from: time,
  until: time,
  reason: z.string(),
  state: z.enum(['scheduled', 'running', 'over', 'aborted']),
  aborted_at: time.nullable(),
  merchants: z.array(z.string()),
  names: z.record(z.string(), z.string()).describe('of those merchants that have one, by id'),
});
export type BrownoutView = z.infer<typeof brownoutView>;

/**
 * Schedules a window for every merchant selected, or for none.
 * @throws PuenteError bad_request for a window that is empty, past or over a day; refused if it overlaps another one;
 * as `withoutOldest` and `selected`.
 */
export async function scheduleBrownout(ports: Ports, ask: BrownoutAsk, who: string): Promise<BrownoutView> {
  const now = ports.clock.now();
  refuseBadWindow(ask, now);
  const { from, until, reason: why } = ask;
  const window: Brownout = { id: ports.memory.ids.legacyId(now), from, until, reason: why, aborted_at: null };
  const merchants = await selected(ports, ask, ask, MOST_MERCHANTS);
  for (const merchant of merchants) {
    refuseOverlap(merchant, window);
    withoutOldest(merchant, now);
  }
  const ids = merchants.map(({ id }) => id);
  for (const id of ids)
    await changeWindows(ports, id, { who, why, action: 'brown-out scheduled', window: window.id }, (merchant) => {
      refuseOverlap(merchant, window);
      return [...withoutOldest(merchant, now), window];
    }).catch(async (error: unknown) => {
      // Another window of this merchant was scheduled first: the merchants before it must not keep half a drill.
      const halved = encoded(say('brownout.halved', {}));
      await abortBrownout(ports, window.id, halved, BY_ITSELF).catch(() => undefined); // no merchant has it yet
      throw error;
    });
  ports.log.info('brown-out scheduled', { action: window.id, count: ids.length });
  return viewOf(ports, { window, merchants: ids });
}

const refusedUnit = z.object({
  merchant: z.string(),
  merchant_name,
  unit: z.string().nullable().describe('null where the call names none, such as a list of devices'),
  operation: z.string(),
  calls: z.int(),
  first_at: time,
  last_at: time,
});

/** Rows that are listed, those with most calls first. Each merchant of the window has an equal share, and more where others leave it. */
const MOST_REFUSED = 5_000;
/** Rows that are counted separately while the calls are read, an equal share of each merchant: a broken till may name a new unit in each. */
const MOST_COUNTED = 50_000;

const refusals = z
  .int()
  .nullable()
  .describe('of the calls that are stored; null where calls of its time have been deleted by age');
/** A window in a list. */
export const brownoutLine = brownoutView.extend({
  calls_refused: refusals,
  units_refused: refusals.describe('as the calls'),
  has_more_units: z
    .boolean()
    .describe(
      `there are at least so many: ${MOST_COUNTED} rows of unit and operation are counted separately at most, an equal share of each merchant`,
    ),
});
export type BrownoutLine = z.infer<typeof brownoutLine>;
export const brownoutPage = brownoutLine.extend({
  refused: z.array(refusedUnit),
  left_out: z.int().min(0).describe('calls that are in no row of the list'),
});

/**
 * All windows of them, past ones too, the latest beginning first. @param signal aborts it when the client disconnects.
 * @throws PuenteError as `refuseUnseenRead`.
 */
export async function viewBrownouts(
  ports: Ports,
  whose: Whose | undefined,
  signal: AbortSignal,
): Promise<BrownoutLine[]> {
  const isMeant = isOf(whose);
  const windows = (await allWindows(ports)).filter(({ merchants }) => merchants.some(isMeant));
  await ports.evidence.settled();
  const lines: BrownoutLine[] = [];
  for (const one of await listedOf(ports, whose, windows)) {
    const { refused: _refused, left_out: _left, ...line } = await withRefused(ports, one, signal);
    lines.push(line);
  }
  return lines;
}

/** One window, and who was refused in it, most calls first. @throws PuenteError not_found. */
export async function viewRefused(
  ports: Ports,
  id: string,
  signal: AbortSignal,
): Promise<z.infer<typeof brownoutPage>> {
  await ports.evidence.settled();
  return withRefused(ports, await found(ports, id), signal);
}

interface Scheduled {
  window: Brownout;
  merchants: string[];
}

/** @throws PuenteError not_found. */
async function found(ports: Ports, id: string): Promise<Scheduled> {
  const one = (await allWindows(ports)).find(({ window }) => window.id === id);
  if (one === undefined) throw new PuenteError('not_found', say('refusal.no_brownout', { id: id.slice(0, 60) }));
  return one;
}

/** Epoch ms. A process that ended during an abort leaves a window in force for some: it is aborted when it is for all. */
function abortOf({ aborted_at }: Brownout): number {
  return aborted_at ?? Number.POSITIVE_INFINITY;
}

/** The latest first. */
async function allWindows(ports: Ports): Promise<Scheduled[]> {
  const found = new Map<string, Scheduled>();
  for (const { id, settings } of await ports.store.merchants.merchants())
    for (const window of settings.brownouts) {
      const known = found.get(window.id);
      if (known === undefined) found.set(window.id, { window, merchants: [id] });
      else {
        known.merchants.push(id);
        if (abortOf(window) > abortOf(known.window)) known.window = window;
      }
    }
  return [...found.values()].toSorted((one, other) => other.window.from - one.window.from);
}

const PAGE = 500;
/** Up to so many merchants have their calls read one by one, beyond it those of all in one pass. */
const FEW_MERCHANTS = 10;

async function withRefused(
  ports: Ports,
  scheduled: Scheduled,
  signal: AbortSignal,
): Promise<z.infer<typeof brownoutPage>> {
  const view = await viewOf(ports, scheduled);
  const { refused, calls, has_more_units } = await refusedIn(ports, scheduled, view.names, signal);
  const units = new Set(refused.flatMap(({ merchant, unit }) => (unit === null ? [] : [`${merchant} ${unit}`])));
  const [oldest] = await ports.store.exchanges.exchanges({}, 0, 1);
  const { from } = scheduled.window;
  // The first call ever has sequence 1. Without any call, age may have deleted those of an old window.
  const is_whole =
    oldest === undefined
      ? from >= ports.clock.now() - ports.settings.evidence.kept_ms
      : oldest.sequence === 1 || oldest.at <= from;
  const counts = {
    calls_refused: is_whole ? calls : null,
    units_refused: is_whole ? units.size : null,
    has_more_units,
  };
  const isInShare = sharesOf(scheduled, MOST_REFUSED);
  const { own = [], more = [] } = Object.groupBy(refused, ({ merchant }) => (isInShare(merchant) ? 'own' : 'more'));
  const listed = [...own, ...more].slice(0, MOST_REFUSED).toSorted(byCalls);
  return { ...view, ...counts, refused: listed, left_out: listed.reduce((left, one) => left - one.calls, calls) };
}

/** Shares rows among the merchants of a window. @returns whether the next row of a merchant is in its share. */
function sharesOf({ merchants }: Scheduled, most: number): (merchant: string) => boolean {
  const taken = new Map<string, number>();
  return (merchant) => {
    const own = taken.get(merchant) ?? 0;
    taken.set(merchant, own + 1);
    return own < most / merchants.length;
  };
}

function byCalls(one: z.infer<typeof refusedUnit>, other: z.infer<typeof refusedUnit>): number {
  return other.calls - one.calls;
}

/** Most calls first, and the number of all calls, from the exchanges that are stored; evidence that was shed under load is not in it. */
async function refusedIn(
  { store }: Ports,
  scheduled: Scheduled,
  names: BrownoutView['names'],
  signal: AbortSignal,
): Promise<{ refused: z.infer<typeof refusedUnit>[]; calls: number; has_more_units: boolean }> {
  const { window, merchants } = scheduled;
  const { from, until, aborted_at } = window;
  const isInShare = sharesOf(scheduled, MOST_COUNTED);
  let has_more_units = false;
  const found_by = new Map<string, z.infer<typeof refusedUnit>>();
  let all = 0;
  // The one refusal that is neither a fault of anybody nor a shop's affair: 503 and business.
  const of = { lane: 'legacy', outcome: 'business', since: from, until: Math.min(until, aborted_at ?? until) } as const;
  const own: ReadonlySet<string | null> = new Set(merchants);
  const whose = merchants.length > FEW_MERCHANTS ? [{}] : merchants.map((merchant_id) => ({ merchant_id }));
  for (const filter of whose)
    for await (const page of await exchangePages(store.exchanges, { ...filter, ...of }, PAGE)) {
      signal.throwIfAborted();
      for (const { merchant_id, unit, operation, at, status } of page) {
        if (status !== 503 || merchant_id === null || !own.has(merchant_id)) continue;
        const key = `${merchant_id} ${unit} ${operation}`;
        const known = found_by.get(key);
        all++;
        if (known === undefined && !isInShare(merchant_id)) {
          has_more_units = true;
          continue;
        }
        const first_at = known?.first_at ?? iso(at);
        const calls = (known?.calls ?? 0) + 1;
        found_by.set(key, {
          merchant: merchant_id,
          merchant_name: names[merchant_id] ?? null,
          unit,
          operation: operation ?? '',
          calls,
          first_at,
          last_at: iso(at),
        });
      }
    }
  return { refused: [...found_by.values()].toSorted(byCalls), calls: all, has_more_units };
}

/** Aborts a window for all its merchants. @throws PuenteError not_found; refused when it has already ended. */
export async function abortBrownout(ports: Ports, id: string, why: string, who: string): Promise<BrownoutView> {
  const scheduled = await found(ports, id);
  const before = await viewOf(ports, scheduled);
  if (before.state === 'over' || before.state === 'aborted')
    throw new PuenteError('refused', say('refusal.brownout_over', { id, state: before.state }));
  const aborted_at = ports.clock.now();
  const abort = (one: Brownout): Brownout =>
    one.id === id ? { ...one, aborted_at: one.aborted_at ?? aborted_at } : one;
  for (const merchant_id of before.merchants)
    await changeWindows(ports, merchant_id, { who, why, action: 'brown-out aborted', window: id }, (merchant) =>
      merchant.settings.brownouts.map(abort),
    );
  ports.log.info('brown-out aborted', { action: id, count: before.merchants.length });
  return { ...before, state: 'aborted', aborted_at: iso(aborted_at) };
}

/** The merchants of a window were checked when it was scheduled. */
const CHECKED = { new: true };

function changeWindows(
  ports: Ports,
  id: string,
  { who, why, action, window }: Pick<AuditEntry, 'who' | 'action'> & { why: string; window: string },
  change: (merchant: Merchant) => Brownout[],
): Promise<Merchant> {
  return changeInAnyCase(ports, id, CHECKED, async (before) => {
    const settings = { ...before.settings, brownouts: change(before) };
    const of = (windows: readonly Brownout[]): Brownout | null => windows.find((one) => one.id === window) ?? null;
    const detail = { brownout: window, before: of(before.settings.brownouts), after: of(settings.brownouts) };
    if (isDeepStrictEqual(detail.before, detail.after)) return before;
    const audit = { at: ports.clock.now(), who, action, subject: id, reason: why, detail };
    return ports.store.merchants.saveMerchant({ ...before, settings }, before.revision, audit);
  });
}

function refuseBadWindow({ from, until }: BrownoutAsk, now: number): void {
  if (until <= from) throw new PuenteError('bad_request', say('refusal.brownout_empty', {}));
  if (until <= now) throw new PuenteError('bad_request', say('refusal.brownout_past', {}));
  if (until - from > LONGEST_MS) throw new PuenteError('bad_request', say('refusal.brownout_long', {}));
}

function refuseOverlap({ id, settings }: Merchant, window: Brownout): void {
  const other = settings.brownouts.find(
    (one) => one.aborted_at === null && one.id !== window.id && one.from < window.until && window.from < one.until,
  );
  if (other === undefined) return;
  const window_of = { since_at: iso(other.from), until_at: iso(other.until), id: other.id };
  throw new PuenteError('refused', say('refusal.brownout_twice', { merchant: id, ...window_of }));
}

/** One window less than there may be. @throws PuenteError refused where so many have not ended: none of those is dropped. */
function withoutOldest({ id, settings }: Merchant, now: number): Brownout[] {
  const endOf = ({ aborted_at, until }: Brownout): number => Math.min(until, aborted_at ?? until);
  const inOrder = settings.brownouts.toSorted((one, other) => endOf(one) - endOf(other));
  const kept = inOrder.slice(Math.max(0, inOrder.length - (MOST_KEPT - 1)));
  const dropped = inOrder.at(-kept.length - 1);
  if (dropped !== undefined && dropped.aborted_at === null && dropped.until > now)
    throw new PuenteError('refused', say('refusal.brownouts_many', { merchant: id, most: MOST_KEPT }));
  return kept;
}

async function viewOf({ store, clock }: Ports, { window, merchants }: Scheduled): Promise<BrownoutView> {
  const { id, from, until, reason: why, aborted_at } = window;
  const now = clock.now();
  const state = aborted_at !== null ? 'aborted' : until <= now ? 'over' : from <= now ? 'running' : 'scheduled';
  const aborted = iso(aborted_at);
  const names = Object.fromEntries(await store.merchants.merchantNames(merchants));
  return { id, from: iso(from), until: iso(until), reason: why, state, aborted_at: aborted, merchants, names };
}
