/** What tables say of a source field beside translating it: how much its loss weighs, and what the till's maker can do. */
import { anyElement, type Path, printPath } from './path.ts';
import { type Row, rowsOf, type Weight } from './row.ts';
import type { WrittenTable } from './schema.ts';
import type { Loss, RowFacts, Tables } from './tables.ts';
import { wholeRows } from './whole-rows.ts';

/** Looks up source fields by table and path, and rows by their id. */
export function factsFinder(tables: readonly WrittenTable[]): Pick<Tables, 'facts' | 'row'> {
  const rows = tables.flatMap((table) => wholeRows(rowsOf(table.table, table.rows)));
  const byId = new Map(rows.map((row) => [row.id, factsOf(row)]));
  const fields = new Map<string, Candidates>();
  for (const row of rows) {
    if (row.verb === 'const') continue;
    const table = row.id.slice(0, row.id.indexOf('#'));
    candidatesAt(fields, table, nameOf(row.from)).own.push(row);
    for (const read of row.reads) candidatesAt(fields, table, nameOf(read)).beside.push(row);
  }
  return {
    facts(table, path, why) {
      const name = path.replaceAll(/\[\d+\]/g, '[]');
      const row = bestRow(fields.get(`${table} ${name}`), why);
      return row === null ? unknownField(name) : factsOf(row);
    },
    row: (id) => byId.get(id) ?? null,
  };
}

/** What a loss weighs, what the till's maker can do about it, and the row that lost it. */
export function lossFacts(tables: Pick<Tables, 'facts'>, loss: Loss): RowFacts {
  return tables.facts(loss.table, loss.path, loss.why);
}

/** The rows of one field: those that take it, and those that read it for another. */
interface Candidates {
  own: Row[];
  beside: Row[];
}

function candidatesAt(fields: Map<string, Candidates>, table: string, path: string): Candidates {
  const key = `${table} ${path}`;
  const found = fields.get(key) ?? { own: [], beside: [] };
  fields.set(key, found);
  return found;
}

/** A field may have several rows for several sites; the reason of a loss tells them apart. */
function bestRow(candidates: Candidates | undefined, why: string | undefined): Row | null {
  const { own, beside } = candidates ?? NOBODY;
  const lost = own.find((row) => row.policy === 'note' && row.why === why);
  return lost ?? own.find((row) => row.advice !== null) ?? own[0] ?? beside[0] ?? null;
}

const NOBODY: Candidates = { own: [], beside: [] };

function nameOf(path: Path): string {
  return printPath(anyElement(path));
}

function factsOf(row: Row): RowFacts {
  const from = row.verb === 'context' ? (row.reads[0] ?? row.from) : row.from;
  return { row: row.id, path: nameOf(from), weight: row.weight, advice: row.advice, why: row.why };
}

/** Words in the names of fields that tills add: money that nobody charges is the worst loss there is. */
const MONEY =
  /amount|price|discount|coupon|cash|installment|interest|(?:^|[_-])(?:tip|tax|taxes|fee|total)s?(?:$|[_-])/i;
const IDENTITY = /reference|payer|customer|client|document|identification|sponsor|operator|cashier|order/i;

function unknownField(path: string): RowFacts {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const weight: Weight = MONEY.test(name) ? 'money' : IDENTITY.test(name) ? 'identity' : 'other';
  return {
    row: null,
    path,
    weight,
    advice: 'Leave this field out: no API that takes the payment reads it.',
    why: 'No row knows the field.',
  };
}
