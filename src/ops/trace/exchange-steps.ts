/** The steps of one answered call: what the till was told, what was lost, what its shadow found, and what the service was asked. */

import type { Spoken } from '../../error.ts';
import { quoted, say } from '../../locales/sentences.ts';
import { TILL_LEFT, type UpstreamNote } from '../../proxy/evidence/exchange.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import { type Step, tenths, told } from './order.ts';

/** When the rows were written that stand before a call to the service: epoch ms, by the name of the call. */
export type Written = Partial<Record<string, readonly number[]>>;

export function stepsOfExchange(exchange: StoredExchange, written: Written = {}): Step[] {
  const { at, id, lost } = exchange;
  const losses = lost.map(({ path, why, would_be }): Step => {
    const sentence = say(would_be ? 'step.would_be_lost' : 'step.lost', { path, why: quoted(why) });
    return { at, rank: 'translated', kind: 'loss', ...told(sentence), id };
  });
  const till: Step = { at, rank: 'call', kind: 'till', ...told(tillSaid(exchange)), id };
  return [till, ...losses, ...shadowSteps(exchange), ...upstreamSteps(exchange, written)];
}

function tillSaid({ operation, lane, stage, status, error, duration_ms }: StoredExchange): Spoken {
  const called = { operation, stage, lane, took_ms: tenths(duration_ms) };
  return status === TILL_LEFT ? say('step.till_left', called) : say('step.till_told', { ...called, status, error });
}

function shadowSteps({ at, id, shadow, signatures }: StoredExchange): Step[] {
  if (shadow === null && signatures.length === 0) return [];
  const verdict = shadow === null ? [] : [verdictSaid(shadow)];
  const differed = signatures.length === 0 ? [] : [say('step.paper_differed', { signatures: signatures.join(', ') })];
  return [{ at, rank: 'translated', kind: 'shadow', ...told(...verdict, ...differed), id }];
}

function verdictSaid({ verdict, code, error, detail }: NonNullable<StoredExchange['shadow']>): Spoken {
  if (verdict === 'accepted') return say('step.paper_accepted', {});
  if (verdict === 'refused_here') return say('step.paper_refused_here', { error, detail });
  return say('step.paper_refused_there', { code, error, detail });
}

/**
 * When a call began is not kept, only how long it took: one after the other from the arrival of the till's, none before
 * the row that was written for it, and none after the till had its answer.
 */
function upstreamSteps({ at, id, upstream, duration_ms }: StoredExchange, written: Written): Step[] {
  const end = at + duration_ms;
  let next = at;
  return upstream.map((note) => {
    const row_at = written[note.name]?.find((one) => one >= at && one <= end) ?? at;
    const asked_at = Math.min(end, Math.max(next, row_at));
    next = asked_at + note.duration_ms;
    return { at: asked_at, rank: 'asked', kind: 'upstream', ...told(upstreamSaid(note)), id };
  });
}

function upstreamSaid({ name, status, code, duration_ms }: UpstreamNote): Spoken {
  const took_ms = tenths(duration_ms);
  const is_carried = name === 'legacy';
  if (status === null)
    return is_carried ? say('step.carried_unanswered', { took_ms }) : say('step.asked_unanswered', { name, took_ms });
  const answer = { status, code, took_ms };
  return is_carried ? say('step.carried', answer) : say('step.asked', { name, ...answer });
}
