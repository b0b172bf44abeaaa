/** Reads and runs the golden cases of the engine: data in, data out, and the rows that fired. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LosslessNumber } from 'lossless-json';
import { parse } from 'yaml';
import type { UpstreamCallName } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import type { LoadedTables } from '../../src/mapping/assemble.ts';
import type { LegacyRequest, MappingContext, Operation, Translated } from '../../src/mapping/tables.ts';

export const tablesDirectory = fileURLToPath(new URL('../../mappings', import.meta.url));

export interface GoldenExchange {
  name: string;
  operation?: string;
  answer?: boolean;
  notice?: boolean;
  source: unknown;
  context: MappingContext;
  value?: unknown;
  /** Paths, in their order. */
  losses?: string[];
  refusal?: { error: string; detail: string };
}

export interface GoldenError {
  call: UpstreamCallName;
  status: number;
  code?: string;
  message?: string;
  details?: string[];
  flat?: boolean;
  error: string;
  detail?: string;
  default?: boolean;
}

export interface GoldenState {
  status: string;
  declined?: 'error' | 'finished';
  known?: boolean;
  intent: string;
}

/** The cases of one file; numbers with a fraction become what the JSON parser of the doors makes of them. */
export function golden<Case>(file: string): Case[] {
  const text = readFileSync(new URL(`golden/${file}`, import.meta.url), 'utf8');
  return lossless(parse(text, { merge: true })) as Case[]; // the files are ours
}

function lossless(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : new LosslessNumber(String(value));
  if (Array.isArray(value)) return value.map(lossless);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, lossless(item)]));
}

export function operationOf(tables: LoadedTables, name: string): Operation {
  const operation = tables.operations.find((one) => one.name === name);
  if (!operation) throw new Error(`no operation ${name}`);
  return operation;
}

/** The translation, or the facts of the refusal. */
export function run(tables: LoadedTables, one: GoldenExchange): Translated | Record<string, unknown> {
  try {
    if (one.notice) return tables.notice(one.source, one.context);
    const operation = operationOf(tables, one.operation ?? '');
    if (one.answer) return tables.answer(operation, one.source, one.context);
    return tables.request(operation, one.source as LegacyRequest, one.context); // written as one
  } catch (error) {
    if (error instanceof PuenteError && error.code === 'refused') return error.facts;
    throw error;
  }
}

export function errorBody(one: GoldenError): unknown {
  const error = {
    ...(one.code === undefined ? {} : { code: one.code }),
    ...(one.message === undefined ? {} : { message: one.message }),
    ...(one.details === undefined ? {} : { details: one.details }),
  };
  return one.flat ? error : { errors: [error] };
}
