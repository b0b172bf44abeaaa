/** What readiness finds, in English: blockers, what is not proven, and remarks. */

import type { Sentence } from '../../error.ts';
import {
  type AreaWord,
  areaTexts,
  callsOf,
  type KindFact,
  lossTexts,
  type SideFacts,
  sideText,
  times,
  type UnknownWord,
  unknownTexts,
} from './facts.ts';

type Counted = { operation: string; count: number };
type Unknown = { what: 'endpoint' | 'field' | 'header'; name: string; count: number };
type Area = { calls: number; area: AreaWord; min_sample: number };

export const findingSentences = {
  predicted_refusal: ({ operation, count, by, detail }: Counted & SideFacts) =>
    `${operation}: legacy took it ${times(count)}, and ${sideText({ by, detail })}`,
  'difference.legacy_answered': ({ operation, count, detail }: Counted & { detail: string }) =>
    `${operation}: legacy answered it ${times(count)}, and orders refused it: ${detail}`,
  'difference.orders_answered': ({ operation, count, detail }: Counted & { detail: string }) =>
    `${operation}: orders answered it ${times(count)}, and legacy refused it: ${detail}`,
  'difference.legacy_refused': ({ operation, count, detail }: Counted & { detail: string }) =>
    `${operation}: legacy refused it ${times(count)} (${detail}), and orders would take it`,
  'difference.whole': ({ operation, count, legacy, orders }: Counted & { legacy: string; orders: string }) =>
    `${operation} differs, ${times(count)}: legacy says ${legacy}, orders ${orders}`,
  'difference.at': ({
    operation,
    path,
    count,
    legacy,
    orders,
  }: Counted & { path: string; legacy: string; orders: string }) =>
    `${operation} differs at ${path}, ${times(count)}: legacy says ${legacy}, orders ${orders}`,
  safety_stop: ({ kind, since_at, why }: KindFact & { since_at: string; why: Sentence }) =>
    `The safety stop of ${kind} stands since ${since_at}: ${why.text}`,
  no_credential: () =>
    'No token is known for work after the call (events, recovery): none is configured, and none was seen lately.',
  unknown_refused: ({ what, name, count }: Unknown) =>
    `The ${what} ${name} came ${times(count)}; no table knows it, and it would be refused.`,
  faults: ({
    faults,
    calls,
    kind,
    days,
    share,
  }: KindFact & { faults: number; calls: number; days: number; share: number }) =>
    `${faults} of ${calls} calls of ${kind} on orders in ${days} days were faults; ${share} % is too many.`,
  'no_creates.in_vain': ({ calls }: { calls: number }) =>
    `${callsOf(calls)} to make a sale came and none went well, so nothing is proven.`,
  'no_creates.other_work': ({ calls }: { calls: number }) =>
    `${callsOf(calls)} of this merchant came and none to make a sale, so nothing is proven.`,
  'no_creates.unseen': () =>
    'No call of this merchant was seen: either it does not come through Puente, or it is not in use.',
  'never_seen.unseen': ({ area, min_sample }: Omit<Area, 'calls'>) =>
    `No ${areaTexts[area]} was ever seen: it is proven by ${neededText(min_sample)} from a till of this merchant.`,
  'never_seen.in_vain': ({ calls, area, min_sample }: Area) =>
    `${callsOf(calls)} of ${areaTexts[area]} came, and none shows one that went well (refusals and what a search finds on legacy don't count): it is proven by ${neededText(min_sample)} from a till of this merchant.`,
  not_judged: ({ calls, area, judged, min_sample }: Area & { judged: number }) =>
    `${callsOf(calls)} of ${areaTexts[area]} came, and the tables have judged ${judged}; fewer than ${min_sample} prove nothing.`,
  'too_few_calls.area': ({ calls, area, min_sample }: Area) =>
    `${callsOf(calls)} of ${areaTexts[area]} went well: fewer than ${min_sample} prove nothing.`,
  not_on_orders: ({ calls, area, on_legacy, min_sample }: Area & { on_legacy: number }) =>
    `${callsOf(calls)} of ${areaTexts[area]} went well on orders, ${callsOf(on_legacy)} on legacy: fewer than ${min_sample} on orders prove nothing.`,
  legacy_only: ({ calls, area }: Omit<Area, 'min_sample'>) =>
    `${callsOf(calls)} of ${areaTexts[area]} went well, on legacy alone: on orders only a canary proves it.`,
  old_evidence: ({ days, most_days }: { days: number; most_days: number }) =>
    `The last call was ${days} days ago; evidence of more than ${most_days} days says little of the tills of today.`,
  tables_changed: ({ revision, judged_by }: { revision: string; judged_by: string }) =>
    `The tables are at revision ${revision}, and the newest evidence is of ${judged_by}: no call was judged by them yet.`,
  in_doubt: ({ count }: { count: number }) =>
    `${count === 1 ? 'One create has' : `${count} creates have`} an outcome that nobody knows yet.`,
  not_known: ({ unknown }: { unknown: readonly UnknownWord[] }) =>
    `Not known from calls alone: ${unknown.map((word) => unknownTexts[word]).join(', ')}.`,
  shed: ({ days, shadow, evidence }: { days: number; shadow: number; evidence: number }) =>
    `In the last ${days} days ${callsOf(shadow)} of all merchants went without a shadow and ${callsOf(evidence)} without a record, because too much waited.`,
  unknown_noted: ({ what, name, count }: Unknown) => `The ${what} ${name} came ${times(count)}, and no table knows it.`,
  no_notice_url: ({ kind }: KindFact) =>
    `Notices of ${kind} would have nowhere to go: the merchant has no notice URL. Tills that only poll need none; then an approver moves it with --override.`,
  error_difference: ({ operation, count, legacy, by, detail }: Counted & SideFacts & { legacy: string }) =>
    `${operation} is refused by both sides and told differently, ${times(count)}: legacy says ${legacy}, and ${sideText({ by, detail })}`,
  unknown_carried: ({ names, more }: { names: string; more: number }) =>
    `No table knows ${names}${more > 0 ? ` and ${more} more` : ''}.`,
  mismatch: ({ days, count, mismatch, subject }: { days: number; count: number; mismatch: string; subject: string }) =>
    `In the last ${days} days ${count === 1 ? 'one sale does' : `${count} sales do`} not agree with the upstream (${mismatch}), and could not be repaired: ${subject}${count > 1 ? ', …' : ''}.`,
  self_service: ({ count }: { count: number }) =>
    `Tills listed terminals in SELF_SERVICE, or asked them for another mode, ${times(count)}: on orders such a terminal keeps its mode, and a till that asks for PDV is refused (LIM-71). Switch what the tills need in the vendor's panel.`,
  not_used: ({ calls, kind }: KindFact & { calls: number }) =>
    `${callsOf(calls)} to make a sale of ${kind} came and none went well, so ${kind} counts as not used.`,
  loss: ({
    weight,
    count,
    fields,
    more,
  }: {
    weight: keyof typeof lossTexts;
    count: number;
    fields: string;
    more: number;
  }) => `${lossTexts[weight]} did not reach the order ${times(count)}: ${fields}${more > 0 ? ', …' : ''}.`,
};

function neededText(min_sample: number): string {
  return min_sample === 1 ? 'one that goes well' : `${min_sample} that go well`;
}
