/** Each check of the tables: with one thing broken in the real tables, the message names file and row. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { broken, copyOfTables, messageOf } from './broken.ts';
import { tablesDirectory } from './kit.ts';

const WHY = 'why: A reason that is long enough.';

/** By file: the broken text and the message, with file and row. */
type Breaks = Readonly<Record<string, readonly (readonly [before: string | RegExp, after: string, says: string])[]>>;

const proofs: Breaks = {
  'point/mode.answer.yaml': [
    [/ {2}- drop: terminals\[0\]\.id\n.*\n.*\n/, '', 'the source field terminals[].id has no row'],
  ],
  'point/create.request.yaml': [
    [
      'sites: [MLA, MLC, MLU, other]',
      'sites: [MLA, MLC, other]',
      'the source field body.description has no row: copy it, or drop it and say why (at MLU)',
    ],
    ['copy: body.amount', 'copy: body.amont', 'row 8: the source createIntentRequest has no body.amont'],
    [
      'to: body.config.point.ticket_number',
      'to: body.config.point.ticket',
      'row 11: the target createOrderCall has no body.config.point.ticket',
    ],
    [
      '  - copy: body.description\n',
      `  - { const: Mesa, to: body.description, sites: [MLB], ${WHY} }\n  - copy: body.description\n`,
      'row 5: body.description is already written by row 4 (at MLB)',
    ],
    [/ {2}- const: point\n.*\n.*\n/, '', 'the required target field body.type is written by no row'],
    [
      '    to: body.type\n',
      '    to: body.type\n    sites: [MLA, MLB, MLM]\n',
      'body.type is written by no row (at MLC, MLU, other)',
    ],
    ['with: amount_text', 'with: amount_texts', "row 8: no converter is called 'amount_texts'"],
    ['    with: ticket_choice\n', '', "no row uses the converter 'ticket_choice'"],
    ['sites: [MLB]', 'sites: [MLX]', 'row 4: sites.yaml has no site MLX'],
    [
      'unknown: { MLM: refuse, elsewhere: note }',
      'unknown: { MLM: refuse }',
      'unknown: needs a policy for all other sites',
    ],
  ],
  'point/headers.yaml': [
    [/ {2}- drop: x-tracking-id\n.*\n.*\n/, '', 'the source field x-tracking-id has no row'],
    ['role: headers\n', '', "no table has the role 'headers' in point"],
    ['role: headers', 'role: notice', "point/notice.yaml: the role 'notice' is given twice"],
  ],
  'limitations.yaml': [
    ['id: LIM-02', 'id: LIM-01', 'row 2: LIM-01 must have a higher number than LIM-01'],
    [
      "without: ['qr.create.request#5']",
      "without: ['qr.create.request#500']",
      'LIM-27 counts the row qr.create.request#500, which does not exist',
    ],
    [
      'losses: [body.items]',
      'losses: [body.goods]',
      'LIM-23 counts the loss of body.goods, which no request of its operations has',
    ],
    [
      'errors: [confirmation_refused]',
      'errors: [queued_intent]',
      'LIM-28 counts the error queued_intent, which no till of its operations is answered',
    ],
    [
      'counted: [{ ok: true }]\n    test: LIM-04',
      'counted: [{ noted: true }]\n    test: LIM-04',
      'LIM-04 waits for a mark that no code makes',
    ],
    [
      'counted: [{ ok: true, noted: true }]\n    test: LIM-57',
      'counted: [{ ok: true }]\n    test: LIM-57',
      'LIM-57 is marked by code, and no condition counts the mark',
    ],
    ['counted: [{ ok: true }]\n    test: LIM-05', 'counted: [{}]\n    test: LIM-05', 'row 5: counted'],
  ],
  'point/get.answer.yaml': [
    ['reads: [status, status_detail]', 'reads: [status, status_detail, mood]', 'row 2: the source order has no mood'],
  ],
  'point/devices.answer.yaml': [
    [
      'copy: external_pos_id',
      'copy: outer_pos_id',
      'row 1.4: the source listTerminalsAnswer has no data.terminals[].outer_pos_id',
    ],
    [
      "        otherwise: ''\n",
      '',
      'row 1.4: the required target field body.devices[].external_pos_id hangs on an optional source field',
    ],
  ],
  'point/cancel.answer.yaml': [
    [
      '  - { drop: type,',
      `  - { const: x, to: body.id, ${WHY} }\n  - { drop: type,`,
      'row 2: body.id is already written by row 1',
    ],
  ],
  'point/notice.yaml': [
    [
      'with: announced_payment_type\n',
      'with: announced_payment_type\n    sites: [MLA]\n',
      'the required target field body.payment.type is written by no row (at MLB, MLM, MLC, MLU, other)',
    ],
  ],
  'point/errors.yaml': [
    [/limit_minor/g, 'property_name', "no row uses the converter 'limit_minor'"],
    [/.*code: sponsor_id_not_valid.*\n/, '', 'the error create 400 sponsor_id_not_valid has no row'],
    [
      / {4}- \{ status: 400, code: property_type, error: bad_request.*\n/,
      '',
      'the error create 400 property_type has no row without a condition to end on',
    ],
    [
      'status: 404, code: pos_not_found',
      'status: 404, code: pos_lost',
      "row create 24: create documents no error 404 'pos_lost'",
    ],
    [
      'error: device_in_pos',
      'error: device_in_pdv',
      "row terminals_setup 13: the legacy catalogue has no error 'device_in_pdv'",
    ],
    [
      'error: missing_property, with: property_name',
      'error: missing_property',
      'row create 1: the message of missing_property has a place for a detail',
    ],
    [
      'error: device_not_found, why',
      'error: device_not_found, with: property_name, why',
      'row create 24: the message of device_not_found has no place for a detail',
    ],
    [
      'code: forbidden_checking_device_owner, error: not_device_owner, why: The live spelling of the same error.',
      'code: forbidden_checking_terminal_owner, error: not_device_owner, why: The live spelling of the same error.',
      'row create 23: is never reached: a row before it always holds',
    ],
    ['  terminals_list:\n', '  terminals_lost:\n', "no upstream call is named 'terminals_lost'"],
    [/.*An answer nobody documents.*\n/, '', 'any has no default row'],
    ['status: 429, error: too_many_requests', 'error: too_many_requests', 'row any 3: the default row comes last'],
  ],
  'point/last_status.answer.yaml': [
    ['context: state_at', 'context: state_since', 'row 2: the context has no state_since'],
    ['context: state_at', 'context: created_at', "no row uses the context key 'state_at'"],
  ],
  'point/mode.request.yaml': [
    ['from: changeModeRequest', 'from: changeModeRequests', "no contract schema is called 'changeModeRequests'"],
    ['unknown: note\n', '', 'changeModeRequest lets unknown keys in, but the table has no policy for them'],
    ['table: point.mode.request', 'table: point.mode.answer', 'the table name point.mode.answer is given twice'],
  ],
  'point/get.request.yaml': [['rows:', 'unknown: note\nrows:', 'getIntentRequest lets no unknown keys in']],
  'sites.yaml': [
    ['id: other', 'id: MXX', "has no row 'other'"],
    ['id: MLU', 'id: MLC', 'row 5: the site MLC is given twice'],
  ],
  'point/states.yaml': [
    [/ {2}- status: expired\n(?: {4}.*\n)+/, '', 'the order status expired has no row'],
    ['status: expired', 'status: lapsed', "row 5: orders have no status 'lapsed'"],
    ['status: expired', 'status: canceled', 'row 5: the order status canceled has a row already'],
    ['shows: ABANDONED', 'shows: EXPIRED', "row 5: point has no state 'EXPIRED'"],
    [
      '    settled: CONFIRMATION_REQUIRED\n',
      '',
      'the state CONFIRMATION_REQUIRED is neither produced nor named under never',
    ],
    [/(- status: unknown\n(?: {4}.*\n){2} {4}final: )false/, '$1true', 'row 9: an unknown status must not look final'],
  ],
  'operations.yaml': [
    [/point\.cancel\.answer/g, 'null', 'point/cancel.answer.yaml: no operation uses the table point.cancel.answer'],
    ['request: point.mode.request', 'request: point.modes.request', "row 2: there is no table 'point.modes.request'"],
    [
      'path: /point/integration-api/devices/:device_id/refund',
      'path: /point/integration-api/devices/:unit/payment-intents',
      'row 10: POST /point/integration-api/devices/:unit/payment-intents is already an operation',
    ],
    ['name: point.change_mode', 'name: point.list_devices', 'row 2: the name point.list_devices is given twice'],
    [
      /(path: \/point\/integration-api\/payment-intents\/)events([\s\S]*?path: \/point\/integration-api\/payment-intents\/):intent_id\n/,
      '$1:intent_id\n$2events\n',
      'row 6: /point/integration-api/payment-intents/events is never reached: point.list_events stands before it',
    ],
    ['upstream: terminals_list', 'upstream: terminals', "row 1: no upstream call is named 'terminals'"],
  ],
};

const evidence: Breaks = {
  'point/mode.answer.yaml': [
    [
      '    with: operating_mode\n',
      '    with: operating_mode\n    match: volatile\n',
      'row 1: no double read compares point.mode.answer, so a matcher means nothing here',
    ],
  ],
  'point/devices.request.yaml': [
    ['    with: page_size\n', '    with: page_size\n    match: numeric\n', 'row 3: no double read compares'],
  ],
  'point/devices.answer.yaml': [
    [
      '    match: unordered\n    by: id\n',
      '    match: unordered\n',
      'row 1: unordered needs the key of its elements: by',
    ],
    [
      '    match: unordered\n    by: id\n',
      '    match: unordered\n    by: serial\n',
      'row 1: no row of this each writes its key serial',
    ],
    ['    match: unordered\n    by: id\n', '    by: id\n', 'row 1: only unordered has a key: by'],
    [
      '    match: unordered\n    by: id\n',
      '    match: numeric\n',
      "row 1: body.devices is no number, so it can't match as numeric",
    ],
    [
      '        with: whole_number\n',
      '        with: whole_number\n        match: unordered\n        by: id\n',
      'row 1.2: only the list of an each can match as unordered',
    ],
    ['match: unordered', 'match: roughly', 'row 1: match: Invalid option'],
  ],
  'qr/create.request.yaml': [
    [
      / {4}advice: Send prices with their taxes included.*\n/,
      '',
      'row 17: what is lost here is reported to the maker of the till: give the row an advice',
    ],
  ],
  'qr_v1/create.request.yaml': [[/ {8}advice: Leave pictures.*\n/, '', 'row 10.8: what is lost here']],
  'point/headers.yaml': [[/ {4}advice: Send a lifetime.*\n/, '', 'row 3: what is lost here']],
  'point/create.request.yaml': [
    [
      '    with: amount_text\n',
      '    with: amount_text\n    advice: Send something else instead.\n',
      'row 8: nothing is lost here, so the advice has no use',
    ],
    [/advice: Keep descriptions.*/, 'advice: shorter', 'row 4: advice: give the advice in a sentence'],
    ['weight: money', 'weight: heavy', 'row 8: weight: Invalid option'],
  ],
  'operations.yaml': [
    [
      'request: point.create.request\n',
      'request: point.create.request\n    double_read: true\n',
      "row 3: point.create_intent can't be read on both sides: legacy writes with POST",
    ],
    [
      'answer: point.events.answer\n',
      'answer: point.events.answer\n    double_read: true\n',
      "row 4: point.list_events can't be read on both sides: it has no upstream call",
    ],
    [
      'upstream: terminals_list',
      'upstream: terminals_setup',
      "point.list_devices can't be read on both sides: terminals_setup writes with PATCH",
    ],
  ],
};

/** Each family has its own headers, errors and states, and none of another family's. */
const families: Breaks = {
  'qr_v1/headers.yaml': [
    ['role: headers\n', '', "no table has the role 'headers' in qr_v1"],
    ['family: qr_v1', 'family: qr', "the role 'headers' is given twice in qr"],
  ],
  'qr/headers.yaml': [[/ {2}- drop: x-test-scope\n.*\n.*\n/, '', 'the source field x-test-scope has no row']],
  'payments/errors.yaml': [
    ['family: payments', 'family: merchant_orders', "no table has the role 'errors' in payments"],
    [/.*code: refund_amount_exceeds.*\n/, '', 'the error refund 400 refund_amount_exceeds has no row'],
    [
      'error: partial_unsupported',
      'error: device_in_pos',
      "row refund 3: the legacy catalogue has no error 'device_in_pos'",
    ],
  ],
  'qr_v1/errors.yaml': [
    ['family: qr_v1', 'family: qr', "the role 'errors' is given twice in qr"],
    ['  cancel:\n', '  refund:\n', "no operation of qr_v1 calls 'refund'"],
    [/.*code: sponsor_id_not_valid.*\n/, '', 'the error create 400 sponsor_id_not_valid has no row'],
    [
      'error: missing_property, with: property_name',
      'error: missing_property',
      'row create 1: the message of missing_property has a place for a detail',
    ],
  ],
  'qr/states.yaml': [
    ['family: qr', 'family: payments', "no table has the role 'states' in qr"],
    ['family: qr', 'family: point', "the role 'states' is given twice in point"],
    [
      /(- status: processed\n) {4}detail: partially_refunded\n([\s\S]*?- status: processed\n)/,
      '$1$2    detail: partially_refunded\n',
      'row 8: the order status processed has a row already',
    ],
    [
      /(- status: processed\n {4}detail: partially_refunded\n(?: {4}.*\n)+)/,
      '$1  $1',
      'row 8: the order status processed with partially_refunded has a row already',
    ],
    [
      '- status: processed\n    shows',
      '- status: processed\n    detail: accredited\n    shows',
      'the order status processed has no row',
    ],
    ['shows: paid', 'shows: FINISHED', "row 8: qr has no state 'FINISHED'"],
    ['shows: partially_paid', 'shows: PROCESSING', "row never 1: qr has no state 'PROCESSING'"],
    ['shows: partially_paid', 'shows: paid', 'row never 1: a row does produce paid'],
    [/(- status: unknown\n(?: {4}.*\n){2} {4}final: )false/, '$1true', 'row 10: an unknown status must not look final'],
    ['notices: [payment, merchant_order]', 'notices: [payment, merchant_orders]', 'row 8: notices 2: Invalid option'],
  ],
  'payments/of-order.yaml': [
    ['role: payment\n', '', "no table has the role 'payment'"],
    ['role: payment', 'role: notice', "point/notice.yaml: the role 'notice' is given twice"],
  ],
  'qr/create.request.yaml': [
    [/ {2}- drop: body\.description\n.*\n.*\n.*\n/, '', 'the source field body.description has no row'],
  ],
  'operations.yaml': [
    ['family: qr_v1', 'family: qr_v0', 'row 11: family: Invalid option'],
    ['kind: qr', 'kind: qrs', 'row 11: kind: Invalid option'],
  ],
};

const grammar: Breaks = {
  'point/mode.request.yaml': [
    [
      'copy: body.operating_mode',
      'copy: body.operating_mode\n    const: PDV',
      'row 2: needs exactly one of copy, const, context, drop, each; it has copy and const',
    ],
    [
      '  - copy: body.operating_mode\n    to',
      '  - to',
      'row 2: needs exactly one of copy, const, context, drop, each; it has none',
    ],
    ['why: The same words in both APIs.', '', 'row 2: why: Invalid input'],
    ['why: The same words in both APIs.', 'why: so', 'say why in a sentence'],
    ['    to: body.terminals[0].operating_mode\n', '', 'row 2: a copy needs a target'],
    [
      '    to: body.terminals[0].id',
      '    to: body.terminals[0].id\n    policy: note',
      'row 1: only a drop has a policy',
    ],
    [
      '    to: body.terminals[0].id',
      '    to: body.terminals[0].id\n    elsewhere: note',
      'row 1: elsewhere needs sites',
    ],
    ['copy: path.device_id', 'copy: path..device_id', 'row 1: copy: is not a path'],
    ['    to: body.terminals[0].id', '    too: body.terminals[0].id', 'Unrecognized key: "too"'],
    ['rows:', 'rows: [', 'is not YAML'],
    [/[\s\S]*/, '', 'Invalid input'],
  ],
  'point/mode.answer.yaml': [
    ['policy: silent', 'policy: silent\n    to: body.operating_mode', 'row 2: a drop has no target'],
    ['    policy: silent\n', '', 'row 2: a drop needs a policy or a converter'],
    ['policy: silent', 'policy: maybe', 'row 2: policy: Invalid option'],
  ],
  'point/events.answer.yaml': [
    ['context: events', 'each: events', 'row 1: an each, and only an each, has rows of its own'],
    ['    with: history', '    with: history\n    otherwise: 1', 'row 1: only a copy has an otherwise'],
  ],
  'point/errors.yaml': [['status: 412,', 'status: 200,', 'row terminals_setup 13: status: ']],
};

function listed(breaks: Breaks): [file: string, says: string, before: string | RegExp, after: string][] {
  return Object.entries(breaks).flatMap(([file, all]) =>
    all.map(([before, after, says]): [string, string, string | RegExp, string] => [file, says, before, after]),
  );
}

describe('the proofs', () => {
  it('hold for the real tables', () => {
    expect(messageOf(tablesDirectory)).toBe('the tables hold');
  });

  it.each([proofs, evidence, families].flatMap(listed))('%s: %s', (file, says, before, after) => {
    const message = broken(file, before, after);
    // A fault of several files is reported for `.`, and some faults are reported for another file than the broken one.
    const named = /^[\w/]+[\w.-]*\.yaml(?::| row)/.test(says);
    const lines = message
      .split('\n')
      .filter((line) => named || line.startsWith(`  ${file}`) || line.startsWith('  .: '));
    expect(lines.join('\n')).toContain(says);
  });

  it('are all told at once', () => {
    const message = broken('point/create.request.yaml', /to: body\.config\.point\./g, 'to: body.config.spot.');
    expect(message).toMatch(/^The mapping tables do not hold \(\d+ proofs fail\):\n/);
    expect(message.split('\n').length).toBeGreaterThan(3);
  });
});

describe('the grammar', () => {
  it.each(listed(grammar))('%s: %s', (file, says, before, after) => {
    const message = broken(file, before, after);
    expect(message).toContain(says);
    expect(message).toContain(file);
  });

  it('names a directory that is not there', () => {
    expect(messageOf(join(tmpdir(), 'puente-no-such-directory'))).toContain("the tables can't be read");
  });
});

describe('the revision', () => {
  it('is the same for the same files and another for other files', () => {
    const directory = copyOfTables();
    const before = loadTables(directory).revision;
    expect(before).toMatch(/^[0-9a-f]{12}$/);
    expect(before).toBe(loadTables(tablesDirectory).revision);
    const file = join(directory, 'point/mode.request.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n# one more line\n`);
    expect(loadTables(directory).revision).not.toBe(before);
  });
});
