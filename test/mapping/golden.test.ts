/** The engine against the golden cases, and the proof that every row of every table fires in at least one of them. */
import { describe, expect, it } from 'vitest';
import { upstreamErrorCodes } from '../../src/contract/orders.ts';
import { rowIds } from '../../src/mapping/assemble.ts';
import { loadTables } from '../../src/mapping/load.ts';
import {
  errorBody,
  type GoldenError,
  type GoldenExchange,
  type GoldenState,
  golden,
  run,
  tablesDirectory,
} from './golden.ts';

const tables = loadTables(tablesDirectory);
const exchanges = ['create.yaml', 'requests.yaml', 'answers.yaml'].flatMap((file) => golden<GoldenExchange>(file));
const errors = golden<GoldenError>('errors.yaml');
const states = golden<GoldenState>('states.yaml');
const fired = new Set<string>();

describe('refusals', () => {
  it.each(exchanges.filter((one) => one.refusal))('$name', (one) => {
    const facts = run(tables, one);
    expect(facts).toMatchObject(one.refusal ?? {});
    expect('error' in facts).toBe(true);
    if ('row' in facts) fired.add(String(facts.row));
  });
});

describe('translations', () => {
  it.each(exchanges.filter((one) => !one.refusal))('$name', (one) => {
    const translated = run(tables, one);
    expect('value' in translated && JSON.stringify(translated.value)).toBe(JSON.stringify(one.value));
    expect('losses' in translated && (translated.losses as { path: string }[]).map((loss) => loss.path)).toEqual(
      one.losses ?? [],
    );
    for (const row of translated.fired as string[]) fired.add(row);
  });
});

describe('errors', () => {
  it.each(errors)('$call $status $code is $error', (one) => {
    const row = tables.error(one.call, one.status, errorBody(one), { exponent: 2 });
    expect(row).toMatchObject({ error: one.error, detail: one.detail ?? null, default: one.default ?? false });
    fired.add(row.row);
  });

  it('covers every documented code', () => {
    for (const [call, codes] of Object.entries(upstreamErrorCodes)) {
      for (const [status, code] of codes) {
        const found = errors.some((one) => one.call === call && one.status === status && (one.code ?? '') === code);
        expect(found, `${call} ${status} ${code}`).toBe(true);
      }
    }
  });

  it.each([null, undefined, 'text', [], { errors: [] }, { errors: ['x'] }, { errors: [{ code: 7, details: 'x' }] }])(
    'reads %j as an error without a code',
    (body) => {
      expect(tables.error('create', 400, body, {})).toMatchObject({ error: 'bad_request', default: true });
      expect(tables.error('terminals_setup', 412, body, {})).toMatchObject({ error: 'device_in_pos', default: false });
    },
  );

  it('writes a minimum without decimals where the currency has none, and gives way where it is not exact', () => {
    const body = { errors: [{ code: 'property_value', message: 'amount: Must be greater than or equal to 350' }] };
    expect(tables.error('create', 400, body, { exponent: 0 })).toMatchObject({
      error: 'amount_minimum',
      detail: '350',
    });
    expect(tables.error('create', 400, body, {})).toMatchObject({ error: 'invalid_property', detail: 'amount' });
  });
});

describe('states', () => {
  it.each(states)('$status is $intent ($declined)', ({ status, declined, ...expected }) => {
    const row = tables.state(status, declined ?? 'error');
    expect(row).toEqual({ known: true, ...expected, row: expect.stringMatching(/^point\.states#\d+$/) });
    fired.add(row.row);
  });
});

describe('coverage', () => {
  it('fires every row', () => {
    expect(rowIds(tables).filter((id) => !fired.has(id))).toEqual([]);
  });
});
