/** The style of all tables. */
import Table from 'cli-table3';

/** @param left number of columns with words; the others are figures. */
export function tableOf(head: string[], left: number): Table.Table {
  return new Table({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: head.map((_name, index) => (index < left ? 'left' : 'right')),
  });
}
