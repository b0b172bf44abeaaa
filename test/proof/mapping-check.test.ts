/** Checks of the tables that other tests do not reach, on small tables or real documents with one change. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { check, checkDoubleReads, checkFacts, printFailures } from '../../src/mapping/check.ts';
import { checkErrors, checkTable } from '../../src/mapping/check-rows.ts';
import { readDocuments } from '../../src/mapping/load.ts';
import { type Documents, fieldTable, type WrittenTable } from '../../src/mapping/schema.ts';

const { documents } = readDocuments('mappings');
const why = 'A reason that is long enough.';
/** The contracts of a request that takes unknown keys. */
const MODE = { from: 'changeModeRequest', to: 'setupTerminalCall' };
const table = (rows: unknown[], more: object = {}) => ({
  file: 'x.yaml',
  ...fieldTable.parse({
    table: 'point.devices.answer',
    family: 'point',
    from: 'listTerminalsAnswer',
    to: 'listDevicesAnswer',
    source: 'a test',
    rows,
    ...more,
  }),
});
const says = (failures: readonly { message: string }[]): string[] => failures.map(({ message }) => message);

describe('the grammar', () => {
  it.each<[string, object, string]>([
    ['two verbs', { copy: 'a', const: 1, to: 'b' }, 'needs exactly one of'],
    ['no verb', { to: 'b' }, 'it has none'],
    ['a constant elsewhere', { const: 1, to: 'b', sites: ['MLA'], elsewhere: 'note' }, 'elsewhere needs sites'],
    ['elsewhere without sites', { copy: 'a', to: 'b', elsewhere: 'note' }, 'elsewhere needs sites and a source field'],
    ['a drop that does nothing', { drop: 'a' }, 'a drop needs a policy or a converter'],
    ['a drop that does both', { drop: 'a', policy: 'note', with: 'filled' }, 'a drop needs a policy or a converter'],
    ['a drop with a target', { drop: 'a', policy: 'note', to: 'b' }, 'a drop has no target'],
    ['a copy without one', { copy: 'a' }, 'a copy needs a target: to'],
    ['a copy with a policy', { copy: 'a', to: 'b', policy: 'note' }, 'only a drop has a policy'],
    ['an each without rows', { each: 'a', to: 'b' }, 'an each, and only an each, has rows of its own'],
    ['an otherwise of a context', { context: 'site', to: 'b', otherwise: 1 }, 'only a copy has an otherwise'],
  ])('refuses %s', (_what, row, expected) => {
    expect(() => table([{ ...row, why }])).toThrow(expected);
  });

  it.each([
    { const: null, to: 'b' },
    { copy: 'a', to: 'b', sites: ['MLA'], elsewhere: 'note' },
    { drop: 'a', with: 'filled' },
    { each: 'a', to: 'b', rows: [{ copy: 'c', to: 'd', why }] },
  ])('takes %j', (row) => {
    expect(() => table([{ ...row, why }])).not.toThrow();
  });

  it('says where in the file it stumbles, as people count', () => {
    const directory = mkdtempSync(join(tmpdir(), 'puente-grammar-'));
    try {
      writeFileSync(join(directory, 'states.yaml'), 'role: states\nnever: [{ shows: 5 }]\n');
      writeFileSync(
        join(directory, 'errors.yaml'),
        'role: errors\nany: [{ error: x, why: short }]\ncalls: { get: [{ error: 1 }] }\n',
      );
      writeFileSync(join(directory, 'broken.yaml'), 'a: [\n');
      writeFileSync(join(directory, 'empty.yaml'), '');
      const { failures } = readDocuments(directory);
      const places = failures.map(({ file, row }) => `${file} ${row}`);
      expect(places).toEqual(expect.arrayContaining(['states.yaml never 1', 'errors.yaml any 1', 'errors.yaml get 1']));
      expect(says(failures).some((message) => message.startsWith('is not YAML: '))).toBe(true);
      expect(places).toContain('empty.yaml null');
    } finally {
      rmSync(directory, { recursive: true });
    }
    expect(says(readDocuments(join(directory, 'nowhere')).failures)).toEqual([
      expect.stringContaining("the tables can't be read: ENOENT"),
    ]);
  });

  it('prints what fails', () => {
    const failure = { file: 'a.yaml', row: null, message: 'is wrong' };
    expect(printFailures([failure])).toBe('The mapping tables do not hold (1 proof fails):\n  a.yaml: is wrong');
    expect(printFailures([failure, { ...failure, row: '2' }])).toContain(
      '(2 proofs fail):\n  a.yaml: is wrong\n  a.yaml row 2',
    );
  });
});

describe('a table', () => {
  it('names contracts that there are', () => {
    const rows = [{ const: 1, to: 'body.x', why }];
    expect(says(checkTable(table(rows, { to: 'nobody' }), [], null))).toEqual([
      expect.stringMatching(/^no contract schema is called 'nobody'; there are /),
    ]);
    expect(says(checkTable(table(rows, { from: 'nobody' }), [], null))).toEqual([
      expect.stringMatching(/^no contract schema is called 'nobody'; there are /),
    ]);
  });

  it('is named once', () => {
    const [first] = documents.tables;
    if (first === undefined) throw new Error('there are no tables');
    const twice: Documents = { ...documents, tables: [...documents.tables, { ...first, file: 'again.yaml' }] };
    const found = check(twice).filter(({ message }) => message.includes('is given twice'));
    expect(found).toContainEqual({
      file: 'again.yaml',
      row: null,
      message: `the table name ${first.table} is given twice`,
    });
  });

  it('holds as it is', () => {
    expect(check(documents)).toEqual([]);
  });
});

describe('a row of the terminals', () => {
  const devices = documents.tables.find((one) => one.table === 'point.devices.answer');
  if (devices === undefined) throw new Error('there is no table of devices');
  const [list, ...paging] = devices.rows;
  if (list === undefined) throw new Error('the table of devices has no rows');
  const SITES = ['MLA', 'MLB', 'MLC'];
  const told = (rows: readonly object[], more: object = {}) => {
    const failures = checkTable({ ...devices, ...more, rows: rows as WrittenTable['rows'] }, SITES, null); // some are wrong
    return failures.map(({ file, row, key, message }) => {
      expect(file).toBe('point/devices.answer.yaml');
      return `${row} ${key}: ${message}`;
    });
  };
  /** With another row behind the shipped ones. */
  const and = (row: object) => told([...devices.rows, { why, ...row }]);
  /** With a change of row 2, which copies paging.total. */
  const but = (change: object) => told([list, { ...paging[0], ...change }, ...paging.slice(1)]);
  /** With a change of the rows of the list. */
  const inside = (change: (rows: WrittenTable['rows']) => object[]) =>
    told([{ ...list, rows: change(list.rows ?? []) }, ...paging]);

  it.each<[what: string, failures: () => string[], expected: string[]]>([
    ['as shipped', () => told(devices.rows), []],
    ['a source that is copied and dropped', () => and({ drop: 'paging.total', policy: 'silent' }), []],
    [
      'a source that the contract lacks',
      () => and({ drop: 'paging.totl', policy: 'silent' }),
      ['5 drop: the source listTerminalsAnswer has no paging.totl; did you mean paging.total?'],
    ],
    [
      'a source beside it that the contract lacks',
      () => and({ drop: 'paging.total', reads: ['paging.limit', 'paging.totl'], policy: 'silent' }),
      ['5 reads: the source listTerminalsAnswer has no paging.totl; did you mean paging.total?'],
    ],
    [
      'a source that the contract lacks, in the list',
      () => inside((rows) => [...rows, { drop: 'ids', policy: 'silent', why }]),
      ['1.6 drop: the source listTerminalsAnswer has no data.terminals[].ids; did you mean data.terminals[].id?'],
    ],
    [
      'a fact that no call has',
      () => told([list, { context: 'exponnt', to: 'body.paging.total', why }, ...paging.slice(1)]),
      [
        '2 context: the context has no exponnt; did you mean exponent?',
        'null undefined: the source field paging.total has no row: copy it, or drop it and say why',
      ],
    ],
    [
      'a fact of another kind',
      () => and({ context: 'site', to: 'body.paging.total' }),
      [
        expect.stringMatching(/^5 context: body\.paging\.total takes integer, and site is string/),
        '5 to: body.paging.total is already written by row 2',
      ],
    ],
    [
      'a target that the contract lacks',
      () => and({ copy: 'paging.total', to: 'body.paging.totl' }),
      ['5 to: the target listDevicesAnswer has no body.paging.totl; did you mean body.paging.total?'],
    ],
    [
      'a constant of another kind, of what is written already',
      () => and({ const: 'x', to: 'body.paging.total' }),
      ['5 const: body.paging.total does not take "x"', '5 to: body.paging.total is already written by row 2'],
    ],
    [
      'the whole of what is written in parts already',
      () => and({ copy: 'paging', to: 'body.paging' }),
      ['5 to: body.paging is already written by row 2'],
    ],
    ['another value for what is missing', () => but({ otherwise: 0 }), []],
    [
      'a value of another kind for what is missing',
      () => but({ otherwise: 'x' }),
      ['2 otherwise: body.paging.total does not take "x"'],
    ],
    [
      'a converter that there is not',
      () => but({ with: 'offset_tim' }),
      ["2 with: no converter is called 'offset_tim'; did you mean offset_time?"],
    ],
    [
      'a converter for another kind',
      () => but({ with: 'number_text' }),
      [expect.stringMatching(/^2 with: body\.paging\.total takes integer, and number_text makes "12" of integer/)],
    ],
    [
      'a source of another kind',
      () => and({ copy: 'data.terminals', to: 'body.paging' }),
      [
        expect.stringMatching(/^5 copy: body\.paging takes object, and data\.terminals is array/),
        '5 to: body.paging is already written by row 2',
      ],
    ],
    [
      'a site that there is not',
      () => and({ drop: 'paging.total', policy: 'silent', sites: ['MLA', 'MLX'] }),
      ['5 sites: sites.yaml has no site MLX; did you mean MLA or MLB or MLC?'],
    ],
    [
      'of one site alone',
      () => but({ sites: ['MLA'] }),
      [
        'null undefined: the source field paging.total has no row: copy it, or drop it and say why (at MLB, MLC)',
        'null undefined: the required target field body.paging.total is written by no row (at MLB, MLC)',
      ],
    ],
    [
      'of one site, with a policy elsewhere',
      () => but({ sites: ['MLA'], elsewhere: 'silent' }),
      ['null undefined: the required target field body.paging.total is written by no row (at MLB, MLC)'],
    ],
    [
      'of each site its own',
      () => told([...devices.rows.toSpliced(1, 1), ...SITES.map((site) => ({ ...paging[0], sites: [site] }))]),
      [],
    ],
    [
      'twice at one site',
      () => and({ copy: 'paging.total', to: 'body.paging.total', sites: ['MLB'] }),
      ['5 to: body.paging.total is already written by row 2 (at MLB)'],
    ],
    [
      'a list without a row for one of its fields',
      () => inside((rows) => rows.slice(1)),
      [
        'null undefined: the source field data.terminals[].id has no row: copy it, or drop it and say why',
        'null undefined: the required target field body.devices[].id is written by no row',
      ],
    ],
    [
      'a whole list, dropped beside its each',
      () =>
        told([{ ...list, rows: list.rows?.slice(1) }, ...paging, { drop: 'data.terminals', policy: 'silent', why }]),
      [
        'null undefined: the source field data.terminals[].id has no row: copy it, or drop it and say why',
        'null undefined: the required target field body.devices[].id is written by no row',
      ],
    ],
    [
      'what is required, of a source that may be missing',
      () => inside((rows) => rows.map(({ otherwise: _otherwise, ...row }) => row)),
      ['pos_id', 'store_id', 'external_pos_id'].map(
        (field, at) =>
          `1.${at + 2} undefined: the required target field body.devices[].${field} hangs on an optional source field: give the row an otherwise`,
      ),
    ],
    [
      'a whole list by another row than an each',
      () =>
        told([{ drop: 'data.terminals', policy: 'silent', why }, { const: [], to: 'body.devices', why }, ...paging]),
      [],
    ],
    [
      'no list where one is required',
      () => told([{ drop: 'data.terminals', policy: 'silent', why }, ...paging]),
      ['null undefined: the required target field body.devices is written by no row'],
    ],
    [
      'a policy for unknown keys where none come',
      () => told(devices.rows, { unknown: 'note' }),
      ['null undefined: listTerminalsAnswer lets no unknown keys in, so unknown means nothing'],
    ],
  ])('%s', (_what, failures, expected) => {
    expect(failures()).toEqual(expected);
  });

  it.each([
    [undefined, ['changeModeRequest lets unknown keys in, but the table has no policy for them: unknown']],
    ['note', []],
    [{ MLA: 'refuse', elsewhere: 'note' }, []],
    [{ MLA: 'refuse' }, ['unknown: needs a policy for all other sites: elsewhere']],
    [{ MLX: 'refuse', elsewhere: 'note' }, ['unknown: sites.yaml has no site MLX']],
  ])('stands beside a policy for unknown keys: %j', (unknown, expected) => {
    const request = documents.tables.find((one) => one.table === 'point.mode.request');
    const rows = request?.rows ?? [];
    const { unknown: _shipped, ...rest } = table(rows, { table: 'point.mode.request', ...MODE });
    const given = unknown === undefined ? rest : { ...rest, unknown: unknown as WrittenTable['unknown'] };
    expect(says(checkTable(given, SITES, null))).toEqual(expected);
  });

  it('of the context accounts for no field of the source, also of the same name', () => {
    const rows = [{ context: 'currency', to: 'body.id', why }];
    const answer = table(rows, { table: 'point.cancel.answer', from: 'order', to: 'cancelIntentAnswer' });
    const lacks = 'the source field currency has no row: copy it, or drop it and say why';
    expect(says(checkTable(answer, SITES, null))).toContain(lacks);
  });

  it('of headers accounts for the headers of a request, and for nothing else of it', () => {
    const [headers, request] = ['point.headers', 'point.create.request'].map((name) =>
      documents.tables.find((one) => one.table === name),
    );
    if (headers === undefined || request === undefined) throw new Error('there is no such table');
    const sites = documents.sites.map(({ id }) => id);
    expect(checkTable(request, sites, headers)).toEqual([]);
    const bare = says(checkTable(request, sites, null));
    expect(bare).toContain('the source field headers.x-test-scope has no row: copy it, or drop it and say why');
    expect(bare.every((message) => message.startsWith('the source field headers.'))).toBe(true);
    const elsewhere = { ...headers, rows: headers.rows.map((row) => ({ ...row, sites: ['MLA'] })) };
    expect(says(checkTable(request, sites, elsewhere))).toEqual(bare);
    const without = { ...request, rows: request.rows.filter(({ drop }) => drop !== 'body.notification_url') };
    expect(says(checkTable(without, sites, headers))).toEqual([
      'the source field body.notification_url has no row: copy it, or drop it and say why',
    ]);
  });
});

describe('a target', () => {
  const written = { type: 'qr', external_reference: 'r', total_amount: '1.00', 'config.qr.mode': 'static' };
  const told = (targets: Readonly<Record<string, unknown>>) => {
    const rows = Object.entries(targets).map(([to, value]) => ({ const: value, to: `body.${to}`, why }));
    const order = table(rows, { table: 'qr.create.request', family: 'qr', from: 'nothing', to: 'createQrOrderCall' });
    return says(checkTable(order, ['MLA'], null)).map((message) => message.replace(' is written by no row', ''));
  };
  const missing = (...fields: string[]) => fields.map((field) => `the required target field body.${field}`);
  const till = { 'config.qr.external_pos_id': 'till' };

  it.each([
    ['listTerminalsCall', []],
    ['cancelOrderCall', ['path.order_id']],
    ['setupTerminalCall', ['body.terminals[].id', 'body.terminals[].operating_mode']],
    ['listDevicesAnswer', ['body.devices', 'body.paging.total', 'body.paging.limit', 'body.paging.offset']],
    ['changeModeAnswer', ['body.operating_mode']],
  ])('of a %s that no row writes lacks %j', (to, fields) => {
    const empty = { ...table([{ const: 1, to: 'body', why }], { from: 'nothing', to }), rows: [] };
    expect(says(checkTable(empty, ['MLA'], null))).toEqual(
      fields.map((field) => `the required target field ${field} is written by no row`),
    );
  });

  it('of any form may be written in parts', () => {
    const rows = [{ const: 'r', to: 'body.additional_info.external_reference', why }];
    const lacks = says(checkTable(table(rows, { from: 'nothing', to: 'noticeBody' }), ['MLA'], null));
    expect(lacks.filter((message) => message.includes('additional_info'))).toEqual([]);
  });

  it.each<[what: string, more: object, expected: string[]]>([
    ['with all that it needs', till, []],
    ['without a part of a part', {}, missing('config.qr.external_pos_id')],
    ['with a whole part', { ...till, 'transactions.payments[0].amount': '1.00' }, []],
    ['that is the whole list', { ...till, items: [] }, []],
    [
      'with a part of an element of a list that may be missing',
      { ...till, 'items[0].title': 'Tea' },
      missing('items[].unit_price', 'items[].quantity', 'items[].unit_measure'),
    ],
    [
      'with a part of what may be missing',
      { ...till, 'discounts.payment_methods[0].type': 'credit_card' },
      missing('discounts.payment_methods[].new_total_amount'),
    ],
    ['with the whole list in what may be missing', { ...till, 'discounts.payment_methods': [] }, []],
  ])('%s', (_what, more, expected) => {
    expect(told({ ...written, ...more })).toEqual(expected);
  });
});

describe('a double read', () => {
  const read = (change: Partial<Documents['operations'][number]>) => {
    const [operation] = documents.operations.filter(({ double_read }) => double_read);
    if (operation === undefined) throw new Error('nothing is read on both sides');
    return says(checkDoubleReads({ ...documents, operations: [{ ...operation, ...change }] }));
  };

  it.each<[Parameters<typeof read>[0], string]>([
    [{ method: 'PUT' }, 'legacy writes with PUT'],
    [{ upstream: null }, 'it has no upstream call'],
    [{ upstream: 'create' }, 'create writes with POST'],
    [{ request: null }, 'it needs a request table and an answer table'],
    [{ answer: null }, 'it needs a request table and an answer table'],
  ])('with %j is none', (change, reason) => {
    expect(read(change)).toEqual([`point.list_devices can't be read on both sides: ${reason}`]);
  });

  it('as it is, or not asked for, holds', () => {
    expect([read({}), read({ double_read: false, method: 'PUT' })]).toEqual([[], []]);
  });
});

describe('what is said beside a row', () => {
  const facts = (rows: unknown[], more: object = {}) => says(checkFacts({ ...documents, tables: [table(rows, more)] }));
  const list = (change: object, inner: object[] = [{ copy: 'id', to: 'id', why }]) => ({
    each: 'data.terminals',
    to: 'body.devices',
    why,
    rows: inner,
    ...change,
  });

  it.each<[string, unknown[], string[]]>([
    [
      'a matcher of a drop',
      [{ drop: 'a', policy: 'note', match: 'volatile', why }],
      ['a field that is dropped is not compared, so a matcher means nothing here'],
    ],
    [
      'a matcher of a list as a number',
      [list({ match: 'numeric' })],
      ["body.devices is no number, so it can't match as numeric"],
    ],
    ['a key without its matcher', [list({ by: 'id' })], ['only unordered has a key: by']],
    ['a matcher without its key', [list({ match: 'unordered' })], ['unordered needs the key of its elements: by']],
    [
      'a key that nobody writes',
      [list({ match: 'unordered', by: 'x' }, [{ drop: 'id', policy: 'silent', why }])],
      ['no row of this each writes its key x'],
    ],
    [
      'unordered of a copy',
      [{ copy: 'paging', to: 'body.paging', match: 'unordered', by: 'id', why }],
      ['only the list of an each can match as unordered'],
    ],
    ['a list and its key', [list({ match: 'unordered', by: 'id' })], []],
    ['a matcher inside of a list', [list({}, [{ copy: 'id', to: 'id', match: 'presence', why }])], []],
    [
      'advice that nobody needs',
      [{ copy: 'a', to: 'b', advice: 'Leave it out there.', why }],
      ['nothing is lost here, so the advice has no use'],
    ],
    ['advice of a refusal', [{ drop: 'a', policy: 'refuse', advice: 'Leave it out there.', why }], []],
    [
      'advice of a refusal elsewhere',
      [{ copy: 'a', to: 'b', sites: ['MLA'], elsewhere: 'refuse', advice: 'Leave it out there.', why }],
      [],
    ],
    [
      'advice of a drop that a converter decides',
      [{ drop: 'a', with: 'own_currency', advice: 'Leave it out there.', why }],
      [],
    ],
    [
      'advice of a loss elsewhere',
      [{ copy: 'a', to: 'b', sites: ['MLA'], elsewhere: 'note', advice: 'Leave it out there.', why }],
      [],
    ],
    [
      'advice of a silent drop',
      [{ drop: 'a', policy: 'silent', advice: 'Leave it out there.', why }],
      ['nothing is lost here, so the advice has no use'],
    ],
  ])('%s', (_what, rows, expected) => {
    expect(facts(rows)).toEqual(expected);
  });

  it('means nothing where nothing is compared, nor in a contract that there is not', () => {
    expect(facts([list({ match: 'volatile' })], { table: 'point.mode.answer' })).toEqual([
      'no double read compares point.mode.answer, so a matcher means nothing here',
    ]);
    const strange = [{ copy: 'a', to: 'body.b', match: 'numeric', why }];
    expect(facts(strange, { to: 'nobody' })).toEqual(["body.b is no number, so it can't match as numeric"]);
  });

  it('of a request that loses without advice', () => {
    const rows: WrittenTable['rows'] = [{ drop: 'body.a', policy: 'note', why }];
    const told = says(checkFacts({ ...documents, tables: [table(rows, { table: 'point.mode.request' })] }));
    expect(told).toEqual([expect.stringContaining('give the row an advice')]);
    expect(facts(rows)).toEqual([]);
  });
});

describe('an error row', () => {
  const [errors] = documents.errors.filter(({ family }) => family === 'point');
  const row = (change: object) => {
    if (errors === undefined) throw new Error('Point has no errors');
    const any = [...errors.any.slice(0, -1), { error: 'internal', why, ...change }];
    return says(checkErrors({ ...errors, any }, documents.operations));
  };

  it.each<[object, string[]]>([
    [{}, []],
    [{ error: 'nobody' }, [expect.stringMatching(/^the legacy catalogue has no error 'nobody'; there are /)]],
    [
      { with: 'limit' },
      ['the message of internal has no place for a detail', expect.stringContaining('any has no default row')],
    ],
    [
      { with: 'nobody', error: 'nobody' },
      [
        expect.stringContaining("no converter is called 'nobody'"),
        expect.stringMatching(/^the legacy catalogue has no error 'nobody'; there are /),
        expect.stringContaining('any has no default row'),
      ],
    ],
    [{ error: 'invalid_property' }, ['the message of invalid_property has a place for a detail: give a converter']],
    [{ status: 400 }, [expect.stringContaining('any has no default row')]],
    [{ says: 'blue' }, [expect.stringContaining('any has no default row')]],
    [{ property: 'x' }, [expect.stringContaining('any has no default row')]],
  ])('with %j', (change, expected) => {
    expect(row(change)).toEqual(expected);
  });

  it('that names what there is not is refused at its key', () => {
    if (errors === undefined) throw new Error('Point has no errors');
    const any = [{ error: 'nobody', with: 'nobody', why }, ...errors.any];
    const failures = checkErrors({ ...errors, any }, documents.operations);
    expect(failures.map(({ row: at, key }) => [at, key])).toEqual([
      ['any 1', undefined],
      ['any 1', 'with'],
      ['any 1', 'error'],
    ]);
    expect(failures[0]?.message).toBe('the default row comes last');
  });
});
