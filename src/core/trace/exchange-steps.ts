/** The steps of one answered call: what the till was told, what was lost, what its shadow found, and what the service was asked. */
import type { UpstreamNote } from '../exchange.ts';
import { TILL_LEFT } from '../exchange-outcome.ts';
import type { StoredExchange } from '../records/evidence.ts';
import { type Step, tenths } from './order.ts';

/** When the rows were written that stand before a call to the service: epoch ms, by the name of the call. */
export type Written = Partial<Record<string, readonly number[]>>;

export function stepsOfExchange(exchange: StoredExchange, written: Written = {}): Step[] {
  const { at, id, lost } = exchange;
  const losses = lost.map(({ path, why, would_be }): Step => {
    const where = would_be ? 'would not have reached the order' : 'did not reach the order';
    return { at, rank: 'translated', kind: 'loss', what: `${path} ${where}: ${why}`, id };
  });
  const till: Step = { at, rank: 'call', kind: 'till', what: tillWords(exchange), id };
  return [till, ...losses, ...shadowSteps(exchange), ...upstreamSteps(exchange, written)];
}

function tillWords({ operation, lane, stage, status, error, duration_ms }: StoredExchange): string {
  const called = `The till called ${operation ?? 'an unknown endpoint'} (stage ${stage}, lane ${lane})`;
  const after = `after ${tenths(duration_ms)} ms`;
  if (status === TILL_LEFT) return `${called} and had left ${after}, before it was told anything`;
  return `${called} and was told ${error === null ? status : `${status} ${error}`} ${after}`;
}

function shadowSteps({ at, id, shadow, signatures }: StoredExchange): Step[] {
  if (shadow === null && signatures.length === 0) return [];
  const told = shadow === null ? [] : [verdictWords(shadow)];
  const differences = signatures.length === 0 ? [] : [`the sides differed: ${signatures.join(', ')}`];
  return [{ at, rank: 'translated', kind: 'shadow', what: [...told, ...differences].join('; '), id }];
}

function verdictWords({ verdict, code, error, detail }: NonNullable<StoredExchange['shadow']>): string {
  if (verdict === 'accepted') return 'On paper orders would have taken it';
  const who = verdict === 'refused_here' ? 'the tables' : `the service, with ${code}`;
  return `On paper it would have been refused by ${who}; the till would be told ${error}${detail === null ? '' : ` (${detail})`}`;
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
    return { at: asked_at, rank: 'asked', kind: 'upstream', what: upstreamWords(note), id };
  });
}

function upstreamWords({ name, status, code, duration_ms }: UpstreamNote): string {
  const came =
    status === null ? 'no complete answer came' : `the answer was ${code === null ? status : `${status} ${code}`}`;
  const asked = name === 'legacy' ? 'Carried to legacy' : `Asked the service for ${name}`;
  return `${asked}: ${came} after ${tenths(duration_ms)} ms`;
}
