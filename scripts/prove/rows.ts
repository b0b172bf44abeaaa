/** The fault matrix as a part of the proof: each row has a test that ran and passed. */
import { join } from 'node:path';
import { readFaultTests } from '../fault-rows.ts';
import type { Part } from './part.ts';
import type { Told } from './reporter.ts';
import { runTests } from './run-tests.ts';

const HOUSE = join(import.meta.dirname, '..', '..');

export const faultRows: Part = {
  name: 'rows',
  about: 'the fault matrix of docs/protocol.md §4: every file whose tests name a row, with the counts of every change',
  async run(_options, say) {
    const { ids, files } = readFaultTests(HOUSE);
    const { tests, failures } = await runTests(files, {}, say);
    const missing = rowsWithout(ids, tests);
    const count = `${ids.length - missing.length}/${ids.length} rows\n${tests.length} tests`;
    return {
      lines: [{ promise: '§4', what: 'each row has tests, and all of them pass', count, violations: missing.length }],
      failures: [...failures, ...missing.map((id) => `${id} has no test that passed, or one that did not`)],
      remarks: [],
    };
  },
};

const IDS = /\[([FPI]\d+(?: [FPI]\d+)*)\]/g;

/** Rows that the run did not prove: a row needs at least one test that names it, and all of them must have passed. */
export function rowsWithout(ids: readonly string[], tests: readonly Told[]): string[] {
  const named = tests.flatMap(({ name, state }) =>
    [...name.matchAll(IDS)].flatMap(([, own = '']) => own.split(' ')).map((id) => ({ id, state })),
  );
  const states = Map.groupBy(named, ({ id }) => id);
  return ids.filter((id) => states.get(id)?.every(({ state }) => state === 'passed') !== true);
}
