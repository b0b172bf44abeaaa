/** The engine alone, on small tables: paths, shapes, rows, refusals, errors, comparisons and request fields. */
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { legacyError } from '../../src/contract/legacy-errors.ts';
import { PuenteError } from '../../src/error.ts';
import { assemble, fieldsThatCame, rowIds } from '../../src/mapping/assemble.ts';
import { compileTable } from '../../src/mapping/compile.ts';
import { contractOf, findIn, leavesOf, looseObjectsOf, shapeOf } from '../../src/mapping/contracts.ts';
import { describeFired, describeRows, sourceText, targetText } from '../../src/mapping/describe.ts';
import { errorFinder, readError, refusal, sourceRefusal, wantsDetail } from '../../src/mapping/errors.ts';
import { factsFinder, fieldFinder } from '../../src/mapping/fields.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { compareAnswers } from '../../src/mapping/match.ts';
import {
  anyElement,
  contains,
  hasValue,
  type Path,
  parsePath,
  printPath,
  propertyName,
  reader,
  writer,
} from '../../src/mapping/path.ts';
import { rowsOf, wholeRows } from '../../src/mapping/row.ts';
import {
  errorsTable,
  fieldTable,
  statesTable,
  type WrittenOperation,
  type WrittenTable,
} from '../../src/mapping/schema.ts';
import { type LoadedTables, linkFamilies, type Operation } from '../../src/mapping/tables.ts';

const tables = loadTables('mappings');
const why = 'A reason that is long enough.';
const INTENT = '019539a0-0000-7000-8000-00000000dead';
const ORDER = 'ORD01J49MMW3SSBK5PSV3DFR32959';
const operation = (name: string): Operation => {
  const found = tables.operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no operation ${name}`);
  return found;
};
const codeOf = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    if (error instanceof PuenteError) return error.code === 'refused' ? error.facts : `${error.code}: ${error.message}`;
    throw error;
  }
  return 'nothing';
};

describe('a path', () => {
  it.each<[string, Path | null]>([
    ['body', ['body']],
    ['body.a-b.c_d', ['body', 'a-b', 'c_d']],
    ['body.list[0][12].x', ['body', 'list', 0, 12, 'x']],
    ['a[0]', ['a', 0]],
    ['', null],
    ['a..b', null],
    ['a[]', null],
    ['a[x]', null],
    ['a.', null],
    ['.a', null],
    ['a b', null],
    [' a', null],
  ])('%s is read as %j', (text, path) => {
    expect(parsePath(text)).toEqual(path);
    if (path !== null) expect(printPath(path)).toBe(text);
  });

  it('is written with any element, and as a property', () => {
    expect(printPath(['body', 'a', '[]', 'b'])).toBe('body.a[].b');
    expect(printPath([])).toBe('');
    expect(propertyName(['body', 'a', 0])).toBe('a[0]');
    for (const part of ['path', 'query', 'headers']) expect(propertyName([part, 'x'])).toBe('x');
    expect([propertyName(['body']), propertyName(['data', 'x'])]).toEqual(['body', 'data.x']);
    expect(anyElement(['a', 0, 'b'])).toEqual(['a', '[]', 'b']);
  });

  it('holds another', () => {
    expect(contains(['a'], ['a', 'b'])).toBe(true);
    expect(contains(['a', 'b'], ['a', 'b'])).toBe(true);
    expect(contains(['a', 'b'], ['a'])).toBe(false);
    expect(contains(['b'], ['a', 'b'])).toBe(false);
    expect(contains([], ['a'])).toBe(true);
  });

  const source = { a: { b: [{ c: { d: { e: 5 } } }] }, n: null, t: 'text' };

  it.each<[Path, unknown]>([
    [[], source],
    [['t'], 'text'],
    [['a', 'b', 0], { c: { d: { e: 5 } } }],
    [['a', 'b', 0, 'c', 'd', 'e'], 5],
    [['a', 'b'], source.a.b],
    [['n', 'x'], undefined],
    [['t', 'length'], undefined],
    [['a', 'x', 'y', 'z', 'w'], undefined],
    [['missing', 'x', 'y'], undefined],
  ])('%j reads %j', (path, expected) => {
    expect(reader(path)(source)).toEqual(expected);
  });

  it('makes what it needs on the way', () => {
    const target = {};
    writer(['a', 'list', 0, 'x'])(target, 1);
    writer(['a', 'list', 1, 'x'])(target, 2);
    writer(['a', 'y'])(target, 3);
    writer(['b'])(target, 4);
    expect(target).toEqual({ a: { list: [{ x: 1 }, { x: 2 }], y: 3 }, b: 4 });
    expect(Array.isArray((target as { a: { list: unknown } }).a.list)).toBe(true);
  });
});

describe('a shape', () => {
  const shape = shapeOf(
    z.object({
      a: z.string(),
      b: z
        .array(z.looseObject({ c: z.number(), d: z.unknown().optional() }))
        .min(2)
        .optional(),
      r: z.record(z.string(), z.string()).optional(),
      t: z.tuple([z.string()]).optional(),
      u: z.union([z.string(), z.object({ x: z.string() })]),
      l: z.array(z.string()),
      any: z.unknown().describe('anything'),
    }),
  );

  it('has leaves', () => {
    expect(leavesOf(shape).map(printPath)).toEqual(['a', 'b[].c', 'b[].d', 'r', 't[]', 'u.x', 'l[]', 'any']);
    expect([leavesOf(shapeOf(z.object({}))), leavesOf(shapeOf(z.string()))]).toEqual([[], []]);
  });

  it('knows which objects take strange keys', () => {
    expect(looseObjectsOf(shape).map(({ path, known }) => `${printPath(path)} ${known}`)).toEqual(['b[] c,d', 'r ']);
    expect(looseObjectsOf(shapeOf(z.looseObject({ x: z.string() })))).toEqual([{ path: [], known: ['x'] }]);
  });

  it.each<[Path, string | null, boolean]>([
    [['a'], 'leaf', true],
    [['b'], 'array', false],
    [['b', 0, 'c'], 'leaf', false],
    [['b', '[]', 'c'], 'leaf', false],
    [['u', 'x'], 'leaf', true],
    [['l', 0], 'leaf', false],
    [['l', '[]'], 'leaf', true],
    [['any'], 'any', false],
    [['any', 'deep', 0], 'any', false],
    [['t', 0], 'any', false],
    [['a', 'x'], null, false],
    [['x'], null, false],
    [['a', 0], null, false],
  ])('%j is %s, always there: %s', (path, kind, always) => {
    const found = findIn(shape, path);
    expect(found?.shape.kind ?? null).toBe(kind);
    if (path[0] !== 'any') expect(found?.always ?? false).toBe(always);
  });

  it('counts the elements that a list always has', () => {
    const lists = shapeOf(z.object({ two: z.array(z.string()).min(2) }));
    expect([0, 1, 2].map((index) => findIn(lists, ['two', index])?.always)).toEqual([true, true, false]);
    expect(findIn(lists, ['two'])?.shape.least).toBe(2);
  });
});

const table = (rows: unknown[], more: object = {}): WrittenTable => ({
  ...fieldTable.parse({
    table: 'point.mode.request',
    family: 'point',
    from: 'changeModeRequest',
    to: 'setupTerminalCall',
    source: 'a test',
    rows: [{ const: 1, to: 'body.x', why }],
    ...more,
  }),
  rows: rows as WrittenTable['rows'], // some of them violate the schema
});
const applied = (rows: unknown[], source: unknown, context: object = {}, more: object = {}) =>
  compileTable(table(rows, more), ['MLA', 'MLB', 'other']).apply(source, context as never);

describe('a row', () => {
  it('is numbered, and has what it does not say', () => {
    const [row] = rowsOf('t', [{ each: 'a', to: 'b', why, rows: [{ copy: 'c', to: 'd', why }] }]);
    expect(row).toMatchObject({
      id: 't#1',
      verb: 'each',
      from: ['a'],
      to: ['b'],
      converter: null,
      reads: [],
      policy: null,
      sites: null,
      elsewhere: null,
      otherwise: null,
      matcher: 'equal',
      by: null,
      weight: 'other',
      advice: null,
      why,
    });
    expect(row?.rows).toMatchObject([{ id: 't#1.1', from: ['c'] }]);
    expect(wholeRows(row === undefined ? [] : [row]).map(({ from, to }) => [from, to])).toEqual([
      [['a'], ['b']],
      [
        ['a', '[]', 'c'],
        ['b', '[]', 'd'],
      ],
    ]);
    const [reading] = rowsOf('t', [{ context: 'x', reads: ['a.b', 'c'], to: 'b', why, otherwise: null }]);
    expect(reading).toMatchObject({ reads: [['a', 'b'], ['c']], otherwise: { value: null } });
    expect(rowsOf('t', [{ copy: 'a..b', to: 'c', why }])[0]?.from, 'the grammar refuses it before').toEqual([]);
  });

  it('copies, converts, and has an otherwise', () => {
    const rows = [
      { const: 'x', to: 'body.a', why },
      { copy: 'body.b', to: 'body.b', why },
      { copy: 'body.c', to: 'body.c', otherwise: 7, why },
      { copy: 'body.d', to: 'body.d', with: 'filled', why },
      { context: 'site', to: 'body.e', why },
    ];
    const full = applied(rows, { body: { b: 1, c: null, d: '' } }, { site: 'MLA' });
    expect(full.target).toMatchObject({ body: { a: 'x', b: 1, c: 7, e: 'MLA' } });
    expect(full.fired.map((id) => id.split('#')[1])).toEqual(['1', '2', '3', '5']);
    expect(applied(rows, { body: { d: 'x' } }).target).toMatchObject({ body: { a: 'x', c: 7, d: 'x' } });
  });

  it('has its say when only what it reads is there', () => {
    const rows = [{ context: 'client_id', reads: 'body.app', to: 'body.id', with: 'application_number', why }];
    expect(applied(rows, { body: { app: '7' } }).target).toEqual({ body: { id: 7 } });
    expect(applied(rows, { body: {} }).fired).toEqual([]);
    expect(applied(rows, { body: { app: null } }).fired).toEqual([]);
    const plain = [{ context: 'site', reads: 'body.app', to: 'body.id', why }];
    expect(applied(plain, { body: { app: '7' } }).fired, 'nothing to copy').toEqual([]);
    expect(applied(plain, { body: { app: '7' } }, { site: null }).fired, 'null to copy').toEqual([]);
    const always = [{ context: 'client_id', reads: 'body.app', to: 'body.id', with: 'or_empty', why }];
    const made = [{ app: '7' }, { app: null }, {}].map((body) => applied(always, { body }).target);
    expect(made).toStrictEqual([{ body: { id: '' } }, { body: {} }, { body: {} }]);
  });

  it('records what it loses, or refuses', () => {
    const lost = applied([{ copy: 'body.life', to: 'body.life', with: 'lifetime', why }], { body: { life: '1' } });
    expect(lost.losses).toEqual([
      { table: 'point.mode.request', path: 'body.life', why: expect.stringContaining('30') },
    ]);
    expect(lost.target).toEqual({ body: { life: 'PT30S' } });
    const refusing = () => applied([{ drop: 'body.v', with: 'voucher', why }], { body: { v: 'voucher_card' } });
    expect(codeOf(refusing)).toEqual({
      error: 'invalid_property',
      detail: 'payment.voucher_type',
      row: 'point.mode.request#1',
      limitation: 'LIM-07',
    });
    expect(applied([{ drop: 'body.v', with: 'voucher', why }], {}).fired).toEqual([]);
  });

  it('drops in silence, with a note, or by refusing', () => {
    const drop = (policy: string) => [{ drop: 'body.tip', policy, why }];
    const source = { body: { tip: 1 } };
    expect(applied(drop('silent'), source)).toMatchObject({ fired: ['point.mode.request#1'], losses: [] });
    expect(applied(drop('note'), source).losses).toEqual([{ table: 'point.mode.request', path: 'body.tip', why }]);
    expect(codeOf(() => applied(drop('refuse'), source))).toEqual({
      error: 'additional_property',
      detail: 'tip',
      row: 'point.mode.request#1',
    });
    for (const nothing of [{ body: {} }, { body: { tip: null } }])
      expect(applied(drop('refuse'), nothing).fired).toEqual([]);
    const inner = [{ drop: 'body.payment.extra.tip', policy: 'refuse', why }];
    expect(codeOf(() => applied(inner, { body: { payment: { extra: { tip: 1 } } } }))).toMatchObject({ detail: 'tip' });
    const judged = [{ drop: 'body.status', with: 'only_refunded', why }];
    expect(applied(judged, { body: { status: 'refunded' } })).toMatchObject({ target: { body: {} }, losses: [] });
  });

  it('of some sites fires there, and elsewhere does what it says', () => {
    const rows = [{ copy: 'body.a', to: 'body.a', sites: ['MLA'], elsewhere: 'note', why }];
    const at = (site: unknown) => applied(rows, { body: { a: 1 } }, { site });
    expect([at('MLA').target, at('MLA').losses]).toEqual([{ body: { a: 1 } }, []]);
    for (const site of ['MLB', 'MXX', undefined, 5]) expect(at(site).losses).toMatchObject([{ path: 'body.a', why }]);
    const gone = applied([{ ...rows[0], elsewhere: undefined }], { body: { a: 1 } }, { site: 'MLB' });
    expect([gone.fired, gone.losses]).toEqual([[], []]);
    expect(compileTable(table(rows), []).apply({ body: { a: 1 } }, {}).fired, 'no site at all').toEqual([]);
  });

  it('walks a list, tells of each row once, and of each loss where it was', () => {
    const rows = [
      {
        each: 'body.list',
        to: 'body.made',
        why,
        rows: [
          { copy: 'a', to: 'a', why },
          { drop: 'b', policy: 'note', why },
          { const: 1, to: 'k', why },
          { each: 'in', to: 'in', why, rows: [{ drop: 'c', policy: 'note', why }] },
        ],
      },
    ];
    const { target, fired, losses } = applied(rows, {
      body: { list: [{ a: 1, b: 2 }, { a: 3, in: [{ c: 4 }] }, { b: 5 }] },
    });
    expect(target).toEqual({ body: { made: [{ a: 1, k: 1 }, { a: 3, k: 1, in: [{}] }, { k: 1 }] } });
    expect(fired.map((id) => id.split('#')[1])).toEqual(['1', '1.1', '1.2', '1.3', '1.4', '1.4.1']);
    expect(losses.map(({ path }) => path)).toEqual(['body.list[0].b', 'body.list[1].in[0].c', 'body.list[2].b']);
    expect(applied(rows, { body: { list: 'none' } }).fired).toEqual([]);
    const many = applied(rows, { body: { list: Array.from({ length: 60 }, () => ({ b: 1 })) } }).losses;
    expect([many.length, many.at(-1)?.path]).toEqual([50, 'body.list[49].b']);
  });

  it('walks a list whose converter has the last word', () => {
    const rows = [
      { each: 'body.list', to: 'body.items', with: 'ten_items', why, rows: [{ copy: 'a', to: 'title', why }] },
    ];
    expect(applied(rows, { body: { list: [] } }, { exponent: 2 }).target).toStrictEqual({ body: {} });
    expect(applied(rows, { body: { list: [{ a: 1 }] } }, { exponent: 2 }).target).toEqual({
      body: { items: [{ title: 1 }] },
    });
  });

  it.each([
    ['setupTerminalCall', { body: {} }],
    ['refundOrderCall', { path: {} }],
    ['legacyError', {}],
  ])('that writes nothing leaves the parts that a %s must have', (to, target) => {
    expect(applied([], {}, {}, { to }).target).toStrictEqual(target);
  });

  it('of an unknown contract or converter is no table', () => {
    const strange = (more: object, rows: unknown[] = []) => codeOf(() => applied(rows, {}, {}, more));
    expect(strange({ from: 'nobody' })).toBe("bad_tables: No contract schema is called 'nobody'");
    expect(strange({ to: 'toString' })).toBe("bad_tables: No contract schema is called 'toString'");
    for (const name of ['nobody', 'toString']) {
      expect(strange({}, [{ copy: 'body.a', to: 'body.a', with: name, why }])).toBe(
        `bad_tables: No converter is called '${name}'`,
      );
    }
    expect([contractOf('nobody'), contractOf('constructor')]).toEqual([null, null]);
    expect(contractOf('order')).toBe(contractOf('order'));
  });
});

describe('keys that no row knows', () => {
  const unknown = (policy: unknown, source: unknown, site = 'MLA') =>
    applied([], source, { site }, { unknown: policy });

  it('are a loss, refused, or nobody’s business', () => {
    const source = { body: { operating_mode: 'PDV', tip: 1 } };
    expect(unknown('note', source).losses).toEqual([
      { table: 'point.mode.request', path: 'body.tip', why: 'orders have no counterpart of tip', unknown: true },
    ]);
    expect(unknown('silent', source).losses).toEqual([]);
    expect(codeOf(() => unknown('refuse', source))).toEqual({ error: 'additional_property', detail: 'tip' });
    expect(unknown('refuse', { body: { operating_mode: 'PDV' } }).losses).toEqual([]);
    for (const odd of [{ body: null }, { body: 'text' }, {}, null]) expect(unknown('refuse', odd).losses).toEqual([]);
  });

  it('follow the site', () => {
    const source = { body: { tip: 1 } };
    const policy = { MLA: 'silent', elsewhere: 'refuse' };
    expect(unknown(policy, source).losses).toEqual([]);
    expect(codeOf(() => unknown(policy, source, 'MLB'))).toMatchObject({ error: 'additional_property' });
    expect(unknown({ MLA: 'silent' }, source, 'MLB').losses, 'a table that check refuses').toHaveLength(1);
  });

  it('that stand in every element of a list are told fifty times, and fifty kinds of them are told apart', () => {
    const more = { from: 'createStoreOrderRequest', unknown: 'note' };
    const found = (items: object[]) => applied([], { body: { items } }, {}, more).losses.map(({ path }) => path);
    const same = found(Array.from({ length: 300 }, () => ({ tip: 1 })));
    const kinds = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`tip${index}`, 1]));
    const many = found([kinds, { tip0: 1, another: 1 }]);
    expect([same.length, same.at(-1)]).toEqual([50, 'body.items[49].tip']);
    expect([many.length, many.at(-1)]).toEqual([51, '(others)']);
    expect(applied([], { body: { items: [kinds] } }, {}, more).losses.at(-1)).toEqual({
      table: 'point.mode.request',
      path: '(others)',
      why: 'orders have no counterpart of more fields',
      unknown: true,
    });
  });

  it('of the elements of a list are told where they are', () => {
    const more = { from: 'createStoreOrderRequest', unknown: 'note' };
    const items = (list: unknown) => applied([], { body: { items: list } }, {}, more).losses.map(({ path }) => path);
    expect(items([{ title: 'x' }, { tip: 1 }])).toEqual(['body.items[1].tip']);
    expect([items('none'), items({})]).toEqual([[], []]);
  });
});

describe('a refusal', () => {
  it('says what it is about', () => {
    expect(refusal('invalid_property', 'a').facts).toStrictEqual({ error: 'invalid_property', detail: 'a' });
    expect(refusal('internal', '').message).toBe('The request was refused: internal');
    expect(refusal('internal', 'x', 't#1', 'LIM-07').facts).toEqual({
      error: 'internal',
      detail: 'x',
      row: 't#1',
      limitation: 'LIM-07',
    });
  });

  const said = (schema: z.ZodType, source: unknown, family: 'point' | 'qr_v1' = 'point') => {
    const { error } = z.object({ body: schema }).safeParse(source);
    const { error: name, detail } = sourceRefusal(family, error?.issues ?? [], source).facts;
    return `${name} ${detail}`.trim();
  };
  const amount = z.object({ amount: z.int().min(5).max(9) });

  it.each<[string, z.ZodType, unknown, string]>([
    ['the body is missing', amount, {}, 'missing_property body'],
    ['the body is a list', amount, { body: [] }, 'missing_property body'],
    ['a field is missing', amount, { body: {} }, 'missing_property amount'],
    ['it is too small', amount, { body: { amount: 4 } }, 'amount_minimum 5'],
    ['it is not above', z.object({ amount: z.number().gt(5) }), { body: { amount: 5 } }, 'amount_minimum 6'],
    ['another is too small', z.object({ n: z.number().min(5) }), { body: { n: 4 } }, 'invalid_property n'],
    ['it is too large', amount, { body: { amount: 10 } }, 'amount_maximum 9'],
    ['another is too large', z.object({ n: z.number().max(5) }), { body: { n: 6 } }, 'invalid_property n'],
    ['a text is too short', z.object({ t: z.string().min(2) }), { body: { t: 'x' } }, 'invalid_property t'],
    [
      'a text is too long',
      z.object({ amount: z.string().max(1) }),
      { body: { amount: 'xx' } },
      'invalid_property amount',
    ],
    ['a list is empty', z.object({ l: z.array(z.string()).min(1) }), { body: { l: [] } }, 'missing_property l'],
    [
      'a list is too long',
      z.object({ l: z.array(z.string()).max(1) }),
      { body: { l: ['', ''] } },
      'invalid_property l',
    ],
    ['a list is none', z.object({ l: z.array(z.string()) }), { body: { l: 1 } }, 'invalid_property l'],
    ['an element is wrong', z.object({ l: z.array(z.string()) }), { body: { l: [1] } }, 'invalid_property l[0]'],
    ['an object is none', z.object({ o: z.object({}) }), { body: { o: 1 } }, 'invalid_property o'],
    [
      'inside of nothing',
      z.object({ o: z.unknown().refine(() => false, { path: ['x', 'y'] }) }),
      { body: { o: null } },
      'missing_property o.x.y',
    ],
    [
      'inside of a text',
      z.object({ o: z.unknown().refine(() => false, { path: ['x'] }) }),
      { body: { o: 't' } },
      'missing_property o.x',
    ],
  ])('when %s', (_what, schema, source, expected) => {
    expect(said(schema, source)).toBe(expected);
  });

  it('of a list that is none names the whole body in v1', () => {
    const list = z.object({ items: z.array(z.string()) });
    expect(said(list, { body: { items: 1 } }, 'qr_v1')).toBe('bad_request');
    expect(said(z.object({ o: z.object({}) }), { body: { o: 1 } }, 'qr_v1')).toBe('invalid_property o');
    expect(said(z.object({ t: z.string().min(2) }), { body: { t: 'x' } }, 'qr_v1')).toBe('invalid_property t');
  });
});

describe('the tables together', () => {
  const source = { path: { device_id: 'T1' }, query: {}, headers: {}, body: { amount: 1500 } };
  const context = { site: 'MLA', exponent: 2, reference: 'r-1', voucher: 'refuse' } as const;

  it('know the documented writes that make no sale', () => {
    const cases = [
      ['PATCH', '/point/integration-api/integrator'],
      ['PATCH', '/point/integration-api/integrator/'],
      ['DELETE', '/point/integration-api/devices/T1/refund/7'],
      ['DELETE', '/point/integration-api/devices//refund/7'],
      ['POST', '/point/integration-api/integrator'],
      ['PATCH', '/point/integration-api'],
    ] as const;
    expect(cases.map(([method, path]) => tables.isProxied(method, path))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('know which fields came, of those that no row proves by firing', () => {
    const came = (operation: string | null, request: unknown) => fieldsThatCame(tables, operation, request);
    const body = {
      items: [{ category: 'x' }, { total_amount: 1 }],
      title: 'x',
      sponsor: null,
      external_reference: 'a',
    };
    const found = came('qr.put_order', { path: {}, query: {}, headers: {}, body });
    expect(found).toContain('body.external_reference');
    expect(found).toContain('body.items[].total_amount');
    for (const field of ['body.sponsor.id', 'body.title']) expect(found).not.toContain(field);
    expect([came('qr.put_order', { body: { items: 'none' } }), came('qr.put_order', null), came(null, {})]).toEqual([
      [],
      [],
      [],
    ]);
  });

  it('translate a request, headers first', () => {
    const headers = { 'x-ttl-store-preference': '600', 'x-strange': '1' };
    const { value, fired, losses } = tables.request(operation('point.create_intent'), { ...source, headers }, context);
    expect(value.body).toMatchObject({ expiration_time: 'PT600S', transactions: { payments: [{ amount: '15.00' }] } });
    expect(fired[0]).toMatch(/^point\.headers#/);
    expect(fired.some((id) => id.startsWith('point.create.request#'))).toBe(true);
    expect(losses).toEqual([]);
  });

  it('refuse what the other side would refuse, and name what is to blame', () => {
    const create = (change: object, more: object = {}) =>
      codeOf(() => tables.request(operation('point.create_intent'), { ...source, ...change }, { ...context, ...more }));
    expect(create({ body: {} })).toMatchObject({ error: 'missing_property', detail: 'amount' });
    expect(create({ body: { amount: 100_000_000_000_000 } })).toMatchObject({
      error: 'invalid_property',
      detail: 'amount',
    });
    expect(create({}, { reference: 'not one' })).toMatchObject({
      error: 'internal',
      detail: expect.stringContaining('point.create.request: body.external_reference'),
      row: expect.stringMatching(/^point\.create\.request#/),
    });
    const typeless = assemble({
      ...tables.documents,
      tables: tables.documents.tables.map((one) => ({ ...one, rows: one.rows.filter(({ to }) => to !== 'body.type') })),
    });
    expect(codeOf(() => typeless.request(operation('point.create_intent'), source, context))).toEqual({
      error: 'internal',
      detail: 'point.create.request: body.type',
    });
  });

  it('have no translation for what they do not name', () => {
    const none = { ...operation('point.create_intent'), request: null, answer: 'nobody' };
    const says = (name: unknown) => `bad_tables: There is no table '${name}' for this; the operation is not translated`;
    expect(codeOf(() => tables.request(none, source, context))).toBe(says(null));
    expect(codeOf(() => tables.answer(none, source, context))).toBe(says('nobody'));
    const left = tables.documents.tables.filter(({ role }) => role !== 'notice');
    expect(codeOf(() => assemble({ ...tables.documents, tables: left }))).toBe(says('notice'));
  });

  it('answer from nothing as from an empty source', () => {
    const answer = (from: unknown) =>
      tables.answer(operation('point.cancel_intent'), from, { intent_id: 'i' }).value.body;
    expect([answer(undefined), answer(null), answer({})]).toEqual([{ id: 'i' }, { id: 'i' }, { id: 'i' }]);
  });

  it('know their sites, and what stands for any other', () => {
    expect([tables.site('MLC').exponent, tables.site('MLA').exponent]).toEqual([0, 2]);
    const other = { currency: 'XXX', exponent: 2 };
    expect([tables.site('MXX'), tables.site(null)]).toEqual([other, other]);
    const siteless = assemble({ ...tables.documents, sites: [] });
    expect([siteless.site(null), siteless.site('MLC')]).toEqual([other, other]);
  });

  const wrong = (property: string) => ({ errors: [{ code: 'property_value', details: [`${property}: wrong`] }] });

  it.each<[family: 'point' | 'qr', call: 'create' | 'terminals_setup', property: string, called: string]>([
    ['point', 'create', 'transactions.payments[0].amount', 'amount'],
    ['point', 'create', 'terminal_id', 'device_id'],
    ['point', 'create', 'nowhere', 'nowhere'],
    ['point', 'create', 'type', 'type'],
    ['point', 'create', 'expiration_time', 'x-ttl-store-preference'],
    ['point', 'create', 'external_reference', 'additional_info.external_reference'],
    ['point', 'terminals_setup', 'terminals[0].id', 'device_id'],
    ['point', 'terminals_setup', 'terminal_id', 'terminal_id'],
    ['qr', 'create', 'external_code', 'sku_number'],
    ['qr', 'create', 'config.qr.mode', 'mode'],
    ['qr', 'create', 'amount', 'amount'],
    ['qr', 'create', 'cash_outs[0].amount', 'cash_out.amount'],
  ])('call a property as the till of %s does: on %s %s is %s', (family, call, property, called) => {
    expect(tables.error(family, call, 400, wrong(property), context).detail).toBe(called);
  });

  it('call a property as the first operation of the call does, and as upstream does without any', () => {
    const error = 'invalid_property';
    const refund = [{ status: 400, code: 'property_value', error, with: 'property_name', why }];
    const errors = tables.documents.errors.map((one) => ({ ...one, calls: { ...one.calls, refund } }));
    const naming = assemble({ ...tables.documents, errors });
    const amount = wrong('transactions[0].amount');
    expect(naming.error('payments', 'refund', 400, amount, context).detail).toBe('amount');
    const nameless = assemble({ ...tables.documents, operations: [] });
    expect(nameless.error('point', 'create', 400, wrong('terminal_id'), context).detail).toBe('terminal_id');
  });

  it('are the same when they are assembled again, whatever is asked of them', () => {
    const order = {
      type: 'point',
      status: 'processed',
      transactions: { payments: [{ id: 'PAY01', amount: '15.00', status: 'processed', reference_id: '7001' }] },
    };
    const sale = {
      intent_id: 'i',
      device_id: 'T1',
      state: 'FINISHED',
      state_at: 1_767_225_600_000,
      amount_minor: 1500,
    };
    const known = { ...context, ...sale, caller_id: 7, created_at: 1_767_225_600_000, payment_state: 'approved' };
    const payment_order = { type: 'mercadopago', id: '1' };
    const payment = {
      currency: 'ARS',
      merchant_id: 7,
      payment_id: 7001,
      client_reference: 'r',
      refunds: [],
      payment_order,
    };
    const headers = { 'x-platform-id': 'p', 'x-corporation-id': 'c' };
    const details = ['type: wrong', 'terminal_id: wrong', 'terminals[0].id: wrong', 'equal to 15.00'];
    const asked = (set: LoadedTables): unknown[] => [
      ['MLA', 'MLB', 'MXX'].map((site) =>
        set.request(operation('point.create_intent'), { ...source, headers }, { ...context, site }),
      ),
      set.request(
        operation('point.get_intent'),
        { ...source, path: { intent_id: INTENT } },
        { ...context, order_id: ORDER },
      ),
      ['get_intent', 'last_status', 'cancel_intent'].map((name) =>
        set.answer(operation(`point.${name}`), order, known),
      ),
      [set.notice(order, known), set.payment(order, { ...known, ...payment }), set.collection({ id: 7001 }, known)],
      [set.describe(['point.headers#1']), set.isProxied('PATCH', '/point/integration-api/integrator'), set.operations],
      ['MLC', 'MLA', 'MXX', null].map((site) => set.site(site)),
      linkFamilies.flatMap((family) =>
        ['created', 'processed', 'failed', 'action_required', 'nowhere'].flatMap((status) =>
          ['partially_refunded', 'other'].flatMap((status_detail) =>
            (['error', 'finished'] as const).map((declined) => set.state(family, { status, status_detail }, declined)),
          ),
        ),
      ),
      (['create', 'terminals_setup', 'cancel'] as const).flatMap((call) =>
        [400, 401, 404, 500].flatMap((status) =>
          details.map((detail) =>
            set.error('point', call, status, { errors: [{ code: 'property_value', details: [detail] }] }, context),
          ),
        ),
      ),
      set.fields(operation('point.create_intent'), 'MLA'),
      [set.facts('point.create.request', 'body.amount'), set.lossOf('point.headers', 'x-corporation-id')],
      [set.row('point.create.request#8'), set.limitations, set.revision],
      set.compare(operation('point.list_devices'), { devices: [] }, { devices: [{ id: 1 }] }),
    ];
    const again = assemble(tables.documents);
    expect(asked(again)).toEqual(asked(tables));
    const frozen = Object.freeze({ ...known });
    const once = again.answer(operation('point.get_intent'), order, frozen);
    expect(again.answer(operation('point.get_intent'), order, frozen)).toBe(once);
  });

  it('without rows of one’s own are those of the files, for every merchant', () => {
    const alone = assemble(tables.documents);
    expect([alone.laid, alone.with_own, alone.of('700100200') === alone]).toEqual([[], [], true]);
    expect([alone.revision, alone.shipped_revision]).toEqual([tables.revision, tables.revision]);
  });

  it('name every row', () => {
    const ids = rowIds(tables);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('qr.create.request#12.5');
    expect(ids).toContain('point.errors#create.1');
    expect(ids).toContain('point.errors#any.1');
    expect(ids).toContain('point.states#1');
    expect(tables.row('nowhere#1')).toBeNull();
    expect(tables.row('point.create.request#8')?.path).toBe('body.amount');
  });
});

describe('a row in words', () => {
  const rows = [
    { const: 'x', to: 'body.a', why: 'The first reason of all.' },
    { copy: 'body.b', reads: ['body.c', 'body.d'], to: 'body.b', with: 'filled', why },
    { copy: 'body.o', to: 'body.o', otherwise: 7, why },
    { context: 'site', reads: 'body.s', to: 'body.e', why },
    { drop: 'body.g', policy: 'note', why },
    { drop: 'body.h', reads: 'body.i', with: 'voucher', why },
    { each: 'body.l', to: 'body.m', why, rows: [{ copy: 'n', to: 'n', why }] },
  ];
  const small = { tables: [{ file: 'x.yaml', ...table(rows) }] };
  const id = (row: number | string) => `point.mode.request#${row}`;
  const parts = { reads: null, policy: null, target: null, converter: null, otherwise: null };

  it.each<[number | string, string, object]>([
    [1, 'constant "x" → body.a', { verb: 'const', source: '"x"', target: 'body.a' }],
    [
      2,
      'body.b (reads body.c, body.d) → body.b by filled',
      { verb: 'copy', source: 'body.b', reads: 'body.c, body.d', target: 'body.b', converter: 'filled' },
    ],
    [3, 'body.o → body.o, otherwise 7', { verb: 'copy', source: 'body.o', target: 'body.o', otherwise: '7' }],
    [4, 'context site (reads body.s) → body.e', { verb: 'context', source: 'site', reads: 'body.s', target: 'body.e' }],
    [5, 'drop body.g, note → –', { verb: 'drop', source: 'body.g', policy: 'note' }],
    [6, 'drop body.h → – by voucher', { verb: 'drop', source: 'body.h', converter: 'voucher' }],
    [7, 'each body.l → body.m', { verb: 'each', source: 'body.l', target: 'body.m' }],
    ['7.1', 'n → n', { verb: 'copy', source: 'n', target: 'n' }],
  ])('%s is %s', (row, says, own) => {
    const reason = row === 1 ? 'The first reason of all.' : why;
    expect(describeRows(small, [id(row)])).toEqual([{ row: id(row), says, why: reason, parts: { ...parts, ...own } }]);
  });

  it('comes in the order of the ids, without those of other tables', () => {
    const found = describeRows(small, [id(5), 'elsewhere#1', id(1)]);
    expect(found.map(({ row }) => row)).toEqual([id(5), id(1)]);
    expect(tables.describe(['point.create.request#8'])[0]?.says).toBe(
      'body.amount → body.transactions.payments[0].amount by amount_text',
    );
  });

  it('is written with code in Markdown', () => {
    const [, reading] = rowsOf('t', small.tables[0]?.rows ?? []);
    const written = reading === undefined ? [] : [sourceText(reading), targetText(reading)];
    expect(written).toEqual(['`body.b` (reads `body.c`, `body.d`)', '`body.b` by `filled`']);
  });

  it('of states and errors says what they are for, and what the till sees', () => {
    const states = statesTable.parse({
      table: 'point.states',
      family: 'point',
      role: 'states',
      source: 'a test',
      rows: [
        { status: 'failed', shows: { error: 'ERROR', finished: 'FINISHED' }, rank: 1, final: true, notices: [], why },
        { status: 'processed', detail: 'accredited', shows: 'FINISHED', rank: 1, final: true, notices: [], why },
      ],
      never: [],
    });
    const errors = errorsTable.parse({
      table: 'point.errors',
      family: 'point',
      role: 'errors',
      source: 'a test',
      calls: {
        create: [
          { status: 400, code: 'a', says: 'blue', property: 'amount', error: 'forbidden', why },
          { status: 412, code: '', error: 'unauthorized', why },
        ],
      },
      any: [{ error: 'internal', why }],
    });
    const all = {
      ...small,
      states: [{ file: 'x.yaml', ...states }],
      errors: [{ file: 'x.yaml', ...errors }],
    };
    const ids = ['point.errors#any.1', 'point.states#1', id(2), 'point.states#2', 'nowhere#1'];
    const found = describeFired(all, [...ids, 'point.errors#create.1', 'point.errors#create.2']);
    const errorOf = (name: string) => {
      const entry = legacyError('point', name);
      return `${entry?.status} ${entry?.error} ${entry?.message}`;
    };
    expect(found.map(({ row, says }) => `${row} ${says}`)).toEqual([
      `point.errors#any.1 any other error → ${errorOf('internal')}`,
      'point.states#1 order status failed → ERROR / FINISHED',
      `${id(2)} body.b (reads body.c, body.d) → body.b by filled`,
      'point.states#2 order status processed with accredited → FINISHED',
      `point.errors#create.1 400 a saying “blue” of amount → ${errorOf('forbidden')}`,
      `point.errors#create.2 412 → ${errorOf('unauthorized')}`,
    ]);
    expect(new Set(found.map((one) => one.why))).toEqual(new Set([why]));
    const code = found.map(({ said }) => said.code);
    expect(code).toEqual(['rule_error', 'rule_state', 'rule', 'rule_state', 'rule_error', 'rule_error']);
    expect(found[2]?.said.facts).toMatchObject({ verb: 'copy', source: 'body.b', target: 'body.b' });
  });
});

describe('errors', () => {
  const row = (change: object) => ({ error: 'invalid_property', why, ...change });
  const errors = errorsTable.parse({
    table: 'point.errors',
    family: 'point',
    role: 'errors',
    source: 'a test',
    calls: {
      create: [
        row({ status: 400, code: 'a', says: 'blue', error: 'bad_json' }),
        row({ status: 400, code: 'a', property: 'amount', error: 'bad_request' }),
        row({ status: 400, code: 'a', with: 'limit' }),
        row({ status: 412, code: '', error: 'forbidden' }),
      ],
    },
    any: [
      row({ status: 401, error: 'unauthorized' }),
      row({ status: '4xx', error: 'bad_request' }),
      row({ status: '5xx', error: 'bad_gateway' }),
      row({ error: 'internal' }),
    ],
  });
  const finder = () => errorFinder([errors], (_family, _call, property) => (property === 'total' ? 'amount' : null));
  const found = (status: number, body: unknown, call = 'create') => {
    const { error, detail, default: isDefault, row: id } = finder()('point', call as 'create', status, body, {});
    return [error, detail, isDefault, id.split('#')[1]];
  };
  const told = (code: string, message = '', details: string[] = []) => ({ errors: [{ code, message, details }] });

  it.each<[string, number, unknown, unknown[]]>([
    ['what it says', 400, told('a', 'too blue'), ['bad_json', null, false, 'create.1']],
    ['in a detail', 400, told('a', '', ['x', 'is blue']), ['bad_json', null, false, 'create.1']],
    ['its property', 400, told('a', '', ['total: wrong']), ['bad_request', null, false, 'create.2']],
    ['its property, as it is', 400, told('a', '', ['amount: wrong']), ['bad_request', null, false, 'create.2']],
    ['no property at all', 400, told('a', 'Wrong!'), ['bad_request', null, false, 'create.2']],
    [
      'another property, and a limit',
      400,
      told('a', '', ['other: equal to 15.00']),
      ['invalid_property', '15', false, 'create.3'],
    ],
    ['another property alone', 400, told('a', '', ['other: wrong']), ['bad_request', null, true, 'any.2']],
    ['an empty code', 412, told('whatever'), ['forbidden', null, false, 'create.4']],
    ['a flat body', 400, { code: 'a', message: 'blue' }, ['bad_json', null, false, 'create.1']],
    ['its status alone', 401, null, ['unauthorized', null, false, 'any.1']],
    ['a status of its kind', 499, 'text', ['bad_request', null, true, 'any.2']],
    ['400 of its kind', 400, {}, ['bad_request', null, true, 'any.2']],
    ['another kind', 500, [], ['bad_gateway', null, true, 'any.3']],
    ['none of them', 399, {}, ['internal', null, true, 'any.4']],
  ])('are found by %s', (_what, status, body, expected) => {
    expect(found(status, body)).toEqual(expected);
  });

  it('of a call without rows are those of any call', () => {
    expect(found(401, null, 'cancel')).toEqual(['unauthorized', null, false, 'any.1']);
  });

  it('without a table are a defect', () => {
    const says = 'bad_tables: The errors table of qr has no default row for create';
    expect(codeOf(() => finder()('qr', 'create', 400, {}, {}))).toBe(says);
  });

  it('are read from either envelope, or from none', () => {
    expect(readError(told('a', 'b', ['c']))).toEqual({ code: 'a', lines: expect.arrayContaining(['b', 'c']) });
    expect(readError({ code: 'a', message: 'b' })).toMatchObject({ code: 'a', lines: ['b'] });
    for (const errors of [[], [{ message: 'b' }], [null]])
      expect(readError({ errors, code: 'a' }), JSON.stringify(errors)).toMatchObject({ code: 'a' });
    for (const errors of [[], [{ code: 'a' }], [{ message: null, details: null }], [{ details: [] }], [null]])
      expect(readError({ errors, message: 'b', details: ['c'] }).lines, JSON.stringify(errors)).toEqual(['c', 'b']);
    const general = { message: 'no `body`', details: ['no `body`'] }; // says less than the error itself
    for (const error of [{ message: 'b' }, { details: ['b'] }, { message: 'b', details: null }])
      expect(readError({ errors: [error], ...general }).lines, JSON.stringify(error)).toEqual(['b']);
    for (const none of [null, 'text', [], { errors: [] }, { errors: 5 }, { code: 5 }])
      expect(readError(none).code).toBe('');
  });

  it('want a detail where their words have a place for it', () => {
    expect([
      wantsDetail('point', 'invalid_property'),
      wantsDetail('point', 'bad_json'),
      wantsDetail('point', 'nobody'),
    ]).toEqual([true, false, false]);
  });
});

describe('a comparison', () => {
  const written = tables.documents.operations.find(({ name }) => name === 'point.list_devices') as WrittenOperation; // it is one
  const rows = [
    {
      each: 'data.terminals',
      to: 'body.devices',
      match: 'unordered',
      by: 'id',
      why,
      rows: [
        { copy: 'id', to: 'id', why },
        { copy: 'pos_id', to: 'pos_id', match: 'numeric', why },
        { copy: 'store_id', to: 'store_id', match: 'presence', why },
      ],
    },
    { drop: 'data.x', policy: 'silent', why },
    { copy: 'paging.total', to: 'body.total', match: 'numeric', why },
    { copy: 'paging.offset', to: 'plain', why },
    { copy: 'paging.limit', to: 'body.paging.total', match: 'volatile', why },
    { each: 'data.terminals', to: 'body.list', why, rows: [{ copy: 'id', to: 'id', why }] },
  ];
  const answer = {
    file: 'x.yaml',
    ...table(rows, { table: 'point.devices.answer', from: 'listTerminalsAnswer', to: 'listDevicesAnswer' }),
  };
  const found = (legacy: unknown, orders: unknown) =>
    compareAnswers({ operations: [written], tables: [answer] })(operation('point.list_devices'), legacy, orders);
  const compared = (legacy: unknown, orders: unknown) =>
    found(legacy, orders).map(({ path, difference }) => `${path} ${difference}`);
  const devices = (...list: object[]) => ({ devices: list });

  it.each<[string, unknown, unknown, string[]]>([
    ['two empty lists', { devices: [] }, { devices: [] }, ['devices[] null']],
    ['two equal lists', devices({ id: 1 }), devices({ id: 1 }), ['devices[].id null']],
    ['two texts for lists', { devices: 'x' }, { devices: 'y' }, ['devices value']],
    ['a text and nothing', { more: 'x' }, {}, ['more missing']],
    ['lists that no row walks', { more: [1, [2, 3]] }, { more: [1, [2, 3]] }, ['more null']],
    ['other lists', { more: [1, 2] }, { more: [12] }, ['more value']],
    ['an object and a list', { more: {} }, { more: [] }, ['more type']],
    ['null and an object', { more: null }, { more: {} }, ['more type']],
    ['zeros behind and none', { total: '1.500' }, { total: '1.5' }, ['total null']],
    ['zeros inside and none', { total: '1.505' }, { total: '1.55' }, ['total value']],
    ['zeros in front and none', { total: '0010' }, { total: 10 }, ['total null']],
    ['zeros inside of it and none', { total: '1005' }, { total: '15' }, ['total value']],
    ['other decimals', { total: 1.5 }, { total: 1.7 }, ['total value']],
    ['an amount that is none and one', { total: 'x' }, { total: 1 }, ['total value']],
    ['an amount and one that is none', { total: 1 }, { total: 'x' }, ['total value']],
    ['an empty list and one', { devices: [] }, { devices: [{ id: 1 }] }, ['devices[] extra']],
    ['a list and a text', { devices: [] }, { devices: 'x' }, ['devices type']],
    ['null and a text', { more: null }, { more: 'x' }, ['more type']],
    ['null and null', { more: null }, { more: null }, ['more null']],
    ['a list and a number', { more: [] }, { more: 5 }, ['more type']],
    ['numbers of any length', { more: new LosslessNumber('1.50') }, { more: 1.5 }, ['more null']],
    ['zeros before and behind', { more: new LosslessNumber('10.0') }, { more: 10 }, ['more null']],
    ['a number and its text', { more: 1 }, { more: '1' }, ['more type']],
    ['objects in another order', { more: { a: 1, b: [2] } }, { more: { b: [2], a: 1 } }, ['more null']],
    ['other objects', { more: { a: 1 } }, { more: { a: 2 } }, ['more value']],
    ['what JSON has not', { more: () => 1 }, { more: () => 2 }, ['more null']],
    ['texts', { more: 'a' }, { more: 'b' }, ['more value']],
    ['amounts in quotes', { total: '01.50' }, { total: 1.5 }, ['total null']],
    ['amounts that are none', { total: 'x' }, { total: 'x' }, ['total value']],
    ['nothing and nothing', undefined, undefined, []],
    ['nothing and something', undefined, {}, [' extra']],
    ['a field of the root', { plain: 1 }, { plain: 2 }, ['plain value']],
  ])('of %s', (_what, legacy, orders, expected) => {
    expect(compared(legacy, orders)).toEqual(expected);
  });

  it.each<[string, unknown, unknown, string[]]>([
    ['unordered: the same in another order', devices({ id: 'A' }, { id: 'B' }), devices({ id: 'B' }, { id: 'A' }), []],
    ['unordered: one less', devices({ id: 'A' }, { id: 'B' }), devices({ id: 'A' }), ['devices[] missing']],
    ['unordered: one more', devices({ id: 'A' }), devices({ id: 'A' }, { id: 'B' }), ['devices[] extra']],
    ['unordered: an id as text and as number', devices({ id: '1' }), devices({ id: 1 }), ['devices[] missing']],
    ['numeric: in quotes', devices({ id: 'A', pos_id: 7 }), devices({ id: 'A', pos_id: '7.0' }), []],
    ['numeric: another', devices({ id: 'A', pos_id: 7 }), devices({ id: 'A', pos_id: 8 }), ['devices[].pos_id value']],
    ['numeric: none', devices({ id: 'A', pos_id: 'x' }), devices({ id: 'A', pos_id: 'x' }), ['devices[].pos_id value']],
    ['presence: any two', devices({ id: 'A', store_id: '1' }), devices({ id: 'A', store_id: 2 }), []],
    ['presence: none and null', devices({ id: 'A' }), devices({ id: 'A', store_id: null }), []],
    [
      'presence: one',
      devices({ id: 'A', store_id: '1' }),
      devices({ id: 'A', store_id: null }),
      ['devices[].store_id missing'],
    ],
    ['volatile: any two', { paging: { total: 1 } }, { paging: { total: 9 } }, []],
    ['volatile: one', { paging: { total: 1 } }, { paging: {} }, []],
    ['equal: absent and there', {}, { name: 'A' }, ['name extra']],
    ['equal: null and absent', { name: null }, {}, []],
    [
      'equal: lists in another order',
      { list: [{ id: 'A' }, { id: 'B' }] },
      { list: [{ id: 'B' }, { id: 'A' }] },
      ['list[].id value'],
    ],
    ['equal: lists of other lengths', { list: [{ id: 'A' }] }, { list: [] }, ['list length']],
    ['equal: an object and a list', { paging: {} }, { paging: [] }, ['paging type']],
  ])('%s', (_what, legacy, orders, expected) => {
    expect(compared(legacy, orders).filter((line) => !line.endsWith(' null'))).toEqual(expected);
  });

  it('tells two hundred fields apart, and counts the rest as one', () => {
    const fields = (value: number) => Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, value]));
    const all = compared(fields(1), fields(2));
    expect([all.length, all.at(-1)]).toEqual([201, '(others) value']);
  });

  it('keeps the first difference of a path', () => {
    const legacy = {
      devices: [
        { id: 1, x: 1 },
        { id: 2, x: 1 },
        { id: 3, x: 1 },
      ],
    };
    const orders = {
      devices: [
        { id: 1, x: 1 },
        { id: 2, x: 2 },
        { id: 3, x: 'a' },
      ],
    };
    const all = found(legacy, orders);
    const same = { path: 'devices[].id', difference: null };
    expect(all).toStrictEqual([same, { path: 'devices[].x', difference: 'value', legacy: 1, orders: 2 }]);
  });

  it('is empty where nothing is compared', () => {
    const nothing = compareAnswers({ operations: [written], tables: [] });
    expect(nothing(operation('point.list_devices'), { a: 1 }, { a: 2 })).toEqual([]);
    const compare = compareAnswers({ operations: [{ ...written, double_read: false }], tables: [answer] });
    expect(compare(operation('point.list_devices'), { a: 1 }, { a: 2 }), 'not asked for').toEqual([]);
    expect(compare({ ...operation('point.list_devices'), answer: null }, { a: 1 }, { a: 2 })).toEqual([]);
    expect(tables.compare(operation('point.get_intent'), { a: 1 }, {}), 'read on one side alone').toEqual([]);
  });
});

describe('the fields of a request', () => {
  const named = (name: string, site: string | null) =>
    fieldFinder(tables.documents)(operation(name), site).map(({ field }) => field);

  it('are those of its table and its headers, once for each row', () => {
    const fields = fieldFinder(tables.documents);
    const all = named('point.create_intent', null);
    expect(all).toContain('body.amount');
    expect(all).toContain('headers.x-ttl-store-preference');
    expect(all).toContain('path.device_id');
    expect(fields(operation('point.create_intent'), null)).toBe(fields(operation('point.create_intent'), null));
    expect(named('point.last_status', null).filter((field) => field.startsWith('headers'))).toEqual([]);
    expect(fields({ ...operation('point.create_intent'), name: 'none', request: null }, null)).toEqual([]);
    const headless = fieldFinder({
      ...tables.documents,
      tables: tables.documents.tables.filter(({ role }) => role !== 'headers'),
    });
    const left = headless(operation('point.create_intent'), null).map(({ table: from }) => from);
    expect(new Set(left)).toEqual(new Set(['point.create.request']));
  });

  it('follow the site; one that nobody knows is another', () => {
    const rowsAt = (site: string | null) =>
      fieldFinder(tables.documents)(operation('point.create_intent'), site).map(({ row }) => row);
    expect(rowsAt('MXX')).toEqual(rowsAt('other'));
    expect(rowsAt('MLA')).not.toEqual(rowsAt('MLM'));
    expect(rowsAt(null).length).toBeGreaterThanOrEqual(rowsAt('MLA').length);
  });

  it('of a path are those that the path has', () => {
    expect(named('qr.create_code', null)).toContain('path.external_pos_id');
    expect(named('qr_v1.create_by_number', null)).not.toContain('path.external_pos_id');
  });

  const own = [
    { copy: 'body.a', to: 'body.a', why },
    { copy: 'body.o', to: 'body.o', otherwise: 1, why },
    { drop: 'body.quiet', with: 'voucher', why },
    { drop: 'body.refused', policy: 'refuse', why },
    { drop: 'body.noted', policy: 'note', why },
    { context: 'site', reads: ['body.beside', 'body.a', 'path.device_id', 'path.nowhere'], to: 'body.c', why },
    { context: 'voucher', reads: 'body.judged', to: 'body.d', with: 'filled', why },
    { const: 1, to: 'body.k', why },
    { copy: 'body.there', to: 'body.t', sites: ['MLA'], why },
    { copy: 'body.lost', to: 'body.l', sites: ['MLA'], elsewhere: 'note', why },
  ];
  const small: ReturnType<typeof fieldFinder> = (...call) =>
    fieldFinder({ sites: tables.documents.sites, tables: [{ file: 'x.yaml', ...table(own) }] })(...call);
  const ask = { ...operation('point.change_mode'), request: 'point.mode.request' };

  it('prove, are quiet, or refuse', () => {
    const facts = small(ask, 'MLA').map(
      ({ field, proves, quiet, refuses }) => `${field} ${proves} ${quiet} ${refuses}`,
    );
    expect(facts).toEqual([
      'body.a true false true',
      'body.o false false true',
      'body.quiet true true true',
      'body.refused true false true',
      'body.noted true false false',
      'body.there true false true',
      'body.lost true false true',
      'body.beside false false false',
      'path.device_id true false false',
      'body.judged false false true',
    ]);
    expect(small(ask, 'MLB').map(({ field }) => field)).not.toContain('body.there');
    expect(small(ask, 'MLB').map(({ field }) => field)).toContain('body.lost');
  });

  it.each<[own: object, beside: object, rows: string[]]>([
    [{}, {}, ['1']],
    [{ sites: ['MLA'] }, {}, ['1', '2']],
    [{ sites: ['MLA'], elsewhere: 'note' }, {}, ['1']],
    [{ sites: ['MLA', 'MLB'] }, { sites: ['MLA'] }, ['1']],
    [{ sites: ['MLA'] }, { sites: ['MLA', 'MLB'] }, ['1', '2']],
    [{}, { sites: ['MLA'] }, ['1']],
  ])('taken by a row with %j, and read beside another field by one with %j, are of rows %j', (taken, read, rows) => {
    const both = [
      { copy: 'body.a', to: 'body.a', why, ...taken },
      { context: 'site', reads: 'body.a', to: 'body.c', why, ...read },
    ];
    const finder = fieldFinder({ sites: tables.documents.sites, tables: [{ file: 'x.yaml', ...table(both) }] });
    expect(finder(ask, null).map(({ row }) => row.split('#')[1])).toEqual(rows);
  });

  it.each<[unknown, Path, boolean]>([
    [{ a: { b: 0 } }, ['a', 'b'], true],
    [{ a: { b: null } }, ['a', 'b'], false],
    [{ a: {} }, ['a', 'b'], false],
    [{ a: 'text' }, ['a', 'length'], false],
    [null, ['a'], false],
    [{ a: [{}, { b: 1 }] }, ['a', '[]', 'b'], true],
    [{ a: [{}] }, ['a', '[]', 'b'], false],
    [{ a: {} }, ['a', '[]'], false],
    [undefined, [], false],
  ])('%j has %j: %s', (source, path, expected) => {
    expect(hasValue(source, path)).toBe(expected);
  });
});

describe('the facts of a field', () => {
  const rows = [
    { copy: 'body.a', to: 'body.a', why: 'The first reason of all.' },
    { drop: 'body.a', policy: 'note', sites: ['MLB'], advice: 'Leave it out there.', why: 'The second reason of all.' },
    { context: 'site', reads: 'body.b', to: 'body.b', weight: 'money', why: 'The third reason of all.' },
    { context: 'voucher', to: 'body.c', why: 'The fourth reason of all.' },
    { drop: 'body.d', policy: 'note', why: 'The fifth reason of all.' },
    { copy: 'body.d', to: 'body.d', with: 'ticket_choice', why: 'The sixth reason of all.' },
    { copy: 'body.e', to: 'body.e', with: 'ticket_choice', why: 'The seventh reason of all.' },
    { const: 1, to: 'body.k', why: 'The eighth reason of all.' },
    { copy: 'body.list[0].f', to: 'body.f', why: 'The ninth reason of all.' },
    { copy: 'body.g', to: 'body.g', why: 'The tenth reason of all.' },
    { drop: 'body.g', policy: 'note', why: 'The eleventh reason of all.' },
  ];
  const finder = () => factsFinder([{ file: 'x.yaml', ...table(rows) } as never]);
  const facts = (path: string, why?: string) => {
    const { row, weight } = finder().facts('point.mode.request', path, why);
    return `${row} ${weight}`;
  };

  it('are those of the row that lost it, or that advises', () => {
    expect(facts('body.a', 'The second reason of all.')).toBe('point.mode.request#2 other');
    expect(facts('body.a')).toBe('point.mode.request#2 other');
    expect(facts('body.b')).toBe('point.mode.request#3 money');
    expect(finder().row('point.mode.request#3')?.path).toBe('body.b');
    expect(finder().row('point.mode.request#4')?.path).toBe('voucher');
    expect(finder().row('point.mode.request#99')).toBeNull();
    expect(finder().facts('point.mode.request', 'body.items[12].tip')).toEqual({
      row: null,
      path: 'body.items[].tip',
      weight: 'money',
      advice: expect.stringContaining('Leave this field out'),
      why: 'No row has the field.',
    });
    expect(facts('body.list[3].f')).toBe('point.mode.request#9 other');
    expect([facts('body.g'), facts('body.g', 'The tenth reason of all.')]).toEqual([
      'point.mode.request#10 other',
      'point.mode.request#10 other',
    ]);
    expect(facts('body.g', 'The eleventh reason of all.')).toBe('point.mode.request#11 other');
    expect(facts(''), 'a constant has no source').toBe('null other');
    expect(facts('body.discount_rate')).toBe('null money');
    expect(facts('body.my_tips')).toBe('null money');
    expect(facts('body.tips.payer')).toBe('null identity');
    expect(facts('body.tipsy')).toBe('null other');
  });

  it('have the reason of its loss where one row alone loses it', () => {
    const loss = (path: string) => finder().lossOf('point.mode.request', path);
    expect(loss('body.a')).toBe('The second reason of all.');
    expect(['body.b', 'body.d', 'body.e', 'body.tip'].map(loss)).toEqual([null, null, null, null]);
  });
});
