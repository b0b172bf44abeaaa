/** Each proof of the tables: one thing of the real tables is broken, and the sentence names file and row. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { broken, copyOfTables, messageOf } from './broken.ts';
import { tablesDirectory } from './kit.ts';

const WHY = 'why: A reason that is long enough.';

/** One proof: file, what is broken, and what is said about it. */
const cases: [name: string, file: string, before: string | RegExp, after: string, says: string][] = [
  [
    'a source field without a row',
    'point/mode.answer.yaml',
    / {2}- drop: terminals\[0\]\.id\n.*\n.*\n/,
    '',
    'point/mode.answer.yaml: the source field terminals[].id has no row',
  ],
  [
    'a source field without a row at one site',
    'point/create.request.yaml',
    'sites: [MLA, MLC, MLU, other]',
    'sites: [MLA, MLC, other]',
    'point/create.request.yaml: the source field body.description has no row: copy it, or drop it and say why (at MLU)',
  ],
  [
    'a header without a row',
    'point/headers.yaml',
    / {2}- drop: x-tracking-id\n.*\n.*\n/,
    '',
    'point/headers.yaml: the source field x-tracking-id has no row',
  ],
  [
    'a number of a limitation used again',
    'limitations.yaml',
    'id: LIM-02',
    'id: LIM-01',
    'limitations.yaml row 2: LIM-01 must have a higher number than LIM-01',
  ],
  [
    'a limitation counted by a row that is not there',
    'limitations.yaml',
    "without: ['qr.create.request#5']",
    "without: ['qr.create.request#500']",
    'LIM-27 counts the row qr.create.request#500, which does not exist',
  ],
  [
    'a limitation counted by the loss of a field that its operations do not have',
    'limitations.yaml',
    'losses: [body.items]',
    'losses: [body.goods]',
    'LIM-23 counts the loss of body.goods, which no request of its operations has',
  ],
  [
    'a limitation counted by an error that its tills are never told',
    'limitations.yaml',
    'errors: [confirmation_refused]',
    'errors: [queued_intent]',
    'LIM-28 counts the error queued_intent, which no till of its operations is told',
  ],
  [
    'a limitation that waits for a mark that no code makes',
    'limitations.yaml',
    'counted: [{ ok: true }]\n    test: LIM-04',
    'counted: [{ noted: true }]\n    test: LIM-04',
    'limitations.yaml: LIM-04 waits for a mark that no code makes',
  ],
  [
    'a mark of the code that nothing counts',
    'limitations.yaml',
    'counted: [{ ok: true, noted: true }]\n    test: LIM-57',
    'counted: [{ ok: true }]\n    test: LIM-57',
    'limitations.yaml: LIM-57 is marked by code, and no condition counts the mark',
  ],
  [
    'a condition without a fact',
    'limitations.yaml',
    'counted: [{ ok: true }]\n    test: LIM-05',
    'counted: [{}]\n    test: LIM-05',
    'limitations.yaml row 5: counted',
  ],
  [
    'a source path that is not there',
    'point/create.request.yaml',
    'copy: body.amount',
    'copy: body.amont',
    'point/create.request.yaml row 8: the source createIntentRequest has no body.amont',
  ],
  [
    'a read of a source path that is not there',
    'point/get.answer.yaml',
    'reads: [status, status_detail]',
    'reads: [status, status_detail, mood]',
    'point/get.answer.yaml row 2: the source order has no mood',
  ],
  [
    'a source path inside an each that is not there',
    'point/devices.answer.yaml',
    'copy: external_pos_id',
    'copy: outer_pos_id',
    'point/devices.answer.yaml row 1.4: the source listTerminalsAnswer has no data.terminals[].outer_pos_id',
  ],
  [
    'a target path that is not there',
    'point/create.request.yaml',
    'to: body.config.point.ticket_number',
    'to: body.config.point.ticket',
    'point/create.request.yaml row 11: the target createOrderCall has no body.config.point.ticket',
  ],
  [
    'a target path written twice',
    'point/cancel.answer.yaml',
    '  - { drop: type,',
    `  - { const: x, to: body.id, ${WHY} }\n  - { drop: type,`,
    'point/cancel.answer.yaml row 2: body.id is already written by row 1',
  ],
  [
    'a target path written twice at one site',
    'point/create.request.yaml',
    '  - copy: body.description\n',
    `  - { const: Mesa, to: body.description, sites: [MLB], ${WHY} }\n  - copy: body.description\n`,
    'point/create.request.yaml row 5: body.description is already written by row 4 (at MLB)',
  ],
  [
    'a required target path without a row',
    'point/create.request.yaml',
    / {2}- const: point\n.*\n.*\n/,
    '',
    'point/create.request.yaml: the required target field body.type is written by no row',
  ],
  [
    'a required target path without a row at some sites',
    'point/create.request.yaml',
    '    to: body.type\n',
    '    to: body.type\n    sites: [MLA, MLB, MLM]\n',
    'body.type is written by no row (at MLC, MLU, other)',
  ],
  [
    'a required target path inside an object that a row begins',
    'point/notice.yaml',
    'with: announced_payment_type\n',
    'with: announced_payment_type\n    sites: [MLA]\n',
    'point/notice.yaml: the required target field body.payment.type is written by no row (at MLB, MLM, MLC, MLU, other)',
  ],
  [
    'a required target path that hangs on an optional source',
    'point/devices.answer.yaml',
    "        otherwise: ''\n",
    '',
    'point/devices.answer.yaml row 1.4: the required target field body.devices[].external_pos_id hangs on an optional source field',
  ],
  [
    'a converter nobody knows',
    'point/create.request.yaml',
    'with: amount_text',
    'with: amount_texts',
    "point/create.request.yaml row 8: no converter is called 'amount_texts'",
  ],
  [
    'an idle converter',
    'point/create.request.yaml',
    '    with: ticket_choice\n',
    '',
    "no row uses the converter 'ticket_choice'",
  ],
  [
    'an idle converter of errors',
    'point/errors.yaml',
    /limit_minor/g,
    'property_name',
    "no row uses the converter 'limit_minor'",
  ],
  [
    'a context key nobody declares',
    'point/last_status.answer.yaml',
    'context: state_at',
    'context: state_since',
    'point/last_status.answer.yaml row 2: the context has no state_since',
  ],
  [
    'an idle context key',
    'point/last_status.answer.yaml',
    'context: state_at',
    'context: created_at',
    "no row uses the context key 'state_at'",
  ],
  [
    'a contract nobody knows',
    'point/mode.request.yaml',
    'from: changeModeRequest',
    'from: changeModeRequests',
    "point/mode.request.yaml: no contract schema is called 'changeModeRequests'",
  ],
  [
    'a site nobody knows',
    'point/create.request.yaml',
    'sites: [MLB]',
    'sites: [MLX]',
    'point/create.request.yaml row 4: sites.yaml has no site MLX',
  ],
  [
    'unknown keys without a policy',
    'point/mode.request.yaml',
    'unknown: note\n',
    '',
    'point/mode.request.yaml: changeModeRequest lets unknown keys in, but the table has no policy for them',
  ],
  [
    'a policy for unknown keys that never come',
    'point/get.request.yaml',
    'rows:',
    'unknown: note\nrows:',
    'point/get.request.yaml: getIntentRequest lets no unknown keys in',
  ],
  [
    'unknown keys without a policy elsewhere',
    'point/create.request.yaml',
    'unknown: { MLM: refuse, elsewhere: note }',
    'unknown: { MLM: refuse }',
    'point/create.request.yaml: unknown: needs a policy for all other sites',
  ],
  ['no site for the rest', 'sites.yaml', 'id: other', 'id: MXX', "sites.yaml: has no row 'other'"],
  ['a site given twice', 'sites.yaml', 'id: MLU', 'id: MLC', 'sites.yaml row 5: the site MLC is given twice'],
  [
    'an order status without a row',
    'point/states.yaml',
    / {2}- status: expired\n(?: {4}.*\n)+/,
    '',
    'point/states.yaml: the order status expired has no row',
  ],
  [
    'an order status nobody knows',
    'point/states.yaml',
    'status: expired',
    'status: lapsed',
    "point/states.yaml row 5: orders know no status 'lapsed'",
  ],
  [
    'an order status given twice',
    'point/states.yaml',
    'status: expired',
    'status: canceled',
    'point/states.yaml row 5: the order status canceled has a row already',
  ],
  [
    'an intent state nobody knows',
    'point/states.yaml',
    'shows: ABANDONED',
    'shows: EXPIRED',
    "point/states.yaml row 5: point knows no state 'EXPIRED'",
  ],
  [
    'an intent state that nothing produces',
    'point/states.yaml',
    '    settled: CONFIRMATION_REQUIRED\n',
    '',
    'point/states.yaml: the state CONFIRMATION_REQUIRED is neither produced nor named under never',
  ],
  [
    'an unknown status that looks final',
    'point/states.yaml',
    /(- status: unknown\n(?: {4}.*\n){2} {4}final: )false/,
    '$1true',
    'point/states.yaml row 9: a status nobody knows must not look final',
  ],
  [
    'a documented error without a row',
    'point/errors.yaml',
    /.*code: sponsor_id_not_valid.*\n/,
    '',
    'point/errors.yaml: the error create 400 sponsor_id_not_valid has no row',
  ],
  [
    'a documented error that ends on a condition',
    'point/errors.yaml',
    / {4}- \{ status: 400, code: property_type, error: bad_request.*\n/,
    '',
    'point/errors.yaml: the error create 400 property_type has no row without a condition to end on',
  ],
  [
    'an error nobody documents',
    'point/errors.yaml',
    'status: 404, code: pos_not_found',
    'status: 404, code: pos_lost',
    "point/errors.yaml row create 24: create documents no error 404 'pos_lost'",
  ],
  [
    'a legacy error nobody knows',
    'point/errors.yaml',
    'error: device_in_pos',
    'error: device_in_pdv',
    "point/errors.yaml row terminals_setup 13: the legacy catalogue has no error 'device_in_pdv'",
  ],
  [
    'a message whose detail nobody fills',
    'point/errors.yaml',
    'error: missing_property, with: property_name',
    'error: missing_property',
    'point/errors.yaml row create 1: the message of missing_property has a place for a detail',
  ],
  [
    'a detail for a message without a place',
    'point/errors.yaml',
    'error: device_not_found, why',
    'error: device_not_found, with: property_name, why',
    'point/errors.yaml row create 24: the message of device_not_found has no place for a detail',
  ],
  [
    'an error row that is never reached',
    'point/errors.yaml',
    'code: forbidden_checking_device_owner, error: not_device_owner, why: The live spelling of the same error.',
    'code: forbidden_checking_terminal_owner, error: not_device_owner, why: The live spelling of the same error.',
    'point/errors.yaml row create 23: is never reached: a row before it always holds',
  ],
  [
    'errors of a call nobody makes',
    'point/errors.yaml',
    '  terminals_list:\n',
    '  terminals_lost:\n',
    "point/errors.yaml: no upstream call is named 'terminals_lost'",
  ],
  [
    'errors without a default',
    'point/errors.yaml',
    /.*An answer nobody documents.*\n/,
    '',
    'point/errors.yaml: any has no default row',
  ],
  [
    'a default that hides rows',
    'point/errors.yaml',
    'status: 429, error: too_many_requests',
    'error: too_many_requests',
    'point/errors.yaml row any 3: the default row stands last',
  ],
  [
    'a table no operation uses',
    'operations.yaml',
    /point\.cancel\.answer/g,
    'null',
    'point/cancel.answer.yaml: no operation uses the table point.cancel.answer',
  ],
  [
    'a table nobody wrote',
    'operations.yaml',
    'request: point.mode.request',
    'request: point.modes.request',
    "operations.yaml row 2: there is no table 'point.modes.request'",
  ],
  [
    'a table name given twice',
    'point/mode.request.yaml',
    'table: point.mode.request',
    'table: point.mode.answer',
    'point/mode.request.yaml: the table name point.mode.answer is given twice',
  ],
  ['a role nobody fills', 'point/headers.yaml', 'role: headers\n', '', "no table has the role 'headers' in point"],
  ['a role filled twice', 'point/headers.yaml', 'role: headers', 'role: notice', "the role 'notice' is given twice"],
  [
    'an operation given twice',
    'operations.yaml',
    'path: /point/integration-api/devices/:device_id/refund',
    'path: /point/integration-api/devices/:unit/payment-intents',
    'operations.yaml row 10: POST /point/integration-api/devices/:unit/payment-intents is already an operation',
  ],
  [
    'an operation name given twice',
    'operations.yaml',
    'name: point.change_mode',
    'name: point.list_devices',
    'operations.yaml row 2: the name point.list_devices is given twice',
  ],
  [
    'an operation behind a parameter',
    'operations.yaml',
    /(path: \/point\/integration-api\/payment-intents\/)events([\s\S]*?path: \/point\/integration-api\/payment-intents\/):intent_id\n/,
    '$1:intent_id\n$2events\n',
    'operations.yaml row 6: /point/integration-api/payment-intents/events is never reached: point.list_events stands before it',
  ],
  [
    'an upstream call nobody knows',
    'operations.yaml',
    'upstream: terminals_list',
    'upstream: terminals',
    "operations.yaml row 1: no upstream call is named 'terminals'",
  ],
];

describe('the proofs', () => {
  it('hold for the real tables', () => {
    expect(messageOf(tablesDirectory)).toBe('the tables hold');
  });

  it.each(cases)('%s', (_, file, before, after, says) => {
    expect(broken(file, before, after)).toContain(says);
  });

  it('are all told at once', () => {
    const message = broken('point/create.request.yaml', /to: body\.config\.point\./g, 'to: body.config.spot.');
    expect(message).toMatch(/^The mapping tables do not hold \(\d+ proofs fail\):\n/);
    expect(message.split('\n').length).toBeGreaterThan(3);
  });
});

describe('the grammar', () => {
  it.each([
    [
      'a second verb',
      'point/mode.request.yaml',
      'copy: body.operating_mode',
      'copy: body.operating_mode\n    const: PDV',
      'row 2: needs exactly one of copy, const, context, drop, each; it has copy and const',
    ],
    [
      'no verb',
      'point/mode.request.yaml',
      '  - copy: body.operating_mode\n    to',
      '  - to',
      'row 2: needs exactly one of copy, const, context, drop, each; it has none',
    ],
    ['no reason', 'point/mode.request.yaml', 'why: The same words in both APIs.', '', 'row 2: why: Invalid input'],
    [
      'a reason that is none',
      'point/mode.request.yaml',
      'why: The same words in both APIs.',
      'why: so',
      'say why in a sentence',
    ],
    [
      'a copy without a target',
      'point/mode.request.yaml',
      '    to: body.terminals[0].operating_mode\n',
      '',
      'row 2: a copy needs a target',
    ],
    [
      'a drop with a target',
      'point/mode.answer.yaml',
      'policy: silent',
      'policy: silent\n    to: body.operating_mode',
      'row 2: a drop has no target',
    ],
    [
      'a drop without a policy',
      'point/mode.answer.yaml',
      '    policy: silent\n',
      '',
      'row 2: a drop needs a policy or a converter',
    ],
    [
      'a policy nobody knows',
      'point/mode.answer.yaml',
      'policy: silent',
      'policy: maybe',
      'row 2: policy: Invalid option',
    ],
    [
      'a policy on a copy',
      'point/mode.request.yaml',
      '    to: body.terminals[0].id',
      '    to: body.terminals[0].id\n    policy: note',
      'row 1: only a drop has a policy',
    ],
    [
      'an each without rows',
      'point/events.answer.yaml',
      'context: events',
      'each: events',
      'row 1: an each, and only an each, has rows of its own',
    ],
    [
      'an otherwise on a context',
      'point/events.answer.yaml',
      '    with: history',
      '    with: history\n    otherwise: 1',
      'row 1: only a copy has an otherwise',
    ],
    [
      'an elsewhere without sites',
      'point/mode.request.yaml',
      '    to: body.terminals[0].id',
      '    to: body.terminals[0].id\n    elsewhere: note',
      'row 1: elsewhere needs sites',
    ],
    [
      'a path that is none',
      'point/mode.request.yaml',
      'copy: path.device_id',
      'copy: path..device_id',
      'row 1: copy: is not a path',
    ],
    [
      'a word nobody knows',
      'point/mode.request.yaml',
      '    to: body.terminals[0].id',
      '    too: body.terminals[0].id',
      'Unrecognized key: "too"',
    ],
    [
      'a status of an error that is none',
      'point/errors.yaml',
      'status: 412,',
      'status: 200,',
      'row terminals_setup 13: status: ',
    ],
    ['no YAML', 'point/mode.request.yaml', 'rows:', 'rows: [', 'point/mode.request.yaml: is not YAML'],
    ['an empty file', 'point/mode.request.yaml', /[\s\S]*/, '', 'point/mode.request.yaml: Invalid input'],
  ])('%s', (_, file, before, after, says) => {
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
