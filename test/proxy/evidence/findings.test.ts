/** The findings of one exchange: cells, losses, and the ledger, which adds up to what was executed and not mapped. */
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { fieldsThatCame } from '../../../src/mapping/assemble.ts';
import type { Exchange } from '../../../src/proxy/evidence/exchange.ts';
import { nothingFound, recordedOf } from '../../../src/proxy/evidence/findings.ts';
import { shadowOf } from '../../../src/proxy/shadow/shadow.ts';
import { type Create, createOf, randomOf, tables, taskOf, tools } from '../shadow/kit.ts';

const CALLS = Number(process.env.PROPERTY_RUNS ?? 500) * 2;
const DEVICE = 'PAX_A910__SMARTPOS0000000001';

function recorded(create: Create, changes: Partial<Exchange> = {}) {
  const task = taskOf(create, changes);
  const shadow = shadowOf(tools, task);
  const came = fieldsThatCame(tables, create.operation, task.request);
  return recordedOf(tables, { ...task.exchange, shadow }, { ...nothingFound, came });
}

function outcomeOf(one: ReturnType<typeof recorded>, field: string): string | null {
  return one.cells.find((cell) => cell.field === field)?.outcome ?? null;
}

const intent = (body: unknown, headers: Record<string, string> = {}, site = 'MLA'): Create => ({
  operation: 'point.create_intent',
  site,
  path: { device_id: DEVICE },
  headers,
  body,
});

describe('what an exchange teaches', () => {
  it('a field that a row refuses is different, and nothing was lost', () => {
    const refused = recorded(intent({ amount: 1500, description: 'x' }, {}, 'MLM'));
    expect(refused.shadow?.verdict).toBe('refused_here');
    expect(refused.cells).toEqual([
      { operation: 'point.create_intent', field: 'body.description', outcome: 'different' },
    ]);
    expect(refused.lost).toEqual([]);
  });

  it('a real refusal of a table is different; one of the service is not the field’s fault', () => {
    const call = taskOf(intent({ amount: 1500 }), {
      lane: 'orders',
      stage: 'orders',
      status: 400,
      error: 'bad_request',
    });
    const fired = ['point.create.request#8'];
    const here = recordedOf(tables, { ...call.exchange, fired }, nothingFound);
    expect(here.cells).toEqual([{ operation: 'point.create_intent', field: 'body.amount', outcome: 'different' }]);
    const upstream = [{ name: 'create', status: 400, code: 'property_value', duration_ms: 9 }];
    const there = recordedOf(tables, { ...call.exchange, fired, upstream }, nothingFound);
    expect(there.cells).toEqual([{ operation: 'point.create_intent', field: 'body.amount', outcome: 'equal' }]);
  });

  it('a lost field is different and weighs what the table says', () => {
    const one = recorded(
      intent({ amount: 1500, description: 'Mesa 4', tip: 100 }, { 'x-corporation-id': '9', 'x-platform-id': 'dev_1' }),
    );
    expect(outcomeOf(one, 'body.amount')).toBe('equal');
    expect(outcomeOf(one, 'headers.x-platform-id')).toBe('equal');
    expect(outcomeOf(one, 'body.description')).toBe('different');
    expect(outcomeOf(one, 'headers.x-corporation-id')).toBe('different');
    expect(outcomeOf(one, 'body.tip')).toBe('different');
    expect(one.lost.map(({ table, path, weight, would_be }) => [table, path, weight, would_be])).toEqual([
      ['point.headers', 'x-corporation-id', expect.any(String), true],
      ['point.create.request', 'body.tip', 'money', true],
      ['point.create.request', 'body.description', expect.any(String), true],
    ]);
  });

  it('a field that the till did not send is never seen, even where its row fires', () => {
    const one = recorded(intent({ amount: 1500 }));
    expect(one.shadow?.fired).toContain('point.create.request#2');
    expect(outcomeOf(one, 'body.additional_info.external_reference')).toBeNull();
    const sent = recorded(intent({ amount: 1500, additional_info: { external_reference: 'sale-1' } }));
    expect(outcomeOf(sent, 'body.additional_info.external_reference')).toBe('equal');
    const devices = taskOf({ operation: 'point.list_devices', site: 'MLA', path: {} });
    const fired = ['point.devices.request#3'];
    expect(recordedOf(tables, { ...devices.exchange, fired }, nothingFound).cells).toEqual([]);
  });

  it('elements of a list that lose the same field are one cell and one loss', () => {
    const item = {
      title: 'Café',
      unit_price: 10,
      quantity: 1,
      unit_measure: 'unit',
      picture_url: 'https://till.example/p.png',
      total_amount: 10,
    };
    const one = recorded({
      operation: 'qr.put_order',
      site: 'MLA',
      path: { user_id: '700100200', external_pos_id: 'SUC001POS001' },
      body: { external_reference: 'r', title: 't', total_amount: 20, items: [item, item], description: 'd' },
    });
    expect(one.lost.filter(({ path }) => path === 'body.items[].picture_url')).toHaveLength(1);
    expect(outcomeOf(one, 'body.items[].picture_url')).toBe('different');
    // The row accepts a correct total, so it does not fire; the field counts as seen.
    expect(outcomeOf(one, 'body.items[].total_amount')).toBe('equal');
  });

  it('says of a call without an operation what it is, and nothing more', () => {
    const { exchange } = taskOf(intent({ amount: 1500 }));
    const one = recordedOf(tables, { ...exchange, operation: null, kind: null }, nothingFound);
    expect([one.cells, one.lost, one.differences, one.compared]).toEqual([[], [], [], false]);
  });

  it(`the ledger adds up to the cells that were executed and not mapped (${CALLS} generated calls)`, () => {
    const random = randomOf(20_261_121);
    const executed = new Map<string, number>();
    const ledger = new Map<string, number>();
    let refusals = 0;
    for (let call = 0; call < CALLS; call++) {
      const create = createOf(random);
      const one = recorded(create);
      for (const field of notMapped(create, one)) add(executed, `${create.operation} ${field}`);
      for (const { operation, table, path } of one.lost)
        add(ledger, `${operation} ${table.endsWith('.headers') ? 'headers.' : ''}${path}`);
      const different = one.cells.filter(({ outcome }) => outcome === 'different').length;
      const refused = one.shadow?.verdict === 'refused_here' && one.shadow.fired.length > 0;
      refusals += refused ? 1 : 0;
      expect(different).toBe(one.lost.length + (refused ? 1 : 0));
    }
    expect(Object.fromEntries(ledger)).toEqual(Object.fromEntries(executed));
    expect(ledger.size).toBeGreaterThan(20);
    expect(refusals).toBeGreaterThan(20);
  });
});

/**
 * Counted independently: fields with a value that a row drops with a note, losses of converters, and fields without a
 * row. Empty for a refused call.
 */
function notMapped(create: Create, { shadow }: ReturnType<typeof recorded>): Set<string> {
  const found = new Set<string>();
  if (shadow === null || shadow.verdict === 'refused_here') return found;
  const operation = tables.operations.find(({ name }) => name === create.operation);
  const { tables: all, sites } = tables.documents;
  const request = all.find(({ table }) => table === operation?.request);
  const site = sites.some(({ id }) => id === create.site) ? create.site : 'other';
  const noted = (name: string): { path: string; in_list: string }[] =>
    all
      .filter(({ table }) => table === name)
      .flatMap(({ rows }) =>
        rows.flatMap((row) => [
          { row, list: '' },
          ...(row.rows ?? []).map((inner) => ({ row: inner, list: row.each ?? '' })),
        ]),
      )
      .filter(({ row }) => row.policy === 'note' && (row.sites === undefined || row.sites.includes(String(site))))
      .map(({ row, list }) => ({ path: row.drop ?? '', in_list: list }));
  for (const { path, in_list } of noted(request?.table ?? '')) {
    const lists = in_list === '' ? [create] : elementsAt(create, in_list);
    if (lists.some((one) => valueAt(one, path) !== null)) found.add(in_list === '' ? path : `${in_list}[].${path}`);
  }
  for (const { path } of noted(`${request?.family}.headers`)) if (create.headers?.[path]) found.add(`headers.${path}`);
  for (const { path, table } of shadow.losses)
    found.add(`${table.endsWith('.headers') ? 'headers.' : ''}${path.replaceAll(/\[\d+\]/g, '[]')}`);
  return found;
}

function elementsAt(create: Create, path: string): unknown[] {
  const list = valueAt(create, path);
  return Array.isArray(list) ? list : [];
}

function valueAt(source: unknown, path: string): unknown {
  const value = path
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | null | undefined)?.[part], source);
  return value === undefined || value instanceof LosslessNumber ? null : value;
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
