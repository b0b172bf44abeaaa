/** The path of the tables, and an operation by name. */
import { fileURLToPath } from 'node:url';
import type { LoadedTables, Operation } from '../../src/mapping/tables.ts';

export const tablesDirectory = fileURLToPath(new URL('../../mappings', import.meta.url));

export function operationOf(tables: LoadedTables, name: string): Operation {
  const operation = tables.operations.find((one) => one.name === name);
  if (!operation) throw new Error(`no operation ${name}`);
  return operation;
}
