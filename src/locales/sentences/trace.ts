/** The story of a sale, in English: its steps, and what stays true of it. */
import type { Sentence } from '../../error.ts';

/** A duration in ms, to a tenth. */
type Took = { took_ms: number };
type Till = { operation: string | null; stage: string; lane: string } & Took;

export const traceSentences = {
  'step.till_told': ({
    operation,
    stage,
    lane,
    status,
    error,
    took_ms,
  }: Till & { status: number; error: string | null }) =>
    `${calledText(operation, stage, lane)} and was told ${answerText(status, error)} after ${took_ms} ms`,
  'step.till_left': ({ operation, stage, lane, took_ms }: Till) =>
    `${calledText(operation, stage, lane)} and had left after ${took_ms} ms, before it was told anything`,
  'step.lost': ({ path, why }: { path: string; why: Sentence }) => `${path} did not reach the order: ${why.text}`,
  'step.would_be_lost': ({ path, why }: { path: string; why: Sentence }) =>
    `${path} would not have reached the order: ${why.text}`,
  'step.paper_accepted': () => 'On paper orders would have taken it',
  'step.paper_refused_here': ({ error, detail }: { error: string | null; detail: string | null }) =>
    `On paper it would have been refused by the tables; the till would be told ${error}${inBrackets(detail)}`,
  'step.paper_refused_there': ({
    code,
    error,
    detail,
  }: {
    code: string | null;
    error: string | null;
    detail: string | null;
  }) =>
    `On paper it would have been refused by the service, with ${code}; the till would be told ${error}${inBrackets(detail)}`,
  'step.paper_differed': ({ signatures }: { signatures: string }) => `the sides differed: ${signatures}`,
  'step.carried': ({ status, code, took_ms }: Took & { status: number; code: string | null }) =>
    `Carried to legacy: the answer was ${answerText(status, code)} after ${took_ms} ms`,
  'step.carried_unanswered': ({ took_ms }: Took) => `Carried to legacy: no complete answer came after ${took_ms} ms`,
  'step.asked': ({ name, status, code, took_ms }: Took & { name: string; status: number; code: string | null }) =>
    `Asked the service for ${name}: the answer was ${answerText(status, code)} after ${took_ms} ms`,
  'step.asked_unanswered': ({ name, took_ms }: Took & { name: string }) =>
    `Asked the service for ${name}: no complete answer came after ${took_ms} ms`,
  'step.state': (facts: { state: string; order_status: string | null; legacy_state: string }) =>
    `${facts.state}${facts.order_status === null ? '' : `, the order is ${facts.order_status}`}; the till sees ${facts.legacy_state}`,
  'step.event': ({ action, verified, state }: { action: string; verified: boolean; state: string }) =>
    `The service told ${action} (${verified ? 'signed' : 'unsigned, taken as a hint'}); ${state}`,
  'step.notice': ({ topic, form, state }: { topic: string; form: string | null; state: string }) =>
    `A ${topic} notice${inBrackets(form)} was committed; it is ${state}`,
  'step.delivered': ({ why }: { why: Sentence }) => `Delivered: ${why.text}`,
  'step.not_delivered_theirs': ({ why }: { why: Sentence }) => `Not delivered, the receiver failed: ${why.text}`,
  'step.not_delivered_ours': ({ why }: { why: Sentence }) => `Not delivered, by our own doing: ${why.text}`,
  'step.decided': ({ who, action, why }: { who: string; action: string; why: Sentence | string }) =>
    `${who}: ${action}, ${typeof why === 'string' ? why : why.text}`,
  'step.refund_asked': ({ sum }: { sum: string | null }) => `A refund of ${sum ?? 'all that was left'} was asked for`,
  'step.refund_ended': ({
    state,
    sum,
    number,
    order,
  }: {
    state: string;
    sum: string | null;
    number: string;
    order: string | null;
  }) =>
    `The refund is ${state}${sum === null ? '' : `, ${sum}`} (number ${number}${order === null ? '' : `, ${order}`})`,
  'step.written_refund': () => 'The refund on the terminal was written down before it was carried to legacy',
  'step.written_sale': () => 'The sale was written down before it was carried to legacy',
  'step.known_open': () => 'Known as open on legacy',
  'step.known_ended': () => 'Known as over',
  'step.known_refused': () => 'Known as refused by legacy',
  'step.known_sending': () => 'Known as under way',
  'step.known_in_doubt': () => 'Known as without an answer: it may exist',
  'cut.calls': ({ most }: { most: number }) => `There are ${most} or more; later calls are left out here`,
  'cut.events': ({ most }: { most: number }) => `There are ${most} or more; later events are left out here`,
  'cut.notices': ({ most }: { most: number }) => `There are ${most} or more; earlier notices are left out here`,
  'cut.decisions': ({ most }: { most: number }) => `There are ${most} or more; earlier decisions are left out here`,
  'promise.unknown': () => 'These calls belong to no sale that Puente has seen being made.',
  'promise.legacy': () =>
    'This sale was born on legacy: its reads, cancels, refunds and notices stay there, whatever the stage is now.',
  'promise.open': () => 'This sale lives on orders until it ends; no move of the merchant touches it.',
  'promise.orders': () =>
    'This sale was born on orders: its reads, refunds and notices stay there, whatever the stage is now.',
};

function calledText(operation: string | null, stage: string, lane: string): string {
  return `The till called ${operation ?? 'an unknown endpoint'} (stage ${stage}, lane ${lane})`;
}

function answerText(status: number, code: string | null): string {
  return code === null ? String(status) : `${status} ${code}`;
}

function inBrackets(text: string | null): string {
  return text === null ? '' : ` (${text})`;
}
