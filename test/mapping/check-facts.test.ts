/** The proofs about evidence: a matcher, an advice or a double read that means nothing stops the process from listening. */
import { describe, expect, it } from 'vitest';
import { broken } from './broken.ts';

const LIST = '    match: unordered\n    by: id\n';

/** One proof: file, what is broken, and what is said about it. */
const cases: [name: string, file: string, before: string | RegExp, after: string, says: string][] = [
  [
    'a matcher of an answer that is not read on both sides',
    'point/mode.answer.yaml',
    '    with: operating_mode\n',
    '    with: operating_mode\n    match: volatile\n',
    'point/mode.answer.yaml row 1: no double read compares point.mode.answer, so a matcher means nothing here',
  ],
  [
    'a matcher of a request',
    'point/devices.request.yaml',
    '    with: page_size\n',
    '    with: page_size\n    match: numeric\n',
    'point/devices.request.yaml row 3: no double read compares',
  ],
  [
    'a list without the key of its elements',
    'point/devices.answer.yaml',
    LIST,
    '    match: unordered\n',
    'point/devices.answer.yaml row 1: unordered needs the key of its elements: by',
  ],
  [
    'a key that no element has',
    'point/devices.answer.yaml',
    LIST,
    '    match: unordered\n    by: serial\n',
    'point/devices.answer.yaml row 1: no row of this each writes its key serial',
  ],
  [
    'a key without unordered',
    'point/devices.answer.yaml',
    LIST,
    '    by: id\n',
    'point/devices.answer.yaml row 1: only unordered has a key: by',
  ],
  [
    'a list as a number',
    'point/devices.answer.yaml',
    LIST,
    '    match: numeric\n',
    "point/devices.answer.yaml row 1: body.devices is no number, so it can't match as numeric",
  ],
  [
    'a field as a list',
    'point/devices.answer.yaml',
    '        with: whole_number\n',
    '        with: whole_number\n        match: unordered\n        by: id\n',
    'point/devices.answer.yaml row 1.2: only the list of an each can match as unordered',
  ],
  [
    'a matcher nobody knows',
    'point/devices.answer.yaml',
    'match: unordered',
    'match: roughly',
    'row 1: match: Invalid option',
  ],
  [
    'a loss without advice',
    'qr/create.request.yaml',
    / {4}advice: Send prices with their taxes included.*\n/,
    '',
    'qr/create.request.yaml row 17: what is lost here is told to the till, with what its maker can do: give the row an advice',
  ],
  [
    'a loss inside a list without advice',
    'qr_v1/create.request.yaml',
    / {8}advice: Leave pictures.*\n/,
    '',
    'qr_v1/create.request.yaml row 10.8: what is lost here',
  ],
  [
    'a loss by a converter without advice',
    'point/headers.yaml',
    / {4}advice: Send a lifetime.*\n/,
    '',
    'point/headers.yaml row 3: what is lost here',
  ],
  [
    'advice where nothing is lost',
    'point/create.request.yaml',
    '    with: amount_text\n',
    '    with: amount_text\n    advice: Send something else instead.\n',
    'point/create.request.yaml row 8: nothing is lost here, so nobody needs the advice',
  ],
  [
    'an advice that is none',
    'point/create.request.yaml',
    /advice: Keep descriptions.*/,
    'advice: shorter',
    'row 4: advice: give the advice in a sentence',
  ],
  [
    'a weight nobody knows',
    'point/create.request.yaml',
    'weight: money',
    'weight: heavy',
    'row 8: weight: Invalid option',
  ],
  [
    'a write that is read on both sides',
    'operations.yaml',
    'request: point.create.request\n',
    'request: point.create.request\n    double_read: true\n',
    "operations.yaml row 3: point.create_intent can't be read on both sides: legacy writes with POST",
  ],
  [
    'a read without an upstream call that is read on both sides',
    'operations.yaml',
    'answer: point.events.answer\n',
    'answer: point.events.answer\n    double_read: true\n',
    "operations.yaml row 4: point.list_events can't be read on both sides: it has no upstream call",
  ],
  [
    'a read that becomes a write',
    'operations.yaml',
    'upstream: terminals_list',
    'upstream: terminals_setup',
    "point.list_devices can't be read on both sides: terminals_setup writes with PATCH",
  ],
];

describe('the proofs of evidence', () => {
  it.each(cases)('%s', (_, file, before, after, says) => {
    expect(broken(file, before, after)).toContain(says);
  });
});
