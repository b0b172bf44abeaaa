/** The proofs about evidence: matchers stand where they can apply, and nothing is lost without advice for the till's maker. */
import { upstreamRoutes } from '../contract/upstream.ts';
import type { Documents, Filed } from './assemble.ts';
import type { Failure } from './check.ts';
import { contractOf } from './contracts.ts';
import { converters } from './converters.ts';
import { anyElement, printPath } from './path.ts';
import { type Row, rowsOf } from './row.ts';
import type { WrittenOperation, WrittenTable } from './schema.ts';
import { findIn } from './shape.ts';
import { wholeRows } from './whole-rows.ts';

/** An operation that is read on both sides is a read on both of them, and has tables for both ways. */
export function checkDoubleReads({ operations }: Documents): Failure[] {
  return operations.flatMap((operation, index) => {
    const reason = operation.double_read ? noDoubleRead(operation) : null;
    if (reason === null) return [];
    const message = `${operation.name} can't be read on both sides: ${reason}`;
    return [{ file: 'operations.yaml', row: String(index + 1), message }];
  });
}

function noDoubleRead({ method, upstream, request, answer }: WrittenOperation): string | null {
  if (method !== 'GET') return `legacy writes with ${method}`;
  const route = Object.entries(upstreamRoutes).find(([name]) => name === upstream)?.[1];
  if (route === undefined) return 'it has no upstream call';
  if (route.method !== 'GET') return `${upstream} writes with ${route.method}`;
  return request === null || answer === null ? 'it needs a request table and an answer table' : null;
}

/** Matchers, keys of lists, advice and weights, row by row. */
export function checkFacts({ operations, tables }: Documents): Failure[] {
  const compared = new Set(operations.filter((one) => one.double_read).map((one) => one.answer));
  const requests = new Set(operations.map((one) => one.request));
  return tables.flatMap((table) => {
    const written = rowsOf(table.table, table.rows);
    const set = matchersSet(table.rows, written);
    const isRequest = requests.has(table.table) || table.role === 'headers';
    return wholeRows(written).flatMap((row) => {
      const messages = [
        ...(set.has(row.id) || row.by !== null ? matcherFaults(table, row, compared.has(table.table)) : []),
        ...adviceFaults(row, isRequest),
      ];
      return messages.map((message) => ({ file: table.file, row: row.id.slice(row.id.indexOf('#') + 1), message }));
    });
  });
}

/** Ids of the rows that name a matcher; a row without one compares as equal. */
function matchersSet(written: WrittenTable['rows'], rows: readonly Row[]): Set<string> {
  return new Set(
    written.flatMap((one, index) => {
      const row = rows[index] as Row; // made of the same list
      return [...(one.match === undefined ? [] : [row.id]), ...matchersSet(one.rows ?? [], row.rows)];
    }),
  );
}

function matcherFaults(table: Filed<WrittenTable>, row: Row, isCompared: boolean): string[] {
  if (!isCompared) return [`no double read compares ${table.table}, so a matcher means nothing here`];
  if (row.to === null) return ['a field that is dropped is not compared, so a matcher means nothing here'];
  const target = contractOf(table.to);
  const shape = target === null ? null : findIn(target.shape, row.to)?.shape;
  const faults: string[] = [];
  if (row.matcher === 'numeric' && shape?.kind !== 'leaf')
    faults.push(`${printPath(row.to)} is no number, so it can't match as numeric`);
  if (row.matcher === 'unordered' && row.verb !== 'each')
    faults.push('only the list of an each can match as unordered');
  if (row.matcher === 'unordered' && row.by === null) faults.push('unordered needs the key of its elements: by');
  if (row.matcher !== 'unordered' && row.by !== null) faults.push('only unordered has a key: by');
  const keys = row.rows.map((inner) => printPath(anyElement(inner.to ?? [])));
  if (row.by !== null && row.verb === 'each' && !keys.includes(printPath(row.by)))
    faults.push(`no row of this each writes its key ${printPath(row.by)}`);
  return faults;
}

function adviceFaults(row: Row, isRequest: boolean): string[] {
  const loses = canLose(row);
  if (row.advice !== null && !loses && !refuses(row)) return ['nothing is lost here, so nobody needs the advice'];
  if (isRequest && loses && row.advice === null)
    return ['what is lost here is told to the till, with what its maker can do: give the row an advice'];
  return [];
}

/** A loss of this row may be recorded. */
function canLose(row: Row): boolean {
  if (row.policy === 'note' || row.elsewhere === 'note') return true;
  return row.converter !== null && converters[row.converter]?.loses === true;
}

function refuses(row: Row): boolean {
  return row.policy === 'refuse' || row.elsewhere === 'refuse' || (row.verb === 'drop' && row.converter !== null);
}
