/** Reads the golden exchanges: `test/exchanges/<operation>/<case>.yaml`, each one exchange or a table of cases of one. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const names = z.record(z.string(), z.string());
const answer = z.strictObject({ status: z.int(), headers: names.optional(), body: z.unknown().optional() });

/** One call that Puente makes; `to: legacy` is one that it carries untouched. */
const step = z.strictObject({
  to: z.literal('legacy').optional(),
  request: z.strictObject({
    method: z.string(),
    path: z.string(),
    query: names.optional(),
    headers: names.optional(),
    body: z.unknown().optional(),
  }),
  /** May be left to the cases of a table. */
  answer: answer.optional(),
});

/** An intent that stands before the exchange begins; `ends` is what its order became, if it is over. */
const given = z.strictObject({
  device: z.string().default('PAX_A910__SMARTPOS0000000001'),
  body: z.looseObject({ amount: z.int() }).default({ amount: 1500 }),
  ends: z.record(z.string(), z.unknown()).optional(),
});
export type Given = z.infer<typeof given>;

const shape = {
  what: z.string().min(10),
  source: z.string().min(4),
  merchant: z.strictObject({
    site: z.enum(['MLA', 'MLB', 'MLM', 'MLC', 'MLU', 'MCO']),
    declined: z.enum(['error', 'finished']).optional(),
    voucher: z.enum(['refuse', 'drop']).optional(),
    cancel_on_terminal: z.boolean().optional(),
  }),
  given: z.array(given).default([]),
  legacy_request: z.strictObject({
    method: z.string(),
    path: z.string(),
    query: names.optional(),
    headers: names.optional(),
    body: z.unknown().optional(),
    /** The body as it is, where it is no JSON. */
    text: z.string().optional(),
  }),
  upstream: z.array(step).default([]),
  legacy_answer: answer,
  /** What does not reach the other side, by its path. */
  losses: z.array(z.string()).default([]),
  /** The action of the webhook that comes after the answer; the last upstream step is the read it causes. */
  event: z.string().optional(),
  /** What the merchant is told; none without it. */
  notice: z
    .strictObject({
      dialect: z.enum(['point_integration_ipn', 'point_integration_wh']).default('point_integration_ipn'),
      query: names,
      headers: names.default({}),
      body: z.unknown(),
    })
    .optional(),
  /** The legacy error of the errors table, where the story answers otherwise. */
  tables_say: z.unknown().optional(),
  /** The upstream call of an error that no operation can meet yet: only the engine runs the exchange. */
  tables_alone: z.literal('refund').optional(),
};

const exchange = z.strictObject(shape);
export type Written = z.infer<typeof exchange>;
export type Step = Written['upstream'][number];
export type Answer = z.infer<typeof answer>;

/** In a table every case says what differs; `answer` is the answer of the upstream steps that have none. */
const table = z.strictObject({
  ...shape,
  what: z.string(),
  legacy_answer: answer.optional(),
  cases: z.array(z.unknown()),
});
const oneCase = z.strictObject({ ...z.strictObject(shape).partial().shape, answer: answer.optional() });

export interface Exchange extends Written {
  /** Name of the folder, which must be an operation's. */
  operation: string;
  /** For reports: file, number in its table, and what it shows. */
  title: string;
}

export const exchangesDirectory = import.meta.dirname;

/** Everything below the directory that is neither code nor its README; a file in the wrong place or of the wrong kind is in here too. */
export function exchangeFiles(): string[] {
  return readdirSync(exchangesDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts') && entry.name !== 'README.md')
    .map((entry) => relative(exchangesDirectory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/** True for `<operation>/<case>.yaml`; nothing else is read. */
export function isExchangeFile(file: string): boolean {
  return /^[a-z_]+\.[a-z_]+\/[a-z0-9-]+\.yaml$/.test(file);
}

/** @throws Error with the file and what is wrong in it. */
export function readExchanges(file: string): Exchange[] {
  const content: unknown = parse(readFileSync(join(exchangesDirectory, file), 'utf8'), { merge: true });
  const operation = dirname(file);
  const isTable = content !== null && typeof content === 'object' && 'cases' in content;
  if (!isTable) return [complete(file, operation, '', content)];
  const { cases, ...base } = checked(file, table, content);
  // The defaults of the table are the table's; what the file says itself is merged, so that cases stay short.
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
  for (const [index, one] of written.upstream.entries()) {
    if (one.answer === undefined) throw new Error(`${file}${number}: upstream step ${index + 1} has no answer`);
  }
  return { ...written, operation, title: `${operation}/${basename(file, '.yaml')}${number}: ${written.what}` };
}

function checked<Out>(file: string, schema: z.ZodType<Out>, content: unknown): Out {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new Error(`test/exchanges/${file}: ${z.prettifyError(parsed.error)}`);
}
