/** Matchers: what counts as a difference between a legacy answer and the one made of the orders side. */
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { compareAnswers } from '../../src/mapping/match.ts';
import { fieldTable, type WrittenOperation } from '../../src/mapping/schema.ts';
import { operationOf, tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);
const operation = operationOf(tables, 'point.list_devices');
const written = tables.documents.operations.find((one) => one.name === operation.name) as WrittenOperation; // just found
const why = 'A reason that is long enough.';

/** A table with every matcher, in the place of the list of devices. */
const answer = {
  file: 'x.yaml',
  ...fieldTable.parse({
    table: 'point.devices.answer',
    family: 'point',
    from: 'listTerminalsAnswer',
    to: 'listDevicesAnswer',
    source: 'a test',
    rows: [
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
      { copy: 'paging.total', to: 'body.paging.total', match: 'volatile', why },
      { each: 'data.terminals', to: 'body.list', why, rows: [{ copy: 'id', to: 'id', why }] },
    ],
  }),
};
const compareWith = compareAnswers({ operations: [written], tables: [answer] });

function compare(legacy: unknown, orders: unknown): string[] {
  return compareWith(operation, legacy, orders)
    .filter(({ difference }) => difference !== null)
    .map(({ path, difference }) => `${path} ${difference}`);
}
const devices = (...list: object[]) => ({ devices: list });

describe('a matcher', () => {
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
    ['equal: another value', { name: 'A' }, { name: 'B' }, ['name value']],
    ['equal: another type', { name: '1' }, { name: 1 }, ['name type']],
    ['equal: null and absent', { name: null }, {}, []],
    ['equal: absent and there', {}, { name: 'A' }, ['name extra']],
    ['equal: a number in another spelling', { name: new LosslessNumber('1.50') }, { name: 1.5 }, []],
    ['equal: objects with their keys in another order', { name: { a: 1, b: [2] } }, { name: { b: [2], a: 1 } }, []],
    [
      'equal: lists in another order',
      { list: [{ id: 'A' }, { id: 'B' }] },
      { list: [{ id: 'B' }, { id: 'A' }] },
      ['list[].id value'],
    ],
    ['equal: lists of other lengths', { list: [{ id: 'A' }] }, { list: [] }, ['list length']],
    ['equal: an object and a list', { paging: {} }, { paging: [] }, ['paging type']],
    ['equal: nothing at all', undefined, undefined, []],
    ['equal: no body', undefined, { name: 'A' }, [' extra']],
  ])('%s', (_, legacy, orders, expected) => {
    expect(compare(legacy, orders)).toEqual(expected);
  });

  it('tells a path once, with its first difference, and what is equal', () => {
    const found = compareWith(
      operation,
      devices({ id: 'A', pos_id: 1 }, { id: 'B', pos_id: 2 }, { id: 'C', pos_id: 3 }),
      devices({ id: 'A', pos_id: 1 }, { id: 'B', pos_id: 8 }, { id: 'C', pos_id: 9 }),
    );
    expect(found).toEqual([
      { path: 'devices[].id', difference: null },
      { path: 'devices[].pos_id', difference: 'value', legacy: 2, orders: 8 },
    ]);
  });

  it('has nothing to compare of an operation that is not read on both sides', () => {
    expect(tables.compare(operationOf(tables, 'point.get_intent'), { a: 1 }, {})).toEqual([]);
  });
});
