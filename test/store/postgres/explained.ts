/** Reads the plans that `auto_explain` has logged: each scan of a table, and the number of rows it read. */

export interface Plan {
  node: string;
  table: string;
  text: string;
  facts: Node;
}

type Node = Record<string, unknown> & { 'Node Type': string; Plans?: Node[] };

/** Each entry is JSON whose lines begin with a tab. */
const ENTRY = /plan:\n((?:\t.*\n)+)/g;

/** @param log of a server with `auto_explain.log_format=json`. */
export function scansOf(log: string): Plan[] {
  return [...log.matchAll(ENTRY)].flatMap(([, json = '']) => {
    const { 'Query Text': text, Plan: root } = JSON.parse(json) as { 'Query Text': string; Plan: Node }; // its own form
    return [...scansIn(root)].map((facts) => ({
      node: facts['Node Type'],
      table: String(facts['Relation Name']),
      text: text.replaceAll(/\s+/g, ' '),
      facts,
    }));
  });
}

function* scansIn(node: Node): Iterable<Node> {
  if (node['Relation Name'] !== undefined && node['Node Type'].endsWith('Scan')) yield node;
  for (const inner of node.Plans ?? []) yield* scansIn(inner);
}

/** Returned and discarded rows, of all loops. */
export function rowsRead({ facts }: Plan): number {
  const of = (name: string): number => Number(facts[name] ?? 0);
  const each = of('Actual Rows') + of('Rows Removed by Filter') + of('Rows Removed by Index Recheck');
  return each * of('Actual Loops');
}
