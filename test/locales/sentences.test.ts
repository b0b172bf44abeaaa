/** Sentences by their codes: what was kept as text is recognised again, with its facts. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sentence } from '../../src/error.ts';
import { addressWordings } from '../../src/locales/sentences/addresses.ts';
import { storedSentences } from '../../src/locales/sentences/stored.ts';
import { heard, heardOfAddress, quoted, type StoredCode, say } from '../../src/locales/sentences.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { rowsOf, wholeRows } from '../../src/mapping/row.ts';

/** Facts for any sentence: numbers and words as they occur. */
const FACTS: Record<string, string | number> = {
  in_a_row: 6,
  limit: 5,
  faults: 3,
  calls: 12,
  minutes: 2.5,
  share: 20,
  slow: 4,
  slow_ms: 5000,
  merchant: '700100200',
  name: 'ben',
  moved: 3,
  proposed: 2,
  refused: 1,
  skipped: 4,
  waiting: 6,
  link_minor: 1500,
  order_minor: 1400,
  sale_minor: 90000,
  paid_minor: 100,
  state: 'LIVE',
  legacy_state: 'ON_TERMINAL',
  order_status: 'processed',
  shows: 'FINISHED',
  holder: 'a-sale',
  status: 503,
  timeout_ms: 22000,
  code: 'ECONNREFUSED',
  reason: 'tills stand still',
  cause: "names 'shop.example', which resolves to 10.0.0.1, which is not public (private)",
  line: 7,
  sale: '01978a5c-0000-7000-8000-000000000001',
  last: 9,
  why: 'The receiver answered 500; 200 or 201 was expected.',
};

function written(code: StoredCode, facts: object): string {
  const write = storedSentences[code] as (facts: object) => string; // it takes those it needs
  return write(facts);
}

describe('a sentence that is kept', () => {
  it.each(Object.keys(storedSentences) as StoredCode[])('is recognised: %s', (code) => {
    const { said } = heard(written(code, FACTS));
    expect(said?.code).toBe(code);
    const { why, cause, ...facts } = said?.facts ?? {};
    for (const [name, fact] of Object.entries(facts)) expect([name, fact]).toEqual([name, FACTS[name]]);
    if (why !== undefined) expect(why).toEqual(heard(String(FACTS.why)));
    if (cause !== undefined) expect(cause).toEqual(heardOfAddress(String(FACTS.cause)));
  });

  it.each(['mismatch.other_order', 'mismatch.unit_taken', 'settled.given_up'] as const)(
    'is recognised with the sentence that it holds: %s',
    (code) => {
      const causes = Object.keys(storedSentences).filter((one) => /^(?:mismatch|attempt)\./.test(one)) as StoredCode[];
      for (const cause of causes.filter((one) => !['mismatch.other_order', 'mismatch.unit_taken'].includes(one))) {
        const { why, ...facts } =
          heard(written(code, { why: written(cause, FACTS), holder: 'a-sale' })).said?.facts ?? {};
        expect(why).toMatchObject({ text: written(cause, FACTS), said: { code: cause } });
        expect(facts).toEqual(code === 'mismatch.unit_taken' ? { holder: 'a-sale' } : {});
        const { said } = why as Sentence; // it is one: the line above asks
        expect(written(cause, said?.facts ?? {})).toBe(written(cause, FACTS));
      }
    },
  );

  it('is recognised where it leaves out what there is none of', () => {
    const none = { moved: 0, proposed: 0, refused: 0, skipped: 0, waiting: 0 };
    for (const some of [{ moved: 3, waiting: 6 }, { waiting: 1 }, { proposed: 12, skipped: 7 }]) {
      const kept = say('bulk.summary', { ...none, ...some });
      expect(heard(kept.text)).toEqual(kept);
    }
    expect(say('bulk.summary', { ...none, moved: 3, waiting: 6 }).text).toBe('3 moved, 6 waiting');
    for (const other of ['3 moved, ', '3 moved 6 waiting', '6 waiting, 3 moved', '3 moved, 6 waiting.'])
      expect(heard(other).said).toBeNull();
  });

  it('stays as it is where it is none of ours', () => {
    expect(heard('tills stand still')).toEqual({ text: 'tills stand still', said: null });
    expect(quoted('tills stand still')).toEqual(heard('tills stand still'));
  });
});

describe('why a notice may not go to an address', () => {
  const facts: Record<string, string | number> = {
    most: 2048,
    port: 22,
    allowed: '443, 8443',
    host: 'shop.example',
    address: '10.0.0.1',
    range: 'private',
    cause: 'has a zone, which no public address has',
  };
  const codes = Object.keys(addressWordings) as (keyof typeof addressWordings)[];

  it.each(codes)('is recognised, alone and in the sentence that is kept: %s', (code) => {
    const text = (addressWordings[code] as (facts: object) => string)(facts); // it takes those it needs
    const { said } = heardOfAddress(text);
    expect(said?.code).toBe(code);
    for (const [name, fact] of Object.entries(said?.facts ?? {}))
      expect([name, fact]).toEqual([name, name === 'cause' ? heardOfAddress(String(facts.cause)) : facts[name]]);
    const kept = say('attempt.blocked', { cause: { text, said } });
    expect(heard(kept.text)).toEqual(kept);
  });
});

describe('a sentence', () => {
  it('says a row of a table as the tables themselves do', () => {
    const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'));
    const rows = tables.documents.tables.flatMap((table) => wholeRows(rowsOf(table.table, table.rows)));
    const described = tables.describe(rows.map(({ id }) => id));
    expect(described.length).toBeGreaterThan(300);
    for (const { row, says, parts } of described) expect([row, say('rule', parts).text]).toEqual([row, says]);
  });

  it('comes with its code and facts', () => {
    expect(say('refusal.no_stop', { kind: 'qr', merchant: '7' })).toEqual({
      text: 'No safety stop of qr stands for 7; see puente safety show 7.',
      said: { code: 'refusal.no_stop', facts: { kind: 'qr', merchant: '7' } },
    });
  });
});
