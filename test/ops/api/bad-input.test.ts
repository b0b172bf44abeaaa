/** Refusals of wrong input have a code in every sentence, down to each field, so no page shows them in English only. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PuenteError } from '../../../src/error.ts';
import { encoded, say } from '../../../src/locales/message.ts';
import { loadWords } from '../../../src/locales/words.ts';
import { opsRoutes } from '../../../src/ops/api/api.ts';
import { SOLE_OWNER } from '../../../src/ops/api/person.ts';
import { type OpsParts, parsed, runRow } from '../../../src/ops/api/route.ts';
import { html, saysAll, withCode } from '../../../src/ops/html.ts';

const words = loadWords();

/** Values that few fields accept, or none. */
const WRONG: readonly unknown[] = [
  ...[null, undefined, '', 'x', '7'.repeat(40), 'x'.repeat(6_000), -1, 0, 1.5, 0.001, 1e9, 1e300, Number.NaN, true],
  ...[{}, [], [''], [1], { nothing: 1 }, { one: 1, two: 2 }, Array.from({ length: 20_000 }, () => 'x')],
];

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

function wrongFor({ properties = {}, items, anyOf = [] }: JsonSchema): unknown[] {
  return [
    ...WRONG,
    ...Object.entries(properties).flatMap(([name, inner]) => wrongFor(inner).map((value) => ({ [name]: value }))),
    ...(items === undefined ? [] : wrongFor(items).map((value) => [value])),
    ...anyOf.flatMap(wrongFor),
  ];
}

/** Whole bodies and queries that a rule over several fields refuses. */
const ODD_TOGETHER: Readonly<Record<string, unknown>> = {
  'GET /api/audit/verify': { expect_sequence: '1' },
  'POST /api/bulk': { target: { stage: 'shadow' }, reason: 'a test moves it' },
  'PUT /api/merchants/:id': {
    reason: 'a test sets it',
    revision: 0,
    deprecation: { deprecated_at: 2, sunset_at: 1 },
  },
};

function refusalOf(schema: z.ZodType, value: unknown): PuenteError | null {
  try {
    parsed(schema, value);
    return null;
  } catch (error) {
    if (error instanceof PuenteError) return error;
    throw error;
  }
}

const asked = opsRoutes.flatMap(({ method, path, body, query }) =>
  [body, query].flatMap((schema) => (schema === undefined ? [] : [{ row: `${method} ${path}`, schema }])),
);

describe('what is wrong with what was sent', () => {
  it.each(asked)('to $row is said in each language, and the same in English', async ({ row, schema }) => {
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema; // as the JSON Schema form
    const refusals = [...wrongFor(json), ODD_TOGETHER[row]].flatMap((value) => refusalOf(schema, value) ?? []);
    expect(refusals.length).toBeGreaterThan(5);
    const distinct = new Map(refusals.map((refusal) => [refusal.message, refusal]));
    for (const { message, said } of distinct.values()) {
      expect(String(html`${saysAll(words.en, message, said)}`)).toBe(String(html`${withCode(message)}`));
      for (const own of [words.es, words.pt]) {
        const text = String(html`${saysAll(own, message, said)}`);
        expect([message, text.includes('lang="en"'), text.length > 10]).toEqual([message, false, true]);
      }
    }
  });

  it('is told where, what it may be, and once', () => {
    const refused = (value: unknown): string | undefined =>
      refusalOf(z.strictObject({ of: z.array(z.strictObject({ stage: z.enum(['a', 'b']) })), n: z.int() }), value)
        ?.message;
    expect(refused({ of: [{ stage: 'c' }, { state: 'a' }] })).toBe(
      'of.0.stage: Invalid option: expected one of "a"|"b"; of.1.stage: Invalid option: expected one of "a"|"b"; of.1.state is not a known field; allowed is stage; n is missing; number is needed',
    );
    expect(refused([])).toBe('Invalid input: expected object, received array');
    expect(refused(undefined), 'nothing at all has no name').toBe('Invalid input: expected object, received undefined');
    expect(refusalOf(z.strictObject({}), { one: 1, two: 2 })?.message).toBe(
      'one, two are not known fields; no field is accepted here',
    );
  });

  it('is said without a word about lengths where a text is empty', () => {
    const { query = z.never() } = opsRoutes.find(({ path }) => path === '/api/trace') ?? {};
    const refusal = refusalOf(query, { id: '' });
    const told = [words.en, words.es, words.pt].map((own) =>
      String(html`${saysAll(own, refusal?.message ?? '', refusal?.said ?? [])}`),
    );
    expect(told).toEqual([
      'id: a text is needed, and this is empty',
      'id: se necesita un texto, y este está vacío.',
      'id: é preciso um texto, e este está vazio.',
    ]);
  });

  it('is said in the words of each language', async () => {
    const schema = z.strictObject({ share: z.number(encoded(say('input.share', {}))), id: z.string().max(1) });
    const refusal = refusalOf(schema, { id: 'no', shar: 5, other: 1 });
    const text = (own: (typeof words)['es']): string =>
      String(html`${saysAll(own, refusal?.message ?? '', refusal?.said ?? [])}`);
    expect(text(words.es)).toBe(
      'share: una porción es un porcentaje de 0 a 100. id: Demasiado grande: se esperaba que texto tuviera &lt;=1 caracteres. shar y other no son campos conocidos; se admite share e id.',
    );
    expect(text(words.pt)).toBe(
      'share: uma fração é uma porcentagem de 0 a 100. id: Demasiado grande: esperava que o texto tivesse &lt;= 1 caracteres. shar e other não são campos conhecidos; aceita-se share e id.',
    );
  });
});

describe('a window that ends before it begins', () => {
  const now = Date.parse('2026-02-01T00:00:00Z');
  const parts = { ports: { clock: { now: () => now } } } as OpsParts; // nothing else is read
  const namesOf = (schema: z.ZodType = z.object()): string[] =>
    Object.keys(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).properties ?? {});
  const windows = opsRoutes.filter(({ body, query }) => {
    const names = namesOf(body ?? query);
    return names.includes('since') && names.includes('until');
  });

  it.each(windows)('is refused by $method $path, which would list nothing', async (row) => {
    const asked = { since: '2026-02-01T00:00:00Z', until: '2026-02-01T00:00:00Z' };
    const body = row.body === undefined ? undefined : { ...asked, reason: 'a test asks' };
    const query = row.body === undefined ? asked : {};
    const call = { path: {}, query, body, person: SOLE_OWNER, signal: new AbortController().signal };
    await expect(runRow(row, parts, call)).rejects.toMatchObject({ said: [{ code: 'refusal.empty_window' }] });
  });

  it('is one that ten rows could be asked for', () => expect(windows.length).toBeGreaterThan(9));

  const begun = opsRoutes.filter(({ body, query }) => namesOf(body ?? query).includes('since'));

  it.each(begun)('is refused by $method $path where it begins in the future', async (row) => {
    const until = windows.includes(row) ? { until: '2027-03-01T00:00:00Z' } : {};
    const asked = { since: '2027-02-01T00:00:00Z', ...until };
    const { body, query } =
      row.body === undefined ? { query: asked } : { body: { ...asked, reason: 'a test asks' }, query: {} };
    const call = { path: {}, query, body, person: SOLE_OWNER, signal: new AbortController().signal };
    const facts = { since_at: '2027-02-01T00:00:00.000Z', now_at: '2026-02-01T00:00:00.000Z' };
    await expect(runRow(row, parts, call)).rejects.toMatchObject({ said: [{ code: 'refusal.future_window', facts }] });
  });

  it('is one of reconcile too', () =>
    expect(begun.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/api/reconcile', '/api/notices/receivers']),
    ));
});
