/** Tables of one's own: how rows are laid over the shipped ones, what is refused, and where a refusal points. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rowIds } from '../../src/mapping/assemble.ts';
import { printFailures } from '../../src/mapping/check.ts';
import { loadTables, proveTables } from '../../src/mapping/load.ts';
import { type LoadedTables, tablesOf } from '../../src/mapping/tables.ts';
import { defaultRowsOf } from '../../src/proxy/safety.ts';
import { emptyDirectory } from './broken.ts';
import { operationOf, tablesDirectory } from './kit.ts';

const WHY = 'why: A reason that is long enough.';
const MERCHANT = '700100200';
const shipped = loadTables(tablesDirectory);

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = emptyDirectory();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

function loaded(files: Readonly<Record<string, string>>): LoadedTables {
  return loadTables(tablesDirectory, null, folderOf(files));
}

/** What `puente check` prints of the folder, which stands as `FOLDER`. */
function refusalOf(files: Readonly<Record<string, string>>): string {
  const folder = folderOf(files);
  const { failures } = proveTables(tablesDirectory, folder);
  return failures.length === 0 ? 'the tables hold' : printFailures(failures).replaceAll(folder, 'FOLDER');
}

const DESCRIPTION = `table: point.create.request
rows:
  - copy: body.description
    to: body.description
    with: short_description
    sites: [MLA]
    advice: Keep descriptions to 150 characters; what is longer is cut.
    ${WHY}
`;
const CREATE = 'point/create.request.yaml';

function created(tables: LoadedTables, site: string, body: object): ReturnType<LoadedTables['request']> {
  const source = { path: { device_id: 'PAX_A910__SMARTPOS0000000001' }, query: {}, headers: {}, body };
  return tables.request(operationOf(tables, 'point.create_intent'), source, {
    site,
    exponent: 2,
    reference: 'r1',
    voucher: 'refuse',
  });
}

describe('a row of one’s own', () => {
  it('stands for the shipped row of its target or source, at its sites alone', () => {
    const tables = loaded({ [CREATE]: DESCRIPTION });
    expect(tables.laid).toEqual([
      {
        row: 'point.create.request#own.1',
        replaces: ['point.create.request#6 at MLA'],
        removes: false,
        why: WHY.slice('why: '.length),
      },
    ]);
    const argentina = created(tables, 'MLA', { amount: 1500, description: 'Table 4' });
    expect(argentina.value.body).toMatchObject({ description: 'Table 4' });
    expect(argentina.fired).toContain('point.create.request#own.1');
    expect(argentina.losses).toEqual([]);
    const chile = created(tables, 'MLC', { amount: 1500, description: 'Table 4' });
    expect(chile).toEqual(created(shipped, 'MLC', { amount: 1500, description: 'Table 4' }));
  });

  it('that equals a shipped row changes nothing, and no shipped row loses its id', () => {
    const copied = `rows:
  - const: point
    to: body.type
    why: The order is paid on a card terminal.
`;
    const tables = loaded({ [CREATE]: copied });
    expect(tables.laid).toEqual([]);
    expect(rowIds(tables)).toEqual(rowIds(shipped));
    expect(tables.revision).not.toBe(shipped.revision);
    const state =
      'rows:\n  - { status: created, shows: OPEN, rank: 1, final: false, notices: [], why: Waiting for the terminal to fetch it; neither API announces it. }\n';
    const error =
      'calls:\n  get:\n    - { status: 401, code: unauthorized, error: unauthorized, why: The same meaning in both APIs. }\n';
    const others = loaded({ 'point/states.yaml': state, 'point/errors.yaml': error });
    expect([others.laid, rowIds(others)]).toEqual([[], rowIds(shipped)]);
    const changed = loaded({ [CREATE]: DESCRIPTION });
    expect(rowIds(changed).filter((id) => !rowIds(shipped).includes(id))).toEqual(['point.create.request#own.1']);
    expect(rowIds(shipped).filter((id) => !rowIds(changed).includes(id))).toEqual([]);
  });

  it('that copies what was dropped stands for the drop; one that nothing stands in the way of is added', () => {
    const copying = {
      [CREATE]: `rows:\n  - { copy: body.notification_url, to: body.description, sites: [MLC], ${WHY} }\n`,
    };
    const copied = loaded(copying);
    expect(copied.laid.map(({ replaces }) => replaces)).toEqual([['point.create.request#18 at MLC']]);
    const { value, losses } = created(copied, 'MLC', { amount: 1500, notification_url: 'https://shop.example/n' });
    expect([value.body, losses]).toMatchObject([{ description: 'https://shop.example/n' }, []]);
    const added = loaded({ [CREATE]: `rows:\n  - { const: Shop, to: body.description, sites: [MLC], ${WHY} }\n` });
    expect(added.laid.map(({ replaces }) => replaces)).toEqual([[]]);
    expect(created(added, 'MLC', { amount: 1500 }).value.body).toMatchObject({ description: 'Shop' });
  });

  it('lists another policy for fields without a row', () => {
    const { laid } = loaded({ [CREATE]: 'unknown: refuse\n' });
    expect(laid).toMatchObject([
      { row: 'point.create.request#own.unknown', replaces: ['point.create.request#unknown'], removes: false },
    ]);
    expect(laid[0]?.why).toMatch(/note.* → "refuse"/);
    expect(loaded({ [CREATE]: 'unknown: { MLM: refuse, elsewhere: note }\n' }).laid).toEqual([]);
  });

  it('gives no policy to a table whose source has no other fields', () => {
    const folder = folderOf({ 'point/get.answer.yaml': 'unknown: note\n' });
    const { sets, failures } = proveTables(tablesDirectory, folder);
    expect(printFailures(failures)).toContain('order lets no unknown keys in, so unknown means nothing');
    expect(sets.common.laid).toEqual([
      {
        row: 'point.get.answer#own.unknown',
        replaces: [],
        removes: false,
        why: 'Of fields without a row: "none" → "note".',
      },
    ]);
  });

  it('that says what happens elsewhere is replaced at all sites or at none', () => {
    const of_all = DESCRIPTION.replace('sites: [MLA]', 'sites: [MLA]\n    elsewhere: note');
    const files = (row: string): Record<string, string> => ({
      [CREATE]: of_all,
      [`merchants/${MERCHANT}/${CREATE}`]: `rows:\n  - { ${row}, ${WHY} }\n`,
    });
    for (const row of ['drop: body.description, policy: refuse', 'remove: body.description'])
      expect(refusalOf(files(`${row}, sites: [MLA]`))).toMatch(
        /\/700100200\/point\/create\.request\.yaml:2:\d+ row merchant\.1: row own\.1 of point\.create\.request says what happens elsewhere, so it can only be replaced at all sites/,
      );
    const own = tablesOf(
      loaded(files('drop: body.description, policy: note, advice: Leave the description out.')),
      MERCHANT,
    );
    expect(own.laid.at(-1)?.replaces).toContain('point.create.request#own.1');
    expect(created(own, 'MLA', { amount: 1500, description: 'Table 4' }).value.body).not.toHaveProperty('description');
  });

  it('is taken away with a reason only, and what is required stays', () => {
    const removal = (path: string): Record<string, string> => ({
      [CREATE]: `rows:\n  - { remove: ${path}, ${WHY} }\n`,
    });
    const tables = loaded(removal('body.integration_data.integrator_id'));
    expect(tables.laid).toMatchObject([{ replaces: ['point.create.request#20'], removes: true }]);
    expect(rowIds(shipped).filter((id) => !rowIds(tables).includes(id))).toEqual(['point.create.request#20']);
    expect(refusalOf(removal('body.type'))).toContain('the required target field body.type is written by no row');
    expect(refusalOf({ [CREATE]: 'rows:\n  - remove: body.type\n' })).toMatch(/:2:\d+ row 1: why: /);
  });

  it('for one merchant is laid over those for all, and others don’t see it', () => {
    const of_all = DESCRIPTION;
    const of_one = `rows:\n  - { drop: body.description, policy: refuse, sites: [MLA], ${WHY} }\n`;
    const tables = loaded({ [CREATE]: of_all, [`merchants/${MERCHANT}/${CREATE}`]: of_one });
    const own = tablesOf(tables, MERCHANT);
    expect([tables.with_own, tablesOf(tables, '900100250') === tables, tablesOf(own, MERCHANT) === own]).toEqual([
      [MERCHANT],
      true,
      true,
    ]);
    expect(tablesOf(own, '900100250')).toBe(tables);
    expect(own.laid.map(({ row, replaces }) => [row, replaces])).toEqual([
      ['point.create.request#own.1', ['point.create.request#6 at MLA']],
      ['point.create.request#merchant.1', ['point.create.request#own.1']],
    ]);
    expect(new Set([shipped.revision, tables.revision, own.revision]).size).toBe(3);
    const sent = { amount: 1500, description: 'Table 4' };
    expect(created(tables, 'MLA', sent).value.body).toMatchObject({ description: 'Table 4' });
    expect(() => created(own, 'MLA', sent)).toThrow('additional_property');
  });

  it('of errors stands for all rows of its call, status and code', () => {
    const mine = `calls:
  create:
    - { status: 400, code: required_properties, error: bad_request, ${WHY} }
any:
  - { status: 429, error: unavailable, ${WHY} }
`;
    const tables = loaded({ 'point/errors.yaml': mine });
    const body = { errors: [{ code: 'required_properties', message: "The property 'amount' is required" }] };
    expect(shipped.error('point', 'create', 400, body, {})).toMatchObject({ error: 'missing_property' });
    expect(tables.error('point', 'create', 400, body, {})).toMatchObject({
      error: 'bad_request',
      row: 'point.errors#create.own.1',
    });
    expect(tables.laid[0]?.replaces).toEqual(['point.errors#create.1', 'point.errors#create.2']);
    expect(rowIds(tables)).toContain('point.errors#create.3');
  });

  it('of one merchant makes no default row of another’s with the same id', () => {
    const any = (row: string): string => `any:\n  - { ${row}, ${WHY} }\n`;
    const tables = loaded({
      [`merchants/${MERCHANT}/point/errors.yaml`]: any('error: unavailable'),
      'merchants/900100250/point/errors.yaml': any('status: 429, error: unavailable'),
    });
    const isDefault = defaultRowsOf(tables);
    const fired = ['point.errors#any.merchant.1'];
    expect(isDefault({ merchant_id: MERCHANT, fired })).toBe(true);
    expect(isDefault({ merchant_id: '900100250', fired })).toBe(false);
  });

  it('of states changes what is shown and announced, never what an order may become', () => {
    const row = (final: boolean, shows: string): Record<string, string> => ({
      'point/states.yaml': `rows:\n  - { status: expired, shows: ${shows}, rank: 50, final: ${final}, notices: [point], ${WHY} }\n`,
    });
    const before = shipped.state('point', { status: 'expired' }, 'error');
    const rank = before.rank;
    const files = Object.fromEntries(
      Object.entries(row(true, 'CANCELED')).map(([file, text]) => [file, text.replace('rank: 50', `rank: ${rank}`)]),
    );
    const never = {
      'point/states.yaml': `${files['point/states.yaml']}never:\n  - { shows: ${before.shows}, ${WHY} }\n`,
    };
    const tables = loaded(never);
    expect(tables.state('point', { status: 'expired' }, 'error')).toMatchObject({
      shows: 'CANCELED',
      notices: ['point'],
      final: true,
      row: 'point.states#own.1',
    });
    expect(refusalOf(row(false, 'CANCELED'))).toMatch(
      /point\/states\.yaml:2:\d+ row own\.1: final: row \d+ of point\.states has true/,
    );
  });

  it('of states makes a shipped sentence on what is never shown untrue, whichever way it shows it', () => {
    const row =
      'status: action_required, shows: { error: PROCESSING, finished: PROCESSED }, settled: CONFIRMATION_REQUIRED';
    const tables = loaded({
      'point/states.yaml': `rows:\n  - { ${row}, rank: 3, final: false, notices: [], ${WHY} }\n`,
    });
    expect(shipped.documents.states.find(({ table }) => table === 'point.states')?.never).toHaveLength(2);
    expect(tables.documents.states.find(({ table }) => table === 'point.states')?.never).toEqual([]);
    const shows = (declined: 'error' | 'finished'): string =>
      tables.state('point', { status: 'action_required' }, declined).shows;
    expect([shows('error'), shows('finished')]).toEqual(['PROCESSING', 'PROCESSED']);
  });
});

describe('what no row may change', () => {
  const rows = (text: string): string => `rows:\n${text.replaceAll('WHY', WHY)}\n`;
  it.each<[string, string, string, string]>([
    [
      'an amount by a constant, with its source dropped',
      CREATE,
      '  - { const: "1.00", to: "body.transactions.payments[0].amount", WHY }\n  - { drop: body.amount, policy: silent, WHY }',
      ':2:22 row own.1: to: row 8 of point.create.request has body.transactions.payments[0].amount, which is an amount: it may be neither replaced nor removed',
    ],
    [
      'an amount by dropping its source',
      CREATE,
      '  - { drop: body.amount, policy: silent, WHY }',
      ':2:7 row own.1: drop: row 8 of',
    ],
    [
      'an amount by its converter',
      CREATE,
      '  - { copy: body.amount, to: "body.transactions.payments[0].amount", WHY }',
      'row 8',
    ],
    [
      'all of a part with an amount',
      CREATE,
      '  - { const: {}, to: body.transactions, sites: [MLC], WHY }',
      'an amount',
    ],
    ['the amount of an answer', 'point/get.answer.yaml', '  - { const: 1, to: body.amount, WHY }', 'an amount'],
    [
      'the amount of a notice',
      'point/notice.yaml',
      '  - { remove: body.amount, WHY }',
      'row own.1: remove: row 3 of point.notice',
    ],
    [
      'the amount of a refund',
      'payments/refund.request.yaml',
      '  - { const: "1.00", to: "body.transactions[0].amount", WHY }',
      'an amount',
    ],
    [
      'an amount that no row writes',
      'payments/get.answer.yaml',
      '  - { const: 1, to: body.transaction_amount, WHY }',
      'an amount',
    ],
    [
      'items of a list',
      'qr/create.request.yaml',
      '  - { each: body.items, to: body.items, with: ten_items, weight: money, WHY, rows: [{ const: "1.00", to: unit_price, WHY }] }',
      'row 12 of qr.create.request',
    ],
    [
      'ids in a list whose own name is of no kept kind',
      'point/devices.answer.yaml',
      '  - { each: data.terminals, to: body.devices, match: unordered, by: id, WHY, rows: [{ const: X__Y, to: id, WHY }] }',
      "row 1 of point.devices.answer has body.devices, which is a list with the sale's identity or amounts",
    ],
    [
      'installments at a site where legacy took none',
      CREATE,
      '  - { copy: body.payment.installments, reads: body.payment.type, to: body.config.payment_method.default_installments, with: with_credit_card, sites: [MLC], weight: money, WHY }',
      'an amount',
    ],
    ['the reference', CREATE, '  - { const: one, to: body.external_reference, WHY }', "the sale's identity"],
    [
      'the terminal',
      CREATE,
      '  - { const: X__Y, to: body.config.point.terminal_id, WHY }',
      "the sale's seller or unit",
    ],
    [
      'the pos',
      'qr/create.request.yaml',
      '  - { remove: body.config.qr.external_pos_id, WHY }',
      "the sale's seller or unit",
    ],
    [
      'the order of a call',
      'point/cancel.request.yaml',
      '  - { copy: path.intent_id, to: path.order_id, WHY }',
      "the sale's identity",
    ],
    [
      'the intent of an answer',
      'point/create.answer.yaml',
      '  - { copy: id, to: body.id, WHY }',
      "the sale's identity",
    ],
    [
      'the transaction of a refund',
      'payments/refund.request.yaml',
      '  - { const: P, to: "body.transactions[0].id", WHY }',
      "the sale's identity",
    ],
    [
      'the code that the buyer scans',
      'qr/code.answer.yaml',
      '  - { const: 000201, to: body.qr_data, WHY }',
      "the sale's identity",
    ],
    [
      'the state of an answer',
      'point/get.answer.yaml',
      '  - { const: FINISHED, to: body.state, WHY }',
      'what became of the sale',
    ],
    [
      'a PUT that refunds nothing',
      'payments/collection.request.yaml',
      '  - { drop: body.status, policy: silent, WHY }',
      'what became of the sale',
    ],
  ])('%s', (_what, file, text, says) => {
    const told = refusalOf({ [file]: rows(text) });
    expect(told).toContain(says);
    expect(told).toContain(`FOLDER/${file}:`);
    expect(refusalOf({ [`merchants/${MERCHANT}/${file}`]: rows(text) })).toContain(says.replace('own.1', 'merchant.1'));
  });

  it('refunds, which are repeated in the same bytes', () => {
    const row = '  - { copy: body.reason, to: body.reason, WHY }';
    for (const file of ['payments/refund.request.yaml', 'payments/collection.request.yaml'])
      expect(refusalOf({ [file]: rows(row) })).toMatch(
        /:2:5 row own\.1: refunds are repeated with the same key.*byte for byte/,
      );
  });

  it('a price of items, nor a part of one; their other fields may differ', () => {
    const items = shipped.documents.tables
      .find(({ table }) => table === 'qr.create.request')
      ?.rows.find(({ to }) => to === 'body.items');
    const inner = items?.rows ?? [];
    expect(inner.map(({ to }) => to)).toContain('unit_price');
    const told = (changed: object[]): string =>
      refusalOf({ 'qr/create.request.yaml': JSON.stringify({ rows: [{ ...items, rows: changed }] }) });
    const why = 'A reason that is long enough.';
    const dropped = (to: string): object[] =>
      inner.map((row) =>
        row.to === to ? { drop: row.copy, policy: 'note', advice: 'Leave the field out.', why } : row,
      );
    expect(told(dropped('external_code'))).toBe('the tables hold');
    const refusal = 'row own.1: to: row 12 of qr.create.request has body.items, which is an amount';
    expect(told(dropped('unit_price'))).toContain(refusal);
    const elsewhere = { drop: 'total_amount', policy: 'silent', sites: ['MLB'], why };
    expect(inner.map(({ drop }) => drop)).toContain('total_amount');
    const narrowed = inner.map((row) => (row.drop === 'total_amount' ? { ...row, sites: ['MLA'] } : row));
    expect(told([...narrowed, elsewhere])).toContain(refusal);
    expect(told([...inner, { const: 'Shop', to: 'unit_price.text', why }])).toContain(refusal);
  });

  it('but its reason and advice may', () => {
    const text = `  - { copy: body.amount, to: "body.transactions.payments[0].amount", with: amount_text, weight: money, WHY }`;
    expect(refusalOf({ [CREATE]: rows(text) })).toBe('the tables hold');
  });

  const processed = 'status: processed, rank: 9, final: true';
  it.each<[string, string, string]>([
    [
      'a paid sale as canceled',
      `{ ${processed}, shows: CANCELED, notices: [point, payment], WHY }`,
      'shows FINISHED, which tills take for paid; CANCELED is over without a payment',
    ],
    ['a paid sale as open', `{ ${processed}, shows: OPEN, notices: [point, payment], WHY }`, 'OPEN is open'],
    [
      'a paid sale with one detail',
      `{ ${processed}, detail: accredited, shows: ERROR, notices: [point, payment], WHY }`,
      'ERROR is over',
    ],
    [
      'a paid sale without its notices',
      `{ ${processed}, shows: FINISHED, notices: [point], WHY }`,
      'row 7 of point.states announces payment, and so must this row',
    ],
    [
      'a refused payment as paid',
      '{ status: failed, rank: 8, final: true, shows: FINISHED, notices: [point, payment], WHY }',
      'shows ERROR, which tills take for over without a payment; FINISHED is paid',
    ],
    [
      'an open sale as canceled',
      '{ status: at_terminal, rank: 2, final: false, shows: CANCELED, notices: [], WHY }',
      'CANCELED is over without a payment',
    ],
    [
      'an open sale as one that is not clear',
      '{ status: at_terminal, rank: 2, final: false, shows: CONFIRMATION_REQUIRED, notices: [], WHY }',
      'shows ON_TERMINAL, which tills take for open; CONFIRMATION_REQUIRED is not clear',
    ],
    [
      'a state that was not held as held',
      '{ status: at_terminal, rank: 2, final: false, shows: ON_TERMINAL, settled: FINISHED, notices: [], WHY }',
      'row own.1: settled: row 2 of point.states has none, and so must this row',
    ],
  ])('%s', (_what, row, says) => {
    expect(refusalOf({ 'point/states.yaml': rows(`  - ${row}`) })).toContain(says);
  });

  it('a refunded QR sale as paid', () => {
    const row = '  - { status: refunded, rank: 11, final: true, shows: paid, notices: [payment], WHY }';
    expect(refusalOf({ 'qr/states.yaml': rows(row) })).toContain(
      'shows reverted, which tills take for refunded; paid is paid',
    );
  });
});

describe('the revision', () => {
  it('follows the files, not the place of the folder; no folder has the shipped one', () => {
    const [one, other] = [loaded({ [CREATE]: DESCRIPTION }), loaded({ [CREATE]: DESCRIPTION })];
    expect(one.revision).toBe(other.revision);
    expect(loaded({ [CREATE]: `${DESCRIPTION}# more\n` }).revision).not.toBe(one.revision);
    expect(one.shipped_revision).toBe(shipped.revision);
    expect(loadTables(tablesDirectory, null, null).revision).toBe(shipped.revision);
  });

  it('and the rows are the same from the cache of proved tables, and a changed folder is proved anew', () => {
    const [proved_in, folder] = [emptyDirectory(), folderOf({ [`merchants/${MERCHANT}/${CREATE}`]: DESCRIPTION })];
    const first = loadTables(tablesDirectory, proved_in, folder);
    const again = loadTables(tablesDirectory, proved_in, folder);
    expect(tablesOf(again, MERCHANT).documents).toEqual(tablesOf(first, MERCHANT).documents);
    expect(tablesOf(again, MERCHANT).revision).toBe(tablesOf(first, MERCHANT).revision);
    writeFileSync(
      join(folder, `merchants/${MERCHANT}/${CREATE}`),
      DESCRIPTION.replace('body.description\n    to', 'body.descripton\n    to'),
    );
    expect(() => loadTables(tablesDirectory, proved_in, folder)).toThrow('has no body.descripton');
  });
});

describe('a folder', () => {
  it('is read through links, as Kubernetes mounts it', () => {
    const folder = folderOf({ '..2026_01/point/create.request.yaml': DESCRIPTION, 'README.md': 'ours' });
    symlinkSync(join(folder, '..2026_01'), join(folder, '..data'));
    symlinkSync(join(folder, '..data', 'point'), join(folder, 'point'));
    expect(loadTables(tablesDirectory, null, folder).laid).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, string]>([
    ['is empty', {}, 'FOLDER: has no table: is it mounted?'],
    [
      'has a file of no table',
      { 'point/create.reqest.yaml': 'rows: []' },
      'FOLDER/point/create.reqest.yaml:1:1: there is no shipped table point/create.reqest.yaml for this file to be laid over; did you mean point/create.request.yaml?',
    ],
    [
      'has what belongs to the build',
      { 'operations.yaml': 'operations: []' },
      'operations.yaml belongs to the program',
    ],
    ['has another ending', { 'point/create.request.yml': '' }, 'tables end in .yaml'],
    ['names no merchant', { [`merchants/shop/${CREATE}`]: DESCRIPTION }, 'shop is no merchant id'],
    ['is too deep', { [`merchants/${MERCHANT}/more/${CREATE}`]: DESCRIPTION }, 'tables lie in <family>/<table>.yaml'],
  ])('is refused when it %s', (_what, files, says) => {
    expect(refusalOf(files)).toContain(says);
  });

  it('may be named by a path that begins with a dot', () => {
    const folder = `./${relative(process.cwd(), folderOf({ [CREATE]: DESCRIPTION }))}/`;
    expect(proveTables(tablesDirectory, folder).failures).toEqual([]);
  });

  it('that is not there is refused with the setting to repair', () => {
    const { failures } = proveTables(tablesDirectory, join(emptyDirectory(), 'nowhere'));
    expect(failures[0]?.message).toMatch(/can't be read: ENOENT.*unset mappings\.folder/);
  });
});

describe('a mistake', () => {
  const lines = DESCRIPTION.split('\n');
  const changed = (before: string, after: string): string => {
    expect(DESCRIPTION).toContain(before);
    return lines.join('\n').replace(before, after);
  };
  function bomb(): string {
    const lists = Array.from({ length: 9 }, (_, depth) => `a${depth + 1}: &a${depth + 1} [${`*a${depth},`.repeat(9)}]`);
    return `a0: &a0 [x]\n${lists.join('\n')}\n`;
  }
  it.each<[string, string, string]>([
    ['in the syntax', changed('sites: [MLA]', 'sites: [MLA'), ':7:5: is not YAML'],
    [
      'of a key given twice',
      changed('sites: [MLA]', 'sites: [MLA]\n    to: body.description'),
      ':7:5: the key to is given twice in one place',
    ],
    ['of an alias', changed('sites: [MLA]', 'sites: *sites'), ":1:1: can't be read: Unresolved alias"],
    ['of too many aliases', bomb(), ":1:1: can't be read: Excessive alias count"],
    ['of a verb', changed('copy:', 'coppy:'), ':3:5 row 1: Unrecognized key: "coppy"; did you mean copy?'],
    [
      'of two verbs',
      changed('sites: [MLA]', 'const: 1'),
      ':3:5 row 1: needs exactly one of copy, const, context, drop, each; it has copy and const',
    ],
    [
      'of a converter',
      changed('short_description', 'short_descripton'),
      ":5:5 row own.1: no converter is called 'short_descripton'; did you mean short_description?",
    ],
    [
      'of a source',
      changed('copy: body.description', 'copy: body.descripion'),
      ':3:5 row own.1: the source createIntentRequest has no body.descripion; did you mean body.description?',
    ],
    [
      'of a target',
      changed('to: body.description', 'to: body.config.print_on_terminal'),
      ':4:5 row own.1: the target createOrderCall has no body.config.print_on_terminal; did you mean body.config.point.print_on_terminal?',
    ],
    ['of a site', changed('[MLA]', '[MLX]'), ':6:5 row own.1: sites.yaml has no site MLX; did you mean'],
    [
      'of a policy',
      `rows:\n  - { drop: body.description, policy: ignore, ${WHY} }\n`,
      ':2:31 row 1: policy: Invalid option',
    ],
    [
      'of a removal',
      `rows:\n  - { remove: body.typ, ${WHY} }\n`,
      ':2:7 row own.1: no row of point.create.request writes body.typ, so nothing is removed; did you mean body.type?',
    ],
    [
      'of the head',
      changed('table: point.create.request', 'table: point.create.answer'),
      ':1:1: table: the shipped file of this name has point.create.request',
    ],
    [
      'of a role',
      'role: notice\n',
      ':1:1: role: the shipped file of this name has none; leave it out, or give the same',
    ],
    [
      'that leaves a field out',
      `rows:\n  - { context: reference, to: body.external_reference, sites: [MLB], ${WHY} }\n`,
      'create.request.yaml',
    ],
  ])('%s names file, line, column and what fits', (_what, text, says) => {
    const told = refusalOf({ [CREATE]: text });
    expect(told).toContain(says);
    expect(told).toContain(`FOLDER/${CREATE}:`);
  });

  it.each<[string, string, string, string]>([
    [
      'of a status',
      'point/states.yaml',
      `rows:\n  - { status: procesed, shows: CANCELED, rank: 9, final: true, notices: [], ${WHY} }\n`,
      ":2:7 row own.1: orders have no status 'procesed'; did you mean processed?",
    ],
    [
      'of a call',
      'point/errors.yaml',
      `calls:\n  creat:\n    - { status: 400, code: bad_request, error: bad_request, ${WHY} }\n`,
      "no upstream call is named 'creat'; did you mean create?",
    ],
  ])('%s names what fits in states and errors too', (_what, file, text, says) => {
    const told = refusalOf({ [file]: text });
    expect(told).toContain(says);
    expect(told).toContain(`FOLDER/${file}:`);
  });

  it('in a shipped table is placed too', () => {
    const { failures } = proveTables(tablesDirectory, null);
    expect(failures).toEqual([]);
  });
});
