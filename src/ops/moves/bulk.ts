/** Bulk moves, by list or selection: one merchant after the other, until a safety stop or an operator ends it. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { z } from 'zod';
import { PuenteError, type Said, type Sentence } from '../../error.ts';
import { encoded, quoted, readStored, say } from '../../locales/message.ts';
import type { AuditAction, AuditEntry, AuditLine } from '../../proxy/audit.ts';
import { tickOf } from '../../proxy/clock.ts';
import { type Loop, startLoop } from '../../proxy/loop.ts';
import type { BulkItem, BulkMove } from '../../proxy/records/routing.ts';
import { type Merchant, merchantSettings, routedKinds, stages } from '../../proxy/routing/merchant.ts';
import { BY_ITSELF, isEnough, type Person } from '../api/person.ts';
import { newestOf, reasonOf } from '../audit.ts';
import { listLimit, merchantId, reason, type Shown, shown, whose } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { inAnyCase, is_new, merchantOf, merchantToChange, named, namedTwice, refuseUnseen } from '../seen.ts';
import { names_whom, selected, whom } from '../selection.ts';
import { bulkMovesOf, listedOf } from '../whose.ts';
import { hasBack, isBack, isWaiting, nextStep, type StopSeen, summary, withItemState } from './bulk-decision.ts';
import { isAllowedInWindow, judgeFor, makeMove, refuseUnlessAllowed } from './judged.ts';
import { saveRollback } from './move.ts';
import { propose, withdrawAll } from './proposals.ts';
import { moveTarget, unitsOf } from './target.ts';

/** Merchants of one bulk move; all are read for every step. */
const MOST_ITEMS = 10_000;
/** Merchants on a page of one. */
const DEFAULT_ITEMS = 500;
/** Of ten thousand merchants each, a page of them takes some 0.2 s to read. */
const DEFAULT_LISTED = 20;
const MOST_LISTED = 100;

const item = z.strictObject({
  merchant_id: merchantId,
  /** The target of this merchant, if it differs from the others'. */
  stage: z.enum(stages).exactOptional(),
  share: merchantSettings.shape.share.unwrap().exactOptional(),
});

/** The body of `POST /api/bulk`: a selection, or merchants with targets of their own; one target for all others. */
export const bulkAsk = z
  .strictObject({
    target: moveTarget.partial({ stage: true }),
    items: z.array(item).min(1).max(MOST_ITEMS).exactOptional(),
    ...whom(MOST_ITEMS),
    per_day: z
      .int()
      .min(1)
      .max(100_000)
      .exactOptional()
      .describe(
        'moves a UTC day (default: the setting moves.bulk_per_day; all where all go to legacy); beside others those to legacy do not count',
      ),
    reason,
    new: is_new,
  })
  .refine(
    ({ items, ...named }) => (items === undefined) === names_whom[0](named),
    encoded(say('input.items_or_whom', {})),
  );
type BulkAsk = z.infer<typeof bulkAsk>;

export const bulkStates = ['running', 'stopped', 'done', 'aborted'] as const satisfies readonly BulkMove['state'][];

/** A bulk move as answered; its summary is `3 moved, 0 proposed, 0 refused, 0 skipped, 6 waiting`. */
export type BulkView = Shown<Omit<BulkMove, 'items' | 'ramp' | 'state'>> & {
  state: (typeof bulkStates)[number];
  detail_said: Said | null;
  summary: string;
  summary_said: Said;
  /** A page of its merchants, and what the next one skips; null at the end. */
  items: (Shown<BulkItem> & { detail_said: Said | null; merchant_name: string | null })[];
  next: number | null;
};

export const bulkItemQuery = z.strictObject({
  skip: z.coerce.number().int().min(0).default(0).describe('the next page: what `next` of the page before names'),
  limit: listLimit(DEFAULT_ITEMS, MOST_ITEMS).describe('at most so many merchants'),
});

/**
 * Stores a bulk move; a background loop moves its merchants one after the other.
 * @throws PuenteError bad_request for a merchant named twice or without a target; refused when none is selected;
 * forbidden for an override without the role approver; not_found for merchants or units that were never seen.
 */
export async function startBulk(ports: Ports, ask: BulkAsk, person: Person): Promise<BulkView> {
  const { target, reason: why } = ask;
  if (target.override && !isEnough(person.role, 'approver'))
    throw new PuenteError('forbidden', say('refusal.bulk_role', { name: person.name, role: person.role }));
  const selection = ask.items === undefined ? await selected(ports, ask, ask, MOST_ITEMS) : [];
  const items = ask.items ?? selection.map(({ id }) => ({ merchant_id: id }));
  refuseBadList(items, target);
  const ids = items.map(({ merchant_id }) => merchant_id);
  await refuseUnseen(ports, ids, ask);
  const units = unitsOf(target);
  if (units.length > 0) for (const id of ids) await merchantToChange(ports, id, ask, units);
  const now = ports.clock.now();
  const to_move: BulkItem[] = items.map(({ merchant_id, ...own }) => {
    return { merchant_id, state: 'waiting', detail: '', at: null, own };
  });
  const usual = to_move.every((one) => isBack(target, one)) ? items.length : ports.settings.moves.bulk_per_day;
  const bulk: BulkMove = {
    id: ports.memory.ids.legacyId(now),
    move: target,
    reason: why,
    who: person.name,
    per_day: ask.per_day ?? usual,
    ramp: null,
    items: to_move,
    state: 'running',
    detail: '',
    created_at: now,
    updated_at: now,
    revision: 0,
  };
  const saved = await ports.store.moves.saveBulkMove(
    { ...bulk, detail: encoded(summary(bulk)) },
    null,
    bulkAudit(ports, bulk, 'bulk move started', person.name, why),
  );
  ports.memory.wakeups.bulk_moves.wake();
  return bulkView(ports, saved);
}

export const bulkQuery = z.strictObject({
  merchant: whose.exactOptional(),
  before: z
    .string()
    .min(1)
    .max(60)
    .exactOptional()
    .describe('the next page: the id of the last one of the page before'),
  limit: listLimit(DEFAULT_LISTED, MOST_LISTED).describe('at most so many'),
});

/** Newest first, without their merchants. @throws PuenteError as `refuseUnseenRead`. */
export async function viewBulks(
  ports: Ports,
  { merchant, limit, ...page }: z.infer<typeof bulkQuery>,
): Promise<Omit<BulkView, 'items' | 'next'>[]> {
  const moves = await bulkMovesOf(ports, merchant, { states: bulkStates, is_ramp: false, ...page }, limit);
  return (await listedOf(ports, merchant, moves)).map(bulkLine);
}

/** With one page of its merchants. @throws PuenteError not_found, for a ramp too. */
export async function viewBulk(ports: Ports, id: string, page: z.infer<typeof bulkItemQuery>): Promise<BulkView> {
  return bulkView(ports, await foundBulk(ports, id), page);
}

/** Aborts a bulk move; merchants that were moved stay moved. @throws PuenteError refused when it has already ended. */
export async function abortBulk(ports: Ports, id: string, why: string, person: Person): Promise<BulkView> {
  return oneAtATime(ports, id, async () => {
    const bulk = await foundBulk(ports, id);
    if (bulk.state !== 'running')
      throw new PuenteError(
        'refused',
        say('refusal.bulk_over', { id, state: bulk.state, why: readStored(bulk.detail) }),
      );
    // An aborted bulk move leaves no merchant waiting.
    const skipped = { state: 'skipped', detail: encoded(say('bulk.skipped', {})), at: ports.clock.now() } as const;
    const items = bulk.items.map((one) => (one.state === 'waiting' ? { ...one, ...skipped } : one));
    const detail = encoded(say('bulk.aborted', { name: person.name, reason: why }));
    const aborted: BulkMove = { ...bulk, items, state: 'aborted', detail };
    const audit = bulkAudit(ports, aborted, 'bulk move aborted', person.name, why);
    return bulkView(ports, await ports.store.moves.saveBulkMove(aborted, bulk, audit));
  });
}

/**
 * Of this process by a mutex; what another one has changed meanwhile is read again.
 * @param change right on any revision of the bulk move or ramp, which it reads.
 */
export function oneAtATime<Result>(ports: Ports, id: string, change: () => Promise<Result>): Promise<Result> {
  return ports.memory.mutex.run(`bulk ${id}`, () => inAnyCase(change));
}

function bulkAudit(ports: Ports, bulk: BulkMove, action: AuditAction, who: string, why: string): AuditEntry {
  const detail = {
    bulk: bulk.id,
    target: bulk.move,
    per_day: bulk.per_day,
    merchants: bulk.items.length,
    summary: summary(bulk).text,
  };
  return { at: ports.clock.now(), who, action, subject: bulk.id, reason: why, detail };
}

async function foundBulk(ports: Ports, id: string): Promise<BulkMove> {
  const bulk = await ports.store.moves.bulkMove(id);
  if (bulk === null || bulk.ramp !== null)
    throw new PuenteError('not_found', say('refusal.no_bulk', { id: id.slice(0, 60) }));
  return bulk;
}

function refuseBadList(items: readonly z.infer<typeof item>[], target: BulkAsk['target']): void {
  const twice = namedTwice(items.map(({ merchant_id }) => merchant_id));
  if (twice !== undefined) throw new PuenteError('bad_request', say('refusal.named_twice', { merchant: twice }));
  for (const { merchant_id, stage } of items) {
    if (stage === undefined && (target.stage ?? null) === null)
      throw new PuenteError('bad_request', say('refusal.no_stage_for', { merchant: merchant_id }));
  }
}

async function bulkView(ports: Ports, bulk: BulkMove, page = bulkItemQuery.parse({})): Promise<BulkView> {
  const end = page.skip + page.limit;
  const items = (await named(ports, bulk.items.slice(page.skip, end))).map((item) => {
    const { text, said } = readStored(item.detail);
    return { ...shown(item), detail: text, detail_said: said };
  });
  return { ...bulkLine(bulk), items, next: end < bulk.items.length ? end : null };
}

function bulkLine({ ramp: _ramp, items, detail, ...move }: BulkMove): Omit<BulkView, 'items' | 'next'> {
  const [{ text, said: detail_said }, sums] = [readStored(detail), summary({ items })];
  const state = move.state as BulkView['state']; // only a ramp waits for an approval, or is paused
  return { ...shown(move), state, detail: text, detail_said, summary: sums.text, summary_said: sums.said };
}

/** A closed window or a spent budget is checked again this often: a safety stop or an abort must be seen meanwhile. */
const REST_MS = 1000;
/** After a step that failed, as by a store that does not answer. */
const FAILED_REST_MS = 5_000;
/** Of a bulk move between two rests: more are the store's. */
const MOST_FAILED = 10;

/**
 * Runs one step; does nothing when the bulk move was changed or ended meanwhile.
 * @returns for how many ms another step is of no use; null: go on at once.
 */
function stepBulk(ports: Ports, id: string, known: Known): Promise<number | null> {
  const { failed } = known;
  return oneAtATime(ports, id, async () => {
    const bulk = await ports.store.moves.bulkMove(id);
    if (bulk === null || bulk.state !== 'running') return null;
    known.goes_back = hasBack(bulk);
    const now = ports.clock.now();
    const needs_no_stops = hasBack(bulk, failed) || !bulk.items.some(isWaiting);
    const step = nextStep(bulk, needs_no_stops ? [] : await stopsOf(ports, bulk), now, failed);
    switch (step.kind) {
      case 'stop':
        await end(ports, bulk, 'stopped', step.why);
        return null;
      case 'done':
        await end(ports, bulk, 'done', step.why);
        return null;
      case 'wait':
        await wait(ports, bulk, step.why);
        return Math.min(step.until - now, REST_MS);
      case 'move':
        return moveItem(ports, bulk, step.item).catch((error: unknown) => {
          if (error instanceof PuenteError && error.code === 'conflict') throw error;
          const { merchant_id: merchant } = step.item;
          failed.add(merchant);
          const others = bulk.items.some((one) => isWaiting(one) && !failed.has(one.merchant_id));
          if (!others) failed.clear();
          if (!others || failed.size % MOST_FAILED === 0) throw error;
          ports.log.warn('a step of a bulk move failed; the others go on', { merchant, cause: String(error) });
          return null;
        });
    }
  });
}

async function moveItem(ports: Ports, bulk: BulkMove, item: BulkItem): Promise<number | null> {
  const left = await attempt(ports, bulk, item).catch((error: unknown) => refusalOf(error));
  if (left === null) return null;
  if (left.state === 'waiting') {
    await wait(ports, bulk, left.detail);
    return REST_MS;
  }
  const after = withItemState(bulk, item, left.state, left.detail, ports.clock.now());
  await ports.store.moves.saveBulkMove(after, bulk, null);
  return null;
}

interface Left {
  /** `waiting`: to be tried again later. */
  state: 'waiting' | 'refused' | 'skipped';
  detail: string;
}

/**
 * A move or a proposal is written with its line of the bulk move, or not at all: of several processes one makes it, none
 * after an abort. @returns null when it is made, else why not. @throws PuenteError conflict.
 */
async function attempt(ports: Ports, bulk: BulkMove, item: BulkItem): Promise<Left | null> {
  const target = moveTarget.parse({ ...bulk.move, ...item.own });
  // The person who started a bulk move may move each of its merchants; only an approver can start one with an override.
  const person: Person = { name: bulk.who, role: target.override ? 'approver' : 'operator' };
  const seen = await newestOf(ports, item.merchant_id);
  const before = await merchantOf(ports, item.merchant_id);
  if (isBack(bulk.move, item) && target.kind === undefined) return attemptBack(ports, bulk, item, before);
  const judged = await judgeFor(ports, before, target, person);
  const { judgement } = judged;
  if (judgement.kind === 'same') return { state: 'skipped', detail: encoded(say('bulk.there', {})) };
  const rollback = judgement.kind === 'forward' ? await rollbackSince(ports, bulk, item) : undefined;
  if (rollback !== undefined) {
    const why = reasonOf(rollback);
    return { state: 'skipped', detail: encoded(say('bulk.rolled_back', { name: rollback.who, why })) };
  }
  const closed = judgement.missing.find(({ code }) => code === 'outside_window');
  if (closed !== undefined && isAllowedInWindow(judged))
    return { state: 'waiting', detail: encoded({ text: closed.what, said: closed.said }) };
  refuseUnlessAllowed(judged);
  const changes = joined(judgement.preview.changes_said, 'bulk.changes');
  const now = ports.clock.now();
  if (judgement.needs === 'approval')
    await propose(ports, item.merchant_id, target, bulk.reason, person, seen, {}, (id) => ({
      before: bulk,
      after: withItemState(bulk, item, 'proposed', encoded(say('bulk.proposed', { changes, id })), now),
    }));
  else {
    const after = withItemState(bulk, item, 'moved', encoded(changes), now);
    await makeMove(ports, judged, bulk.reason, person, { bulk: bulk.id }, { bulk: { before: bulk, after } });
  }
  return null;
}

/** As a rollback: without evidence, and what would move the merchant later leaves it on legacy. */
async function attemptBack(ports: Ports, bulk: BulkMove, item: BulkItem, before: Merchant): Promise<Left | null> {
  const { who, reason: why } = bulk;
  const extra = { bulk: bulk.id };
  const there = { state: 'skipped', detail: encoded(say('bulk.there', {})) } as const;
  const { revision } = await saveRollback(ports, before, { reason: why, new: false }, who, extra, (changes) => {
    const moved = { state: 'moved', detail: encoded(joined(changes, 'bulk.changes')) } as const;
    const { state, detail } = changes.length === 0 ? there : moved;
    return { before: bulk, after: withItemState(bulk, item, state, detail, ports.clock.now()) };
  });
  if (revision === null) return there;
  await withdrawAll(ports, before.id, why, who, extra);
  return null;
}

/** A merchant's own refusal goes on its line; any other error is a fault of Puente and leaves the merchant waiting. */
function refusalOf(error: unknown): Left {
  if (!(error instanceof PuenteError) || (error.code !== 'refused' && error.code !== 'bad_request')) throw error;
  const detail = error.said.length === 0 ? error.message : encoded(joined(error.said, 'bulk.and'));
  return { state: 'refused', detail };
}

/** Sentences as one, which keeps their codes. @param code of the message that joins two. */
export function joined(said: readonly Said[], code: 'bulk.and' | 'bulk.changes'): Sentence {
  const [first = quoted(''), ...rest] = said.map((one) => say(one.code, one.facts));
  return rest.reduce<Sentence>((before, next) => say(code, { before, next }), first);
}

/** @param since epoch ms, for items of older versions. */
export function isSince({ sequence, at }: AuditLine, { line }: Pick<BulkItem, 'line'>, since: number): boolean {
  return line === undefined ? at > since : sequence > line;
}

/** Sequence of its first audit line: what happened since is decided by the order of lines, because a clock may be set back. */
async function startOf({ store }: Ports, { id }: BulkMove): Promise<number> {
  return (await store.audit.auditsOf({ subject: id, action: 'bulk move started' }, 1))[0]?.sequence ?? 0;
}

/** Whoever rolled a merchant back while it waited, a program at an alert too, had a reason. */
async function rollbackSince(ports: Ports, bulk: BulkMove, { merchant_id: subject }: BulkItem) {
  const after = await startOf(ports, bulk);
  return (await ports.store.audit.auditsOf({ subject, action: 'rollback', after }, 1))[0];
}

/** Stops of one merchant since a bulk move began, many times over. */
const MOST_STOPS = 100;

/** Stops in force that tripped since the start. */
async function stopsOf(ports: Ports, bulk: BulkMove): Promise<StopSeen[]> {
  const mine = new Set(bulk.items.map(({ merchant_id }) => merchant_id));
  const after = await startOf(ports, bulk);
  const found: StopSeen[] = [];
  for (const { id, trips } of await ports.store.merchants.merchants()) {
    if (!mine.has(id) || Object.keys(trips).length === 0) continue;
    const lines = await ports.store.audit.auditsOf({ subject: id, action: 'safety stop', after }, MOST_STOPS);
    for (const kind of routedKinds) {
      const trip = trips[kind];
      if (trip !== undefined && lines.some(({ detail }) => detail.kind === kind)) found.push({ merchant_id: id, trip });
    }
  }
  return found;
}

async function end(ports: Ports, before: BulkMove, state: 'stopped' | 'done', detail: string): Promise<void> {
  const [bulk, action] = [{ ...before, state, detail }, `bulk move ${state}` as const];
  await ports.store.moves.saveBulkMove(bulk, before, bulkAudit(ports, bulk, action, BY_ITSELF, detail));
  ports.log.info(action, { action: state, count: bulk.items.length });
}

/** Stores why the bulk move waits, once per reason. */
async function wait(ports: Ports, bulk: BulkMove, why: string): Promise<void> {
  if (bulk.detail !== why) await ports.store.moves.saveBulkMove({ ...bulk, detail: why }, bulk, null);
}

// The background loop of bulk moves and ramps: it reads them from the store, so it continues after a restart.

/** For bulk moves that another process started, and for the end of a rest; a start in this process wakes the loop. */
const POLL_MS = 5_000;
/** Each step judges a merchant and writes; payments come first. */
const CONCURRENCY = 1;
/** Bulk moves and ramps that run at once; others wait. */
const MOST_RUNNING = 500;

/** What this process knows of an open one: what is due is found without reading its merchants. */
interface Known {
  is_ramp: boolean;
  /** As of its last step here: some merchants wait for their way back to legacy. */
  goes_back: boolean;
  /** Until when (`tickOf`) no step is of use: it waits for its window or its day. */
  rests_until: number;
  /** Merchants whose step failed since its last rest: they keep no others, and are tried again after those. */
  failed: Set<string>;
}

async function firstLook(ports: Ports, id: string): Promise<Known> {
  const bulk = await ports.store.moves.bulkMove(id);
  await yieldToEventLoop(); // payments run between two
  const of_it = { rests_until: 0, failed: new Set<string>() };
  return { is_ramp: bulk !== null && bulk.ramp !== null, goes_back: bulk !== null && hasBack(bulk), ...of_it };
}

/** @param stepRamp runs one look at a ramp (`ramp.ts`); its result is as that of `stepBulk`. */
export function startBulkMoves(ports: Ports, stepRamp: (ports: Ports, id: string) => Promise<number | null>): Loop {
  let known: ReadonlyMap<string, Known> = new Map();
  return startLoop({
    name: 'bulk moves',
    poll_ms: POLL_MS,
    concurrency: CONCURRENCY,
    take: async () => {
      // A proposed one is a ramp, which ends when nobody approves it in time.
      const open = await ports.store.moves.bulkLines({ states: ['proposed', 'running'] }, MOST_RUNNING);
      const oldest_first = new Map<string, Known>();
      for (const { id } of open.toReversed()) oldest_first.set(id, known.get(id) ?? (await firstLook(ports, id)));
      known = oldest_first;
      const now = tickOf(ports.clock);
      const due = [...known].filter(([, { rests_until }]) => rests_until <= now);
      return due.toSorted(([, one], [, other]) => Number(other.goes_back) - Number(one.goes_back));
    },
    key: ([id]) => id,
    handle: async ([id, one]) => {
      // One that fails rests, too: without it the loop would take it again at once, and no other.
      one.rests_until = tickOf(ports.clock) + FAILED_REST_MS;
      const rest = await (one.is_ramp ? stepRamp(ports, id) : stepBulk(ports, id, one)).catch((error: unknown) => {
        if (!(error instanceof PuenteError && error.code === 'conflict')) throw error;
        ports.log.debug('the steps of a bulk move were made by another process');
        return REST_MS;
      });
      one.rests_until = rest === null ? 0 : tickOf(ports.clock) + rest;
      if (rest !== null) one.failed.clear(); // those that failed are tried again after it
    },
    log: ports.log,
  });
}
