/** Which columns may hold covered text, and rows that are made readable again. */
import type { Cover } from '../proxy/cover.ts';

/** Columns, of whatever table, whose text may be covered. */
export const COVERED_COLUMNS = [
  'client_reference',
  'reference_sent',
  'held',
  'order_json',
  'body',
  'reference',
] as const;

/** Opens what is covered in rows, in place. */
export function coverOpener(cover: Cover): <Row extends Record<string, unknown>>(row: Row) => Row {
  return (row) => {
    for (const name of COVERED_COLUMNS) {
      const value = row[name];
      if (typeof value === 'string') Object.assign(row, { [name]: cover.open(value) });
    }
    return row;
  };
}
