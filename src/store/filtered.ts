/** Reads whose conditions depend on what is asked for: one prepared statement for every set of filters. */
import type { Read, Reader } from './engine.ts';
import type { Value } from './unit.ts';

/** A condition and its value; undefined: not asked for. */
export type Condition = [sql: string, value: Value | undefined];

/** The WHERE of the conditions that are asked for, always true when none is. */
export function whereOf(conditions: Condition[]): { where: string; values: Value[] } {
  const named = conditions.filter((one): one is [string, Value] => one[1] !== undefined);
  return { where: named.map(([sql]) => sql).join(' AND ') || 'true', values: named.map(([, value]) => value) };
}

/** Every set of filters has its own statement, so that each gets the index that suits it. */
export function filteredReads(reader: Reader): <Row>(sql: string, values: Value[]) => Promise<Row[]> {
  const prepared = new Map<string, Read<Value[], unknown>>();
  return async <Row>(sql: string, values: Value[]) => {
    const known = prepared.get(sql) ?? reader.prepare<Value[], unknown>(sql);
    prepared.set(sql, known);
    return (await known.all(...values)) as Row[]; // the caller names what its own SELECT lists
  };
}

/** A list as one parameter, for `IN (SELECT value FROM json_each(?))`. */
export function listOf(values: readonly string[] | undefined): string | undefined {
  return values === undefined ? undefined : JSON.stringify(values);
}
