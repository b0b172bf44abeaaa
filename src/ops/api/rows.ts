/** The rows of the API as commands are made from them, read from `rows.json`, which needs neither schemas nor operations. */
import { readFileSync } from 'node:fs';
import type { OpsRoute } from './route.ts';

export interface CommandRow extends Pick<OpsRoute, 'method' | 'path' | 'command' | 'summary'> {
  /** What it takes goes in the body, and not in the query. */
  has_body: boolean;
  /** What it takes, by name, as JSON Schema. */
  properties: Record<string, FieldSchema>;
  required: readonly string[];
}

export interface FieldSchema {
  type?: string | string[];
  enum?: string[];
  format?: string;
  pattern?: string;
  items?: FieldSchema;
  anyOf?: FieldSchema[];
  description?: string;
  default?: unknown;
}

/** `npm run generate` writes the file (`renderRows` in `openapi.ts`): the 300 modules behind the rows take a command half a second. */
export const commandRows = JSON.parse(readFileSync(new URL('rows.json', import.meta.url), 'utf8')) as CommandRow[]; // ours
