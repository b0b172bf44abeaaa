/** The steps of ramps: looks at the merchants of a ramp, and moves them one step up or back. */
import { PuenteError, type Spoken } from '../../error.ts';
import { encoded, quoted, say } from '../../locales/message.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import type { BulkItem } from '../../proxy/records/routing.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { BY_ITSELF, type Person } from '../api/person.ts';
import { newestOf } from '../audit.ts';
import { defined } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { merchantOf } from '../seen.ts';
import { isSince, joined } from './bulk.ts';
import { isWaiting } from './bulk-decision.ts';
import { judgeFor, makeMove, refuseUnlessAllowed } from './judged.ts';
import {
  auditOf,
  expireRamp,
  isRamp,
  type Ramp,
  type RampItem,
  save,
  stageOf,
  stopOf,
  stopSince,
  targetOf,
} from './ramp.ts';
import { decideRamp, type RampDecision, type RampEvidence, type RampStop, routeAt } from './ramp-decision.ts';
import { readEvidence, rulesOf } from './ramp-evidence.ts';
import { routeSaid, routeText, routingOf } from './target.ts';

/** Between two looks at a ramp: a safety stop takes work off orders by itself, and at once. */
const LOOK_MS = 30_000;

/**
 * Looks at each merchant of a ramp, and moves those whose decision is to advance or to go back. A person's change of the
 * ramp waits for one merchant at most. The revisions decide between processes: of two that make the same step, one is
 * refused, and takes up the other's line at its next look; the other merchants are looked at all the same.
 * After a safety stop the others that are stopped, too, step back before the ramp pauses.
 * @returns for how many ms another look is of no use.
 */
export async function stepRamp(ports: Ports, id: string): Promise<number> {
  const alone = <Result>(work: () => Promise<Result>): Promise<Result> => ports.memory.mutex.run(`bulk ${id}`, work);
  const look: Look = { stopped: null, pauses: false };
  let ramp = await alone(() => runningRamp(ports, id));
  for (const { merchant_id } of ramp?.items ?? []) {
    if (ramp === null) break;
    const before: Ramp = ramp;
    ramp = await alone(() => lookAt(ports, before, merchant_id, look));
    await yieldToEventLoop(); // a ramp may have hundreds of merchants, and payments come first
  }
  const [{ stopped }, last] = [look, ramp];
  if (last !== null && stopped !== null)
    ramp = await alone(() => lookAt(ports, last, stopped, { stopped, pauses: true }));
  if (ramp !== null && !ramp.items.some(isWaiting)) {
    const before = ramp;
    const done: Ramp = { ...before, state: 'done' };
    await alone(() =>
      unlessChanged(() => save(ports, done, before, 'ramp done', BY_ITSELF, encoded(say('ramp.done', {})))),
    );
  }
  return LOOK_MS;
}

interface Look {
  /** The first merchant for whose stop the ramp pauses; from there on only others with a stop are looked at. */
  stopped: string | null;
  /** They have stepped back. */
  pauses: boolean;
}

/** As it is stored now; null unless it runs. A proposed one that nobody approved in time ends here. */
async function runningRamp(ports: Ports, id: string): Promise<Ramp | null> {
  const bulk = await ports.store.moves.bulkMove(id);
  if (bulk === null || !isRamp(bulk)) return null;
  if (bulk.state === 'proposed') await unlessChanged(() => expireRamp(ports, bulk));
  return bulk.state === 'running' ? bulk : null;
}

/** @returns the ramp after the look, read again when it was changed meanwhile; null when it no longer runs. */
async function lookAt(ports: Ports, ramp: Ramp, merchant_id: string, look: Look): Promise<Ramp | null> {
  const item = ramp.items.find((one) => one.merchant_id === merchant_id && isWaiting(one));
  if (item?.ramp === undefined) return ramp;
  const place = item.ramp;
  const after = await unlessChanged(() => stepMerchant(ports, ramp, { ...item, ramp: place }, look));
  if (after === null) return runningRamp(ports, ramp.id);
  return after.state === 'running' ? after : null;
}

/** Null when another process or person was faster; the next look sees what it did. */
async function unlessChanged<Result>(change: () => Promise<Result>): Promise<Result | null> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof PuenteError && error.code === 'conflict') return null;
    throw error;
  }
}

async function stepMerchant(ports: Ports, ramp: Ramp, item: RampItem, look: Look): Promise<Ramp> {
  const { steps } = ramp.ramp;
  const merchant = await merchantOf(ports, item.merchant_id);
  const stop = stopOf(merchant);
  if (look.stopped !== null && stop === null) return ramp;
  const here = routingOf(ports.settings, merchant.settings).merchant;
  const is_there = routeText(routeAt(steps, item.ramp.step, item.ramp)) === routeText(here);
  // Also one that a person has put back where the ramp left it: who rolled it back had a reason.
  const [rollback] = await ports.store.audit.auditsOf({ subject: merchant.id, action: 'rollback' }, 1);
  const is_rolled_back = rollback !== undefined && isSince(rollback, item, ramp.created_at);
  const { step, start, since } = item.ramp;
  const now = ports.clock.now();
  // The clock was set back: by its time the step would wait for longer than was meant, up to years.
  if (since > now) return put(ports, ramp, item, { ramp: { ...item.ramp, since: now } });
  const tripped = step > start ? (stop ?? (await stopSince(ports, item))) : null;
  const went_back = wentBack(ramp, item, step);
  const facts = {
    ...{ plan: ramp.ramp, step, start, since, now },
    stop,
    is_tripped: tripped !== null && item.detail !== encoded(went_back),
    elsewhere: is_there && !is_rolled_back ? null : routeSaid(here),
    ...rulesOf(ports),
  };
  let evidence: RampEvidence = {};
  let decision = decideRamp({ ...facts, evidence });
  while (decision.do === 'look') {
    evidence = { ...evidence, ...(await readEvidence(ports, ramp, item, merchant, decision.at)) };
    decision = decideRamp({ ...facts, evidence });
  }
  switch (decision.do) {
    case 'hold':
      return put(ports, ramp, item, { detail: encoded(decision.why) });
    case 'pause': {
      look.stopped ??= merchant.id;
      if (!look.pauses) return ramp;
      if (item.detail === encoded(went_back)) return pause(ports, ramp, item, {}, went_back);
      const holds = say('ramp.holds_at', { merchant: merchant.id, where: routeSaid(here), why: decision.why });
      return pause(ports, ramp, item, { detail: encoded(decision.why) }, holds);
    }
    case 'leave':
      return put(ports, ramp, item, { state: 'skipped', detail: encoded(decision.why), at: facts.now });
    case 'done':
      return put(ports, ramp, item, { state: 'moved', detail: '', at: facts.now });
    case 'advance':
    case 'back':
      return attemptStep(ports, ramp, item, { ...decision, tripped }, evidence, merchant, look);
  }
}

/** @param tripped the stop that a step back is for. */
type Move = Extract<RampDecision, { to: number }> & { tripped: RampStop | null };

/** A refused step up holds the merchant; a refused step back pauses the ramp: a person must take the merchant back. */
async function attemptStep(
  ports: Ports,
  ramp: Ramp,
  item: RampItem,
  move: Move,
  evidence: RampEvidence,
  merchant: Merchant,
  look: Look,
): Promise<Ramp> {
  try {
    return await makeStep(ports, ramp, item, move, evidence, merchant, look);
  } catch (error) {
    if (!(error instanceof PuenteError) || (error.code !== 'refused' && error.code !== 'bad_request')) throw error;
    const why = error.said.length === 0 ? quoted(error.message) : joined(error.said, 'bulk.and');
    if (move.do === 'advance') return put(ports, ramp, item, { detail: encoded(why) });
    look.stopped ??= merchant.id;
    if (!look.pauses) return ramp;
    const where = routeSaid(routeAt(ramp.ramp.steps, move.to, item.ramp));
    const refused = say('ramp.back_refused', { merchant: merchant.id, where, why });
    return pause(ports, ramp, item, { detail: encoded(refused) }, refused);
  }
}

/**
 * Moves the merchant and its place in the ramp, with one audit line: one transaction, so that no step is made of a ramp
 * that was changed meanwhile. The ramp was approved as a whole, so no step waits for a second person. While the stop of a
 * step back is in force the whole ramp waits for a person, once the others have stepped back: they may be harmed, too.
 * @param merchant that was decided on. @throws PuenteError conflict when it or the ramp was changed since, as by a stop.
 */
async function makeStep(
  ports: Ports,
  ramp: Ramp,
  item: RampItem,
  { do: does, to, tripped }: Move,
  evidence: RampEvidence,
  merchant: Merchant,
  look: Look,
): Promise<Ramp> {
  const { steps, approved_by } = ramp.ramp;
  const is_back = does === 'back';
  // Its starter may make each of these moves; a step back is Puente's own.
  const person: Person = { name: is_back ? BY_ITSELF : ramp.who, role: 'operator' };
  const judged = await judgeFor(ports, merchant, targetOf(steps, to, item.ramp, stageOf(ports, merchant)), person);
  refuseUnlessAllowed(judged);
  const { sales, calls } = evidence;
  const legacy_p95_ms = calls?.legacy_p95_ms ?? item.ramp.legacy_p95_ms;
  const seen = { ...defined({ sales }), ...calls };
  const step = { id: ramp.id, step: to + 1, of: steps.length, is_back, approved_by, ...seen, legacy_p95_ms };
  const where = routeSaid(routeAt(steps, to, item.ramp));
  const why =
    tripped === null ? ramp.reason : encoded(say('ramp.back', { where, kind: tripped.kind, why: tripped.why }));
  const waits = is_back && stopOf(merchant) !== null;
  const at = ports.clock.now();
  const place = { ...item.ramp, step: to, since: at, legacy_p95_ms };
  // The merchant was read before: a line about it since then makes this a conflict.
  const line = await newestOf(ports);
  const detail = waits ? encoded(wentBack(ramp, item, to)) : '';
  const after = changed(ramp, item, { detail, at, line, ramp: place });
  await makeMove(ports, judged, is_back ? why : ramp.reason, person, { ramp: step }, { bulk: { before: ramp, after } });
  if (waits) look.stopped ??= merchant.id;
  return { ...after, revision: ramp.revision + 1 };
}

/** The detail of a merchant that has stepped back, until somebody resumes the ramp. */
function wentBack({ ramp: { steps } }: Ramp, { merchant_id, ramp: place }: RampItem, step: number): Spoken {
  return say('ramp.went_back', { merchant: merchant_id, where: routeSaid(routeAt(steps, step, place)) });
}

async function pause(ports: Ports, ramp: Ramp, item: RampItem, change: Partial<BulkItem>, why: Spoken): Promise<Ramp> {
  const detail = encoded(why);
  const paused: Ramp = { ...changed(ramp, item, change), state: 'paused', detail };
  const { revision } = await ports.store.moves.saveBulkMove(
    paused,
    ramp,
    auditOf(ports, paused, 'ramp paused', BY_ITSELF, detail),
  );
  return { ...paused, revision };
}

function changed(ramp: Ramp, item: RampItem, change: Partial<BulkItem>): Ramp {
  const items = ramp.items.map((one) => (one.merchant_id === item.merchant_id ? { ...one, ...change } : one));
  return { ...ramp, items };
}

/** Writes only what is new: a ramp that holds is looked at often. */
async function put(ports: Ports, ramp: Ramp, item: RampItem, change: Partial<BulkItem>): Promise<Ramp> {
  const is_same = Object.keys(change).length === 1 && change.detail === item.detail;
  if (is_same) return ramp;
  const after = changed(ramp, item, change);
  const { revision } = await ports.store.moves.saveBulkMove(after, ramp, null);
  return { ...after, revision };
}
