/** Reads the golden exchanges: `test/exchanges/<operation>/<case>.yaml`, each one exchange or a table of cases. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const names = z.record(z.string(), z.string());
/** `text` is a raw body; without `text` and `body` there is no body. */
const answer = z.strictObject({
  status: z.int(),
  headers: names.optional(),
  body: z.unknown().optional(),
  text: z.string().optional(),
});

/** A call that Puente makes; `to: legacy` is one to the legacy API: proxied unchanged, or a search of Puente's own. */
const step = z.strictObject({
  to: z.literal('legacy').optional(),
  /** Made in parallel with the step before it, so that either may come first. */
  beside: z.boolean().optional(),
  request: z.strictObject({
    method: z.string(),
    path: z.string(),
    query: names.optional(),
    headers: names.optional(),
    body: z.unknown().optional(),
  }),
  /** Optional in a table, whose cases then have it. */
  answer: answer.optional(),
});

const anyObject = z.record(z.string(), z.unknown());

/** An intent that exists before the exchange; `ends` changes its order to a terminal one. */
const givenIntent = z.strictObject({
  device: z.string().default('PAX_A910__SMARTPOS0000000001'),
  body: z.looseObject({ amount: z.int() }).default({ amount: 1500 }),
  ends: anyObject.optional(),
});
export type GivenIntent = z.infer<typeof givenIntent>;

/** A QR sale that exists before: the till's create, additions to its order, and changes to a terminal order. */
const givenSale = z.strictObject({
  sale: z.strictObject({
    method: z.string(),
    path: z.string(),
    headers: names.optional(),
    body: anyObject,
    /** The external id of a point of sale that the path names by its internal number. */
    external_pos_id: z.string().optional(),
  }),
  order: anyObject.default({}),
  ends: anyObject.optional(),
});
export type GivenSale = z.infer<typeof givenSale>;

const given = z.union([givenSale, givenIntent]);
export type Given = z.infer<typeof given>;

const notice = z.strictObject({
  /** Of intents: the dialect of the notice. */
  dialect: z.enum(['point_integration_ipn', 'point_integration_wh']).default('point_integration_ipn'),
  /** Default: by the dialect. Signed with the merchant's secret. */
  signed: z.boolean().optional(),
  /** Below the merchant's notice URL, which is `<notices>`. */
  path: z.string().default(''),
  query: names,
  headers: names.default({}),
  body: z.unknown(),
});
export type WrittenNotice = z.infer<typeof notice>;

const shape = {
  what: z.string().min(10),
  source: z.string().min(4),
  /** All but the site are set at the ops door. */
  merchant: z.looseObject({
    site: z.enum(['MLA', 'MLB', 'MLM', 'MLC', 'MLU', 'MCO']),
    declined: z.enum(['error', 'finished']).optional(),
    voucher: z.enum(['refuse', 'drop']).optional(),
    cancel_on_terminal: z.boolean().optional(),
    point_notice_extra: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  }),
  given: z.array(given).default([]),
  legacy_request: z.strictObject({
    method: z.string(),
    path: z.string(),
    query: names.optional(),
    headers: names.optional(),
    body: z.unknown().optional(),
    /** The raw body, where it is no JSON. */
    text: z.string().optional(),
  }),
  upstream: z.array(step).default([]),
  legacy_answer: answer,
  losses: z.array(z.string()).default([]),
  /** The action of a webhook after the answer; the last upstream step is the read that it causes. */
  event: z.string().optional(),
  notice: notice.optional(),
  /** Several notices in this order, or none (`[]`). */
  notices: z.array(notice).optional(),
  /** The legacy error of the errors table, where the story answers another. */
  tables_say: z.unknown().optional(),
  /** The same exchange by other operations; `first` are upstream steps before the file's own. */
  also: z
    .array(
      z.strictObject({
        operation: z.string(),
        method: z.string().optional(),
        path: z.string().optional(),
        first: z.array(step).default([]),
      }),
    )
    .default([]),
};

const exchange = z.strictObject(shape);
export type Written = z.infer<typeof exchange>;
export type Step = Written['upstream'][number];
export type Answer = z.infer<typeof answer>;

type Also = Written['also'][number];

/** Every case of a table contains its differences; `answer` is that of upstream steps without one. */
const table = z.strictObject({
  ...shape,
  what: z.string(),
  legacy_answer: answer.optional(),
  cases: z.array(z.unknown()),
});
const oneCase = z.strictObject({ ...z.strictObject(shape).partial().shape, answer: answer.optional() });

export interface Exchange extends Written {
  /** Name of the folder, which must be an operation. */
  operation: string;
  /** For reports: file, case number and purpose. */
  title: string;
  /** All notices; null when the file has no notice field. */
  told: WrittenNotice[] | null;
}

export const exchangesDirectory = import.meta.dirname;

/** Every file below the directory except code and the README; misplaced and unknown files too. */
export function exchangeFiles(): string[] {
  return readdirSync(exchangesDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts') && entry.name !== 'README.md')
    .map((entry) => relative(exchangesDirectory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

export function isExchangeFile(file: string): boolean {
  return /^[a-z0-9_]+\.[a-z0-9_]+\/[a-z0-9-]+\.yaml$/.test(file);
}

/** @throws Error with the file and its mistake. */
export function readExchanges(file: string): Exchange[] {
  return readCases(file).flatMap((one) => [one, ...one.also.map((also) => atOperation(one, also))]);
}

function atOperation(one: Exchange, { operation, method, path, first }: Also): Exchange {
  const { legacy_request } = one;
  return {
    ...one,
    operation,
    title: `${one.title} (${operation})`,
    legacy_request: { ...legacy_request, method: method ?? legacy_request.method, path: path ?? legacy_request.path },
    upstream: [...first, ...one.upstream],
  };
}

function readCases(file: string): Exchange[] {
  const content: unknown = parse(readFileSync(join(exchangesDirectory, file), 'utf8'), { merge: true });
  const operation = dirname(file);
  const isTable = content !== null && typeof content === 'object' && 'cases' in content;
  if (!isTable) return [complete(file, operation, '', content)];
  const { cases, ...base } = checked(file, table, content);
  // The table's defaults are parsed; only fields in the file are merged, so that a case does not inherit defaults.
  const said = content as Record<string, unknown>;
  return cases.map((one, index) => {
    const { answer: common, ...own } = checked(`${file}, case ${index + 1}`, oneCase, one) as Record<string, unknown>;
    const written = one as Record<string, unknown>;
    const differs = Object.fromEntries(Object.entries(own).filter(([key]) => key in written));
    const merged: Record<string, unknown> = { ...keep(said, base), ...differs };
    if (common !== undefined) merged.upstream = withAnswer(merged.upstream, common);
    return complete(file, operation, ` ${index + 1}`, merged);
  });
}

function keep(said: Record<string, unknown>, base: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(base).filter(([key]) => key in said));
}

function withAnswer(steps: unknown, common: unknown): unknown {
  return ((steps ?? []) as Step[]).map((one) => (one.answer === undefined ? { ...one, answer: common } : one));
}

function complete(file: string, operation: string, number: string, content: unknown): Exchange {
  const written = checked(file + number, exchange, content);
  const steps = [...written.upstream, ...written.also.flatMap((also) => also.first)];
  if (steps.some((one) => one.answer === undefined))
    throw new Error(`${file}${number}: an upstream step has no answer`);
  const told = written.notices ?? (written.notice === undefined ? null : [written.notice]);
  return { ...written, told, operation, title: `${operation}/${basename(file, '.yaml')}${number}: ${written.what}` };
}

function checked<Out>(file: string, schema: z.ZodType<Out>, content: unknown): Out {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new Error(`test/exchanges/${file}: ${z.prettifyError(parsed.error)}`);
}
