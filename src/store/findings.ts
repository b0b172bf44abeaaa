/** What was found in exchanges: the loss ledger, coverage, differences, unknown names and shadow verdicts. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/sentences.ts';
import type { CoverageRow, DifferenceGroup, LedgerRow, UnknownRow, VerdictRow } from '../proxy/records/evidence.ts';
import type { Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import { filteredReads, listOf, whereOf } from './filtered.ts';
import type { Value } from './unit.ts';

type FindingMethods = Pick<Store, 'ledger' | 'coverage' | 'differences' | 'unknowns' | 'verdicts' | 'saveDifference'>;

export function findingMethods(reader: Reader, writer: Writer): FindingMethods {
  const run = filteredReads(reader);
  const of = <Row>(table: string, merchant_id: string | undefined, order: string) => {
    const { where, values } = whereOf([['merchant_id = ?', merchant_id]]);
    return run<Row>(`SELECT * FROM ${table} WHERE ${where} ORDER BY ${order}`, values);
  };
  const difference = reader.prepare<[string, string], DifferenceGroup>(
    'SELECT * FROM differences WHERE merchant_id = ? AND signature = ?',
  );
  return {
    ledger: async (merchant_id) => of<LedgerRow>('ledger', merchant_id, MONEY_FIRST),
    coverage: async (merchant_id) => of<CoverageRow>('coverage', merchant_id, 'merchant_id, operation, field'),
    unknowns: async (merchant_id) => of<UnknownRow>('unknowns', merchant_id, 'count DESC, merchant_id, what, name'),
    async verdicts(merchant_id) {
      const order = 'merchant_id, operation, count DESC, verdict, code, error, detail';
      return (await of<VerdictRow>('verdicts', merchant_id, order)).map(verdictOf);
    },
    async differences(filter, now) {
      const { where, values } = whereOf([
        ['merchant_id = ?', filter.merchant_id],
        ['state IN (SELECT value FROM json_each(?))', listOf(filter.states)],
      ]);
      const sql = `SELECT * FROM (${SHOWN}) AS shown WHERE ${where} ORDER BY last_at DESC, merchant_id, signature`;
      return run<DifferenceGroup>(sql, [now, ...values]);
    },
    async saveDifference(merchant_id, signature, change, revision, audit) {
      const { state, accepted_until, note, who } = change;
      const values: Value[] = [state, accepted_until, note, who, merchant_id, signature, revision];
      const result = await writer.commit({ steps: [{ write: 'save_difference', values, changes: 1 }], audit });
      const group = await difference.get(merchant_id, signature);
      if (group === undefined) {
        throw new PuenteError('not_found', `The merchant ${merchant_id} has no difference ${signature}.`);
      }
      if (result.kind === 'done') return group;
      throw new PuenteError('conflict', say('refusal.difference_changed', { signature, expected: revision }));
    },
  };
}

const MONEY_FIRST = `CASE weight WHEN 'money' THEN 0 WHEN 'identity' THEN 1 ELSE 2 END, count DESC, merchant_id, operation, path`;

/** An acceptance that has ended is shown as new, with the date it ended. */
const SHOWN = `SELECT merchant_id, signature, operation, what, path, legacy, orders,
  CASE WHEN state = 'accepted' AND accepted_until <= (SELECT ?) THEN 'new' ELSE state END AS state,
  accepted_until, note, who, count, first_at, last_at, sample, tables_revision, revision FROM differences`;

/** '' stands for none in the key. */
function verdictOf(row: VerdictRow): VerdictRow {
  const orNull = (text: string | null) => (text === '' ? null : text);
  return { ...row, code: orNull(row.code), error: orNull(row.error), detail: orNull(row.detail) };
}
