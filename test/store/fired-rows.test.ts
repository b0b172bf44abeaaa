/** The rows of an exchange in their short form, which must be lossless. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowIds } from '../../src/mapping/assemble.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { firedRows, firedText } from '../../src/store/exchanges.ts';

describe('rows that fired', () => {
  it.each([
    [[], null],
    [['a#1'], 'a#1'],
    [['a#1', 'a#2', 'a#3', 'a#5'], 'a#1-3,5'],
    [['a#2', 'a#1', 'a#1'], 'a#2,1,1'],
    [['a#9', 'a#10', 'b#11', 'b#12', 'a#13'], 'a#9-10 b#11-12 a#13'],
    [['a#1', 'a#1.2', 'a#2', 'e#any.1', 'e#1'], 'a#1,1.2,2 e#any.1,1'],
    [['a#1', 'a.b#2', 'a#2'], 'a#1 a.b#2 a#2'],
    [['a#0', 'a#1', 'a#01', 'a#2'], 'a#0,1,01,2'],
    [['a#1-3', 'a#4'], '["a#1-3","a#4"]'],
    [['no row', 'a#1'], '["no row","a#1"]'],
    [['a#1 a#2'], '["a#1 a#2"]'],
  ])('%j are kept as %j', (fired, kept) => {
    expect(firedText(fired)).toBe(kept);
    expect(firedRows(kept)).toEqual(fired);
  });

  it('have the text of the list as it is when it is kept, unless nobody can change it', () => {
    const open = ['a#1'];
    expect(firedText(open)).toBe('a#1');
    open.push('a#2');
    expect(firedText(open)).toBe('a#1-2');
    const shared = Object.freeze([...open]);
    expect([firedText(shared), firedText(shared)]).toEqual(['a#1-2', 'a#1-2']);
  });

  it('are read of earlier versions, too', () => {
    expect(firedRows('["a#1","a#2"]')).toEqual(['a#1', 'a#2']);
  });

  it('come back as they were, whatever they are called', () => {
    const row = fc.oneof(fc.string(), fc.stringMatching(/^[ab.-]{0,3}#[0-9a.,-]{0,3}$/));
    fc.assert(fc.property(fc.array(row), (fired) => void expect(firedRows(firedText(fired))).toEqual(fired)));
  });

  it('of every table have a short form', () => {
    const ids = rowIds(loadTables('mappings'));
    const kept = firedText(ids);
    expect(firedRows(kept)).toEqual(ids);
    expect(kept).not.toMatch(/^\[/);
    expect(kept?.length).toBeLessThan(JSON.stringify(ids).length / 2);
  });
});
