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
});
