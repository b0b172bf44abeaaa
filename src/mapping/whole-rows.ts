/** Rows with their paths from the top of the source and the target, as the proofs and the evidence want them. */
import type { Path } from './path.ts';
import type { Row } from './row.ts';

/** Every row, those inside an `each` with the whole paths, elements as `[]`. */
export function wholeRows(rows: readonly Row[], from: Path = [], to: Path = []): Row[] {
  return rows.flatMap((row) => {
    const whole: Row = {
      ...row,
      from: row.verb === 'context' ? row.from : [...from, ...row.from],
      to: row.to === null ? null : [...to, ...row.to],
      reads: row.reads.map((path) => [...from, ...path]),
    };
    return [whole, ...wholeRows(row.rows, [...whole.from, '[]'], [...(whole.to ?? []), '[]'])];
  });
}
