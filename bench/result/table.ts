/** One form for all tables. */
import Table from 'cli-table3';

/** @param left so many columns are words; the others are figures. */
export function tableOf(head: string[], left: number): Table.Table {
  return new Table({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: head.map((_name, index) => (index < left ? 'left' : 'right')),
  });
}
