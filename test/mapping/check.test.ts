/** Each check of the tables: with one thing broken in the real tables, the message names file and row. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { broken, copyOfTables, messageOf } from './broken.ts';
import { tablesDirectory } from './kit.ts';

const WHY = 'why: A reason that is long enough.';

/** By file: the broken text, and what stands in its place. */
type Breaks = Readonly<Record<string, readonly (readonly [before: string | RegExp, after: string])[]>>;

const proofs: Breaks = {
  'point/mode.answer.yaml': [[/ {2}- drop: terminals\[0\]\.id\n.*\n.*\n/, '']],
  'point/create.request.yaml': [
    ['sites: [MLA, MLC, MLU, other]', 'sites: [MLA, MLC, other]'],
    ['copy: body.amount', 'copy: body.amont'],
    ['const: point', 'const: 7'],
    ['to: body.config.point.ticket_number', 'to: body.config.point.ticket'],
    [
      '  - copy: body.description\n',
      `  - { const: Mesa, to: body.description, sites: [MLB], ${WHY} }\n  - copy: body.description\n`,
    ],
    [/ {2}- const: point\n.*\n.*\n/, ''],
    ['    to: body.type\n', '    to: body.type\n    sites: [MLA, MLB, MLM]\n'],
    ['with: amount_text', 'with: amount_texts'],
    ['    with: ticket_choice\n', ''],
    ['sites: [MLB]', 'sites: [MLX]'],
    ['unknown: { MLM: refuse, elsewhere: note }', 'unknown: { MLM: refuse }'],
  ],
  'point/headers.yaml': [
    [/ {2}- drop: x-tracking-id\n.*\n.*\n/, ''],
    ['role: headers\n', ''],
    ['role: headers', 'role: notice'],
  ],
  'limitations.yaml': [
    ['id: LIM-02', 'id: LIM-01'],
    ["without: ['qr.create.request#5']", "without: ['qr.create.request#500']"],
    ['losses: [body.items]', 'losses: [body.goods]'],
    ['errors: [confirmation_refused]', 'errors: [queued_intent]'],
    ['counted: [{ ok: true }]\n    test: LIM-04', 'counted: [{ noted: true }]\n    test: LIM-04'],
    ['counted: [{ ok: true, noted: true }]\n    test: LIM-57', 'counted: [{ ok: true }]\n    test: LIM-57'],
    ['counted: [{ ok: true }]\n    test: LIM-05', 'counted: [{}]\n    test: LIM-05'],
  ],
  'point/get.answer.yaml': [['reads: [status, status_detail]', 'reads: [status, status_detail, mood]']],
  'point/devices.answer.yaml': [
    ['copy: external_pos_id', 'copy: outer_pos_id'],
    ["        otherwise: ''\n", ''],
  ],
  'point/cancel.answer.yaml': [['  - { drop: type,', `  - { const: x, to: body.id, ${WHY} }\n  - { drop: type,`]],
  'point/notice.yaml': [['with: announced_payment_type\n', 'with: announced_payment_type\n    sites: [MLA]\n']],
  'point/errors.yaml': [
    [/limit_minor/g, 'property_name'],
    [/.*code: sponsor_id_not_valid.*\n/, ''],
    [/ {4}- \{ status: 400, code: property_type, error: bad_request.*\n/, ''],
    ['status: 404, code: pos_not_found', 'status: 404, code: pos_lost'],
    ['error: device_in_pos', 'error: device_in_pdv'],
    ['error: missing_property, with: property_name', 'error: missing_property'],
    ['error: device_not_found, why', 'error: device_not_found, with: property_name, why'],
    [
      'code: forbidden_checking_device_owner, error: not_device_owner, why: The live spelling of the same error.',
      'code: forbidden_checking_terminal_owner, error: not_device_owner, why: The live spelling of the same error.',
    ],
    ['  terminals_list:\n', '  terminals_lost:\n'],
    [/.*An undocumented answer.*\n/, ''],
    ['status: 429, error: too_many_requests', 'error: too_many_requests'],
  ],
  'point/last_status.answer.yaml': [
    ['context: state_at', 'context: state_since'],
    ['context: state_at', 'context: created_at'],
  ],
  'point/mode.request.yaml': [
    ['from: changeModeRequest', 'from: changeModeRequests'],
    ['unknown: note\n', ''],
    ['table: point.mode.request', 'table: point.mode.answer'],
  ],
  'point/get.request.yaml': [['rows:', 'unknown: note\nrows:']],
  'sites.yaml': [
    ['id: other', 'id: MXX'],
    ['id: MLU', 'id: MLC'],
  ],
  'point/states.yaml': [
    [/ {2}- status: expired\n(?: {4}.*\n)+/, ''],
    ['status: expired', 'status: lapsed'],
    ['status: expired', 'status: canceled'],
    ['shows: ABANDONED', 'shows: EXPIRED'],
    ['    settled: CONFIRMATION_REQUIRED\n', ''],
    [/(- status: unknown\n(?: {4}.*\n){2} {4}final: )false/, '$1true'],
  ],
  'operations.yaml': [
    [/point\.cancel\.answer/g, 'null'],
    ['request: point.mode.request', 'request: point.modes.request'],
    [
      'path: /point/integration-api/devices/:device_id/refund',
      'path: /point/integration-api/devices/:unit/payment-intents',
    ],
    ['name: point.change_mode', 'name: point.list_devices'],
    [
      /(path: \/point\/integration-api\/payment-intents\/)events([\s\S]*?path: \/point\/integration-api\/payment-intents\/):intent_id\n/,
      '$1:intent_id\n$2events\n',
    ],
    ['upstream: terminals_list', 'upstream: terminals'],
  ],
};

const evidence: Breaks = {
  'point/mode.answer.yaml': [['    with: operating_mode\n', '    with: operating_mode\n    match: volatile\n']],
  'point/devices.request.yaml': [['    with: page_size\n', '    with: page_size\n    match: numeric\n']],
  'point/devices.answer.yaml': [
    ['    match: unordered\n    by: id\n', '    match: unordered\n'],
    ['    match: unordered\n    by: id\n', '    match: unordered\n    by: serial\n'],
    ['    match: unordered\n    by: id\n', '    by: id\n'],
    ['    match: unordered\n    by: id\n', '    match: numeric\n'],
    ['        with: whole_number\n', '        with: whole_number\n        match: unordered\n        by: id\n'],
    ['match: unordered', 'match: roughly'],
  ],
  'qr/create.request.yaml': [[/ {4}advice: Send prices with their taxes included.*\n/, '']],
  'qr_v1/create.request.yaml': [[/ {8}advice: Leave pictures.*\n/, '']],
  'point/headers.yaml': [[/ {4}advice: Send a lifetime.*\n/, '']],
  'point/create.request.yaml': [
    ['    with: amount_text\n', '    with: amount_text\n    advice: Send something else instead.\n'],
    [/advice: Keep descriptions.*/, 'advice: shorter'],
    ['weight: money', 'weight: heavy'],
  ],
  'operations.yaml': [
    ['request: point.create.request\n', 'request: point.create.request\n    double_read: true\n'],
    ['answer: point.events.answer\n', 'answer: point.events.answer\n    double_read: true\n'],
    ['upstream: terminals_list', 'upstream: terminals_setup'],
  ],
};

/** Each family has its own headers, errors and states, and none of another family's. */
const families: Breaks = {
  'qr_v1/headers.yaml': [
    ['role: headers\n', ''],
    ['family: qr_v1', 'family: qr'],
  ],
  'qr/headers.yaml': [[/ {2}- drop: x-test-scope\n.*\n.*\n/, '']],
  'payments/errors.yaml': [
    ['family: payments', 'family: merchant_orders'],
    [/.*code: refund_amount_exceeds.*\n/, ''],
    ['error: partial_unsupported', 'error: device_in_pos'],
  ],
  'qr_v1/errors.yaml': [
    ['family: qr_v1', 'family: qr'],
    ['  cancel:\n', '  refund:\n'],
    [/.*code: sponsor_id_not_valid.*\n/, ''],
    ['error: missing_property, with: property_name', 'error: missing_property'],
  ],
  'qr/states.yaml': [
    ['family: qr', 'family: payments'],
    ['family: qr', 'family: point'],
    [
      /(- status: processed\n) {4}detail: partially_refunded\n([\s\S]*?- status: processed\n)/,
      '$1$2    detail: partially_refunded\n',
    ],
    [/(- status: processed\n {4}detail: partially_refunded\n(?: {4}.*\n)+)/, '$1  $1'],
    ['- status: processed\n    shows', '- status: processed\n    detail: accredited\n    shows'],
    ['shows: paid', 'shows: FINISHED'],
    ['shows: partially_paid', 'shows: PROCESSING'],
    ['shows: partially_paid', 'shows: paid'],
    [/(- status: unknown\n(?: {4}.*\n){2} {4}final: )false/, '$1true'],
    ['notices: [payment, merchant_order]', 'notices: [payment, merchant_orders]'],
  ],
  'payments/of-order.yaml': [
    ['role: payment\n', ''],
    ['role: payment', 'role: notice'],
  ],
  'qr/create.request.yaml': [[/ {2}- drop: body\.description\n.*\n.*\n.*\n/, '']],
  'operations.yaml': [
    ['family: qr_v1', 'family: qr_v0'],
    ['kind: qr', 'kind: qrs'],
  ],
};

const grammar: Breaks = {
  'point/mode.request.yaml': [
    ['copy: body.operating_mode', 'copy: body.operating_mode\n    const: PDV'],
    ['  - copy: body.operating_mode\n    to', '  - to'],
    ['why: The same words in both APIs.', ''],
    ['why: The same words in both APIs.', 'why: so'],
    ['    to: body.terminals[0].operating_mode\n', ''],
    ['    to: body.terminals[0].id', '    to: body.terminals[0].id\n    policy: note'],
    ['    to: body.terminals[0].id', '    to: body.terminals[0].id\n    elsewhere: note'],
    ['copy: path.device_id', 'copy: path..device_id'],
    ['    to: body.terminals[0].id', '    too: body.terminals[0].id'],
    ['rows:', 'rows: ['],
    [/[\s\S]*/, ''],
  ],
  'point/mode.answer.yaml': [
    ['policy: silent', 'policy: silent\n    to: body.operating_mode'],
    ['    policy: silent\n', ''],
    ['policy: silent', 'policy: maybe'],
  ],
  'point/events.answer.yaml': [
    ['context: events', 'each: events'],
    ['    with: history', '    with: history\n    otherwise: 1'],
  ],
  'point/errors.yaml': [['status: 412,', 'status: 200,']],
};

/** A golden file has every sentence: of the broken file, and of those that depend on it. */
async function toldOf(name: string, file: string, all: Breaks[string]): Promise<void> {
  const told = all.map(([before, after]) => {
    const [first, ...rest] = broken(file, before, after).split('\n');
    expect(first).toMatch(/^The mapping tables do not hold/);
    const more = rest.length > MOST_SHOWN ? [`  … and ${rest.length - MOST_SHOWN} more`] : [];
    return [`${before} → ${after}`, ...rest.slice(0, MOST_SHOWN), ...more, ''].join('\n');
  });
  await expect(told.join('\n')).toMatchFileSnapshot(join(import.meta.dirname, 'golden', name, `${file}.txt`));
}
const MOST_SHOWN = 6;

describe('the proofs', () => {
  it('hold for the real tables', () => {
    expect(messageOf(tablesDirectory)).toBe('the tables hold');
  });

  const cases = Object.entries({ proofs, evidence, families, grammar }).flatMap(([name, breaks]) =>
    Object.entries(breaks).map(([file, all]) => [name, file, all] as const),
  );
  it.each(cases)('name file, row and repair: %s of %s', toldOf);

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

  it('is the same for other words about the tables, and for files that are none', () => {
    const directory = copyOfTables();
    const limitations = join(directory, 'limitations.yaml');
    writeFileSync(limitations, `${readFileSync(limitations, 'utf8')}\n# one more line\n`);
    writeFileSync(join(directory, 'point', 'notes.txt'), 'ours');
    expect(loadTables(directory).revision).toBe(loadTables(tablesDirectory).revision);
  });
});
