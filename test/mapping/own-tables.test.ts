/** Tables of one's own: how rows are laid over the shipped ones, what is refused, and where a refusal points. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { legacyErrorNames } from '../../src/contract/legacy-errors.ts';
import { assembleAll, rowIds } from '../../src/mapping/assemble.ts';
import { printFailures } from '../../src/mapping/check.ts';
import { contextSchema } from '../../src/mapping/context.ts';
import { loadTables, proverOf, readDocuments } from '../../src/mapping/load.ts';
import { layOver, type OwnFile } from '../../src/mapping/own-tables.ts';
import type { LoadedTables } from '../../src/mapping/tables.ts';
import { defaultRowsOf } from '../../src/proxy/safety.ts';
import { copyOfTables, emptyDirectory } from './broken.ts';
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

/** Proves the shipped tables once for all folders. */
const prove = proverOf(tablesDirectory);

function loaded(files: Readonly<Record<string, string>>): LoadedTables {
  const { sets, failures } = prove(folderOf(files));
  expect(failures).toEqual([]);
  return assembleAll(sets);
}

/** What `puente check` prints of the folder, which stands as `FOLDER`. */
function refusalOf(files: Readonly<Record<string, string>>): string {
  const folder = folderOf(files);
  const { failures } = prove(folder);
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
      'rows:\n  - { status: created, shows: OPEN, rank: 1, final: false, notices: [], why: Waiting for the terminal to fetch it; neither API notifies it. }\n';
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
    const { sets, failures } = prove(folder);
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
    const own = loaded(files('drop: body.description, policy: note, advice: Leave the description out.')).of(MERCHANT);
    expect(own.laid.at(-1)?.replaces).toContain('point.create.request#own.1');
    expect(created(own, 'MLA', { amount: 1500, description: 'Table 4' }).value.body).not.toHaveProperty('description');
  });

  it('is taken away with a reason only, and what is required stays', () => {
    const removal = (path: string): Record<string, string> => ({
      [CREATE]: `rows:\n  - { remove: ${path}, ${WHY} }\n`,
    });
    const row = `  - { drop: body.additional_info.ticket_number, policy: note, advice: Leave the number out., ${WHY} }\n`;
    const tables = loaded({ [CREATE]: removal('body.config.point.ticket_number')[CREATE] + row });
    expect(tables.laid).toMatchObject([
      { row: 'point.create.request#own.1', replaces: ['point.create.request#11'], removes: true },
      { replaces: [] },
    ]);
    expect(rowIds(shipped).filter((id) => !rowIds(tables).includes(id))).toEqual(['point.create.request#11']);
    const answer = { 'point/last_status.answer.yaml': removal('body.created_on')[CREATE] ?? '' };
    expect(refusalOf(answer)).toContain('the required target field body.created_on is written by no row');
    expect(refusalOf({ [CREATE]: 'rows:\n  - remove: body.type\n' })).toMatch(/:2:\d+ row 1: why: /);
  });

  it('for one merchant is laid over those for all, and others don’t see it', () => {
    const of_all = DESCRIPTION;
    const of_one = `rows:\n  - { drop: body.description, policy: refuse, sites: [MLA], ${WHY} }\n`;
    const tables = loaded({ [CREATE]: of_all, [`merchants/${MERCHANT}/${CREATE}`]: of_one });
    const own = tables.of(MERCHANT);
    expect([tables.with_own, tables.of('900100250') === tables, own.of(MERCHANT) === own]).toEqual([
      [MERCHANT],
      true,
      true,
    ]);
    expect(own.of('900100250')).toBe(tables);
    expect(own.laid.map(({ row, replaces }) => [row, replaces])).toEqual([
      ['point.create.request#own.1', ['point.create.request#6 at MLA']],
      ['point.create.request#merchant.1', ['point.create.request#own.1']],
    ]);
    expect(new Set([shipped.revision, tables.revision, own.revision]).size).toBe(3);
    const sent = { amount: 1500, description: 'Table 4' };
    expect(created(tables, 'MLA', sent).value.body).toMatchObject({ description: 'Table 4' });
    expect(() => created(own, 'MLA', sent)).toThrow('additional_property');
  });

  it('that drops the field of a shipped drop, or does what a shipped row does with an advice of its own, counts for its limitation too', () => {
    const drop = (site: string): string =>
      `rows:\n  - { drop: body.description, policy: note, sites: [${site}], advice: Leave the description out., ${WHY} }\n`;
    const countedOf = (tables: LoadedTables, id: string): unknown =>
      tables.limitations.find((one) => one.id === id)?.counted;
    const [common, own] = ['own.1', 'merchant.1'].map((row) => `point.create.request#${row}`);
    const tables = loaded({ [CREATE]: drop('MLA'), [`merchants/${MERCHANT}/${CREATE}`]: drop('MLA, MLC') });
    const rows = ['point.create.request#6', 'point.create.request#17'];
    expect(countedOf(shipped, 'LIM-19')).toEqual([{ ok: true, rows }]);
    expect(countedOf(tables, 'LIM-19')).toEqual([{ ok: true, rows: [...rows, common] }]);
    expect(countedOf(tables.of(MERCHANT), 'LIM-19')).toEqual([{ ok: true, rows: [...rows, common, own] }]);
    expect(countedOf(loaded({ [CREATE]: DESCRIPTION }), 'LIM-19')).toEqual([{ ok: true, rows }]);
    const cost =
      'copy: body.payment.installments_cost, reads: body.payment.type, to: body.config.payment_method.default_installments_cost, with: with_credit_card, sites: [MLB], weight: money, advice: Say who bears the cost.';
    expect(countedOf(loaded({ [CREATE]: `rows:\n  - { ${cost}, ${WHY} }\n` }), 'LIM-81')).toMatchObject([
      { rows: ['point.create.request#14', common] },
    ]);
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
    expect(tables.laid[0]).toMatchObject({
      row: 'point.errors#create.own.1',
      replaces: ['point.errors#create.1', 'point.errors#create.2'],
      removes: false,
    });
    expect(rowIds(tables)).toContain('point.errors#create.3');
  });

  it('of one merchant makes no default row of another’s with the same id', () => {
    const any = (row: string): string => `any:\n  - { ${row}, ${WHY} }\n`;
    const tables = loaded({
      [`merchants/${MERCHANT}/point/errors.yaml`]: any('error: bad_answer'),
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
  });

  it('of states stands for the row of its status and detail, or before those of its status', () => {
    const row = (what: string): string =>
      `  - { ${what}, shows: CANCELED, rank: 8, final: true, notices: [point], ${WHY} }\n`;
    const tables = loaded({
      'point/states.yaml': `rows:\n${row('status: expired')}${row('status: canceled, detail: by_cashier')}never:\n  - { shows: ABANDONED, ${WHY} }\n`,
    });
    const why = WHY.slice('why: '.length);
    expect(tables.laid).toEqual([
      { row: 'point.states#own.1', replaces: ['point.states#5'], removes: false, why },
      { row: 'point.states#own.2', replaces: [], removes: false, why },
    ]);
    const idsOf = (one: LoadedTables): string[] => rowIds(one).filter((id) => id.startsWith('point.states#'));
    const [before, after] = [idsOf(shipped), idsOf(tables)];
    expect(after).toEqual(
      before.flatMap((id) =>
        id === 'point.states#4' ? ['point.states#own.2', id] : id === 'point.states#5' ? ['point.states#own.1'] : [id],
      ),
    );
  });

  it('of states makes a shipped sentence on what is never shown untrue, whichever way it shows it', () => {
    const row =
      'status: action_required, shows: { error: ON_TERMINAL, finished: PROCESSING }, settled: CONFIRMATION_REQUIRED';
    const tables = loaded({
      'point/states.yaml': `rows:\n  - { ${row}, rank: 3, final: false, notices: [], ${WHY} }\n`,
    });
    expect(shipped.documents.states.find(({ table }) => table === 'point.states')?.never).toHaveLength(2);
    const never = tables.documents.states.find(({ table }) => table === 'point.states')?.never;
    expect(never?.map(({ shows }) => shows)).toEqual(['PROCESSED']);
    const shows = (declined: 'error' | 'finished'): string =>
      tables.state('point', { status: 'action_required' }, declined).shows;
    expect([shows('error'), shows('finished')]).toEqual(['ON_TERMINAL', 'PROCESSING']);
  });
});

/** What is printed of rows and whole files, each laid alone; golden files have every sentence. */
function printedOf(cases: readonly (readonly [file: string, text: string])[]): string {
  const printed = cases.map(([file, text]) => {
    const is_row = text.startsWith('{');
    const yaml = is_row ? `rows:\n  - ${text.replace(/ }$/, `, ${WHY} }`)}\n` : text;
    const told = refusalOf({ [file]: yaml });
    expect(told, text).toContain(`FOLDER/${file}:`);
    return `${is_row ? `${file}  ${text}` : `${file}\n${text.trim()}`}\n${told.split('\n').slice(1).join('\n')}\n`;
  });
  return printed.join('\n');
}
const golden = (name: string): string => join(import.meta.dirname, 'golden', `${name}.txt`);

describe('what no row may change', () => {
  const kept: [file: string, ...rows: string[]][] = [
    [
      CREATE,
      '{ const: "1.00", to: "body.transactions.payments[0].amount" }',
      '{ drop: body.amount, policy: silent }',
      '{ copy: body.amount, to: "body.transactions.payments[0].amount" }',
      '{ const: {}, to: body.transactions, sites: [MLC] }',
      '{ copy: body.payment.installments, reads: body.payment.type, to: body.config.payment_method.default_installments, with: with_credit_card, sites: [MLC], weight: money }',
      '{ const: one, to: body.external_reference }',
      '{ const: X__Y, to: body.config.point.terminal_id }',
      '{ const: PT30S, to: body.expiration_time }',
      '{ remove: body.integration_data.integrator_id }',
      '{ const: qr, to: body.type }',
    ],
    ['point/headers.yaml', '{ const: 0, to: exponent }', '{ copy: x-product-id, to: reference }'],
    ['point/get.answer.yaml', '{ const: 1, to: body.amount }', '{ const: FINISHED, to: body.state }'],
    [
      'point/notice.yaml',
      '{ remove: body.amount }',
      '{ drop: created_date, policy: refuse }',
      '{ drop: description, policy: silent, sites: [MLA], elsewhere: refuse }',
      '{ copy: description, to: body.client_id, with: own_currency }',
    ],
    ['point/cancel.request.yaml', '{ copy: path.intent_id, to: path.order_id }'],
    ['point/create.answer.yaml', '{ copy: id, to: body.id }'],
    ['point/mode.request.yaml', '{ const: STANDALONE, to: "body.terminals[0].operating_mode" }'],
    [
      'point/devices.answer.yaml',
      '{ each: data.terminals, to: body.devices, match: unordered, by: id, rows: [{ const: X__Y, to: id, why: A reason that is long enough. }] }',
    ],
    ['payments/get.answer.yaml', '{ const: 1, to: body.transaction_amount }'],
    ['merchant_orders/get.answer.yaml', '{ const: 1, to: body.marketplace }', '{ const: None, to: body.payouts }'],
    ['payments/collection.request.yaml', '{ drop: body.status, policy: silent }'],
    [
      'payments/refund.request.yaml',
      '{ const: "1.00", to: "body.transactions[0].amount" }',
      '{ const: P, to: "body.transactions[0].id" }',
      '{ copy: body.reason, to: body.reason }',
    ],
    [
      'qr/create.request.yaml',
      '{ each: body.items, to: body.items, with: ten_items, weight: money, rows: [{ const: "1.00", to: unit_price, why: A reason that is long enough. }] }',
      '{ remove: body.config.qr.external_pos_id }',
      '{ const: dynamic, to: body.config.qr.mode }',
    ],
    ['qr/code.answer.yaml', '{ const: 000201, to: body.qr_data }'],
    [
      'point/states.yaml',
      ...[
        ['status: processed, rank: 9, final: true', 'CANCELED', 'OPEN', 'FINISHED'],
        ['status: processed, detail: accredited, rank: 9, final: true', 'ERROR'],
        ['status: failed, rank: 8, final: true', 'FINISHED'],
        ['status: at_terminal, rank: 2, final: false', 'CANCELED', 'CONFIRMATION_REQUIRED', 'PROCESSED'],
        ['status: at_terminal, rank: 3, final: true, settled: FINISHED', 'ON_TERMINAL'],
      ].flatMap(([row, ...shows]) => shows.map((one) => `{ ${row}, shows: ${one}, notices: [point] }`)),
    ],
    [
      'qr/states.yaml',
      '{ status: refunded, rank: 11, final: true, shows: paid, notices: [payment] }',
      '{ status: processed, rank: 9, final: true, shows: partially_paid, notices: [payment, merchant_order] }',
    ],
  ];
  const errors: [family: string, call: string, row: string][] = [
    ['point', 'create', "status: 500, code: '500', error: unavailable"],
    ['point', 'create', 'status: 409, code: idempotency_key_already_used, error: bad_request'],
    ['point', 'get', 'status: 401, code: unauthorized, error: intent_not_found'],
    ['point', 'cancel', 'status: 409, code: cannot_cancel_order, error: intent_not_cancelable'],
    ['payments', 'refund', 'status: 409, code: order_already_refunded, error: refund_refused'],
    ['payments', 'refund', 'status: 409, code: cannot_refund_order, error: already_refunded'],
  ];
  const cases = [
    ...kept.flatMap(([file, ...rows]) => rows.map((row) => [file, row] as const)),
    ...errors.map(
      ([family, call, row]) => [`${family}/errors.yaml`, `calls: { ${call}: [{ ${row}, ${WHY} }] }`] as const,
    ),
    ['payments/collection.yaml', 'unknown: refuse\n'] as const,
    ...['status: 503', 'status: 410'].map(
      (status) => ['point/errors.yaml', `any: [{ ${status}, error: intent_not_found, ${WHY} }]`] as const,
    ),
  ];

  it.each([...Map.groupBy(cases, ([file]) => file)])(
    'is refused with the row below it, and what that is: %s',
    async (file, all) => {
      await expect(printedOf(all)).toMatchFileSnapshot(golden(`kept/${file}`));
    },
  );

  it('is refused to one merchant as well', () => {
    const [file, row] = cases[0] ?? ['', ''];
    const text = `rows:\n  - ${row.replace(/ }$/, `, ${WHY} }`)}\n`;
    expect(refusalOf({ [`merchants/${MERCHANT}/${file}`]: text })).toContain('row merchant.1: to: row 8 of');
  });

  it('is all but these targets, sources and errors: what a new row writes is free only when it stands here', async () => {
    const { documents } = readDocuments(tablesDirectory);
    const isFree = (shipped: string, written: object): boolean => {
      const file = { file: shipped, shipped, merchant: null, written } as OwnFile; // by the grammar of its table
      return layOver(documents, [file], 'own').failures.length === 0;
    };
    const why = 'A reason that is long enough.';
    const fields = documents.tables.flatMap(({ table, file, rows }) => {
      const sources = rows.flatMap(({ copy, drop, each }) => copy ?? drop ?? each ?? []);
      const targets = rows.flatMap(({ to }) => to ?? []);
      return [
        ...targets.filter((to) => isFree(file, { rows: [{ const: 1, to, why }] })).map((to) => `${table} → ${to}`),
        ...sources
          .filter((one) => isFree(file, { rows: [{ drop: one, policy: 'refuse', why }] }))
          .map((one) => `${table} drop ${one}`),
      ];
    });
    const errors = documents.errors.flatMap(({ table, file, family, calls, any }) =>
      Object.entries({ ...calls, any }).flatMap(([call, rows]) =>
        rows.map(({ status, code, error }) => {
          const laid = (name: string) => [{ status, code, error: name, why }];
          const fits = legacyErrorNames(family).filter((name) =>
            isFree(file, {
              calls: call === 'any' ? {} : { [call]: laid(name) },
              any: call === 'any' ? laid(name) : [],
            }),
          );
          return `${table} ${error}: ${fits.join(', ')}`;
        }),
      ),
    );
    await expect(`${[...new Set([...fields, ...errors])].join('\n')}\n`).toMatchFileSnapshot(golden('free'));
    const facts = Object.keys(contextSchema.shape);
    expect(facts.filter((to) => isFree('point/headers.yaml', { rows: [{ const: 1, to, why }] }))).toEqual([]);
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
    const dropped = (source: string): object[] =>
      inner.map((row) =>
        (row.copy ?? row.drop) === source ? { drop: source, policy: 'note', advice: 'Leave the field out.', why } : row,
      );
    expect(told(dropped('picture_url'))).toBe('the tables hold');
    expect(told(dropped('sku_number'))).toContain('row 12 of qr.create.request has body.items');
    const refusal = 'row own.1: to: row 12 of qr.create.request has body.items, which is an amount';
    expect(told(dropped('unit_price'))).toContain(refusal);
    const elsewhere = { drop: 'total_amount', policy: 'silent', sites: ['MLB'], why };
    expect(inner.map(({ drop }) => drop)).toContain('total_amount');
    const narrowed = inner.map((row) => (row.drop === 'total_amount' ? { ...row, sites: ['MLA'] } : row));
    expect(told([...narrowed, elsewhere])).toContain(refusal);
    expect(told([...inner, { const: 'Shop', to: 'unit_price.text', why }])).toContain(refusal);
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
    expect(again.of(MERCHANT).documents).toEqual(first.of(MERCHANT).documents);
    expect(again.of(MERCHANT).revision).toBe(first.of(MERCHANT).revision);
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
    ['has another ending', { 'point/create.request.yml': '' }, 'tables end in .yaml'],
    ['is too deep', { [`merchants/${MERCHANT}/more/${CREATE}`]: DESCRIPTION }, 'tables lie in <family>/<table>.yaml'],
  ])('is refused when it %s', (_what, files, says) => {
    const refusal = refusalOf(files);
    expect(refusal).toContain(says);
    expect(refusal).toContain('(1 proof fails)');
  });

  it('is judged by shipped tables that hold, and each failure of a common file is told once', () => {
    const folder = folderOf({
      [CREATE]: DESCRIPTION.replace('short_description', 'short_descripton'),
      [`merchants/${MERCHANT}/point/get.answer.yaml`]: '{}\n',
    });
    const told = (directory: string) => proverOf(directory)(folder).failures.map(({ file }) => file);
    expect(told(tablesDirectory)).toEqual([join(folder, CREATE)]);
    const directory = copyOfTables();
    const sites = join(directory, 'sites.yaml');
    writeFileSync(sites, readFileSync(sites, 'utf8').replace('id: MLU', 'id: MLC'));
    expect(told(directory)).toContain('sites.yaml');
    expect(told(directory)).not.toContain(join(folder, CREATE));
  });

  it('may be named by a path that begins with a dot', () => {
    const folder = `./${relative(process.cwd(), folderOf({ [CREATE]: DESCRIPTION }))}/`;
    expect(prove(folder).failures).toEqual([]);
  });

  it('that is not there is refused with the setting to repair', () => {
    const { failures } = prove(join(emptyDirectory(), 'nowhere'));
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
  it('names file, line, column and what fits', async () => {
    const mistakes = [
      changed('sites: [MLA]', 'sites: [MLA'),
      changed('sites: [MLA]', 'sites: [MLA]\n    to: body.description'),
      changed('sites: [MLA]', 'sites: *sites'),
      bomb(),
      changed('copy:', 'coppy:'),
      changed('sites: [MLA]', 'const: 1'),
      changed('short_description', 'short_descripton'),
      changed('copy: body.description', 'copy: body.descripion'),
      changed('to: body.description', 'to: body.config.print_on_terminal'),
      changed('[MLA]', '[MLX]'),
      '{ drop: body.description, policy: ignore }',
      '{ remove: body.typ }',
      changed('table: point.create.request', 'table: point.create.answer'),
      'role: notice\n',
      '{ context: reference, to: body.external_reference, sites: [MLB] }',
    ].map((text) => [CREATE, text] as const);
    const others = [
      ['point/states.yaml', '{ status: procesed, shows: CANCELED, rank: 9, final: true, notices: [] }'],
      ['point/states.yaml', '{ status: expired, shows: CANCELED, rank: 50, final: false, notices: [point] }'],
      ['point/errors.yaml', `calls: { creat: [{ status: 400, code: bad_request, error: bad_request, ${WHY} }] }`],
      ['point/errors.yaml', `calls: { get: [{ status: 401, code: unauthorized, error: unknwn, ${WHY} }] }`],
      ['merchant_orders/get.answer.yaml', '{ context: merchant_order_id, to: body.marketplace }'],
      ['point/get.answer.yaml', '{ context: held.payment.installments, to: body.description, with: whole_number }'],
      ['point/create.reqest.yaml', 'rows: []'],
      ['operations.yaml', 'operations: []'],
      ['sites.yaml', 'sites: []'],
      ['limitations.yaml', 'limitations: []'],
      [`merchants/shop/${CREATE}`, DESCRIPTION],
    ] as const;
    await expect(printedOf([...mistakes, ...others])).toMatchFileSnapshot(golden('mistakes'));
  });
});
