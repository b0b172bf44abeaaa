/** The grammar of the table files: what a YAML file may say, and the rows it becomes. */
import { z } from 'zod';
import { families } from '../contract/legacy-errors.ts';
import { type Path, parsePath } from './path.ts';

export const verbs = ['copy', 'const', 'context', 'drop', 'each'] as const;
export type Verb = (typeof verbs)[number];

/** `silent`: nothing is lost that anyone misses. `note`: a loss is recorded. `refuse`: the call is refused. */
export const policies = ['silent', 'note', 'refuse'] as const;
export type Policy = (typeof policies)[number];

/** How a field of an answer is compared with legacy's in a double read; `unordered` is for lists, by a key of their elements. */
export const matchers = ['equal', 'numeric', 'unordered', 'presence', 'volatile'] as const;
export type Matcher = (typeof matchers)[number];

/** What a loss weighs beside all others: money first, then who and what it was for. */
export const weights = ['money', 'identity'] as const;
export type Weight = (typeof weights)[number] | 'other';

export interface Row {
  /** `table#3`, or `table#3.1` inside an `each`; counted from 1. */
  id: string;
  verb: Verb;
  /** Source path of copy, drop and each; context path of context; empty for const. */
  from: Path;
  to: Path | null;
  /** Value of a const. */
  constant: unknown;
  converter: string | null;
  /** Source fields that the row accounts for beside `from`; its converter gets their values. */
  reads: Path[];
  policy: Policy | null;
  /** Null: at every site. */
  sites: string[] | null;
  /** What happens to the source field at the other sites; null when other rows say it. */
  elsewhere: Policy | null;
  /** Written when the source field is absent or null. */
  otherwise: { value: unknown } | null;
  rows: Row[];
  matcher: Matcher;
  /** Target path inside an element that tells elements apart; for `unordered` alone. */
  by: Path | null;
  weight: Weight;
  /** What the till's maker is to do about the loss. */
  advice: string | null;
  why: string;
}

const why = z.string().min(12, 'say why in a sentence');
const path = z.string().refine((text) => parsePath(text) !== null, 'is not a path such as body.payments[0].amount');

interface WrittenRow {
  copy?: string | undefined;
  const?: unknown;
  context?: string | undefined;
  drop?: string | undefined;
  each?: string | undefined;
  to?: string | undefined;
  with?: string | undefined;
  reads?: string | string[] | undefined;
  policy?: Policy | undefined;
  sites?: string[] | undefined;
  elsewhere?: Policy | undefined;
  otherwise?: unknown;
  rows?: WrittenRow[] | undefined;
  match?: Matcher | undefined;
  by?: string | undefined;
  weight?: (typeof weights)[number] | undefined;
  advice?: string | undefined;
  why: string;
}

export const writtenRow: z.ZodType<WrittenRow> = z
  .strictObject({
    copy: path.optional(),
    const: z.unknown().optional(),
    context: path.optional(),
    drop: path.optional(),
    each: path.optional(),
    to: path.optional(),
    with: z.string().optional(),
    reads: z.union([path, z.array(path).min(1)]).optional(),
    policy: z.enum(policies).optional(),
    sites: z.array(z.string()).min(1).optional(),
    elsewhere: z.enum(policies).optional(),
    otherwise: z.unknown().optional(),
    get rows() {
      return z.array(writtenRow).min(1).optional();
    },
    match: z.enum(matchers).optional(),
    by: path.optional(),
    weight: z.enum(weights).optional(),
    advice: z.string().min(12, 'give the advice in a sentence').optional(),
    why,
  })
  .superRefine((row, check) => {
    const used = verbs.filter((verb) => Object.hasOwn(row, verb));
    const complain = (message: string) => check.addIssue({ code: 'custom', message });
    if (used.length !== 1)
      return complain(`needs exactly one of ${verbs.join(', ')}; it has ${used.join(' and ') || 'none'}`);
    const [verb] = used;
    if (verb === 'drop' && (row.policy === undefined) === (row.with === undefined))
      complain('a drop needs a policy or a converter');
    if (verb === 'drop' && row.to !== undefined) complain('a drop has no target');
    if (verb !== 'drop' && row.to === undefined) complain(`a ${verb} needs a target: to`);
    if (verb !== 'drop' && row.policy !== undefined) complain('only a drop has a policy');
    if ((verb === 'each') !== (row.rows !== undefined)) complain('an each, and only an each, has rows of its own');
    if (Object.hasOwn(row, 'otherwise') && verb !== 'copy') complain('only a copy has an otherwise');
    if (row.elsewhere !== undefined && (row.sites === undefined || verb === 'const'))
      complain('elsewhere needs sites and a source field');
  });

const name = z.string().regex(/^[a-z][a-z0-9_.]*$/);
const family = z.enum(families);
const unknownKeys = z.union([z.enum(policies), z.record(z.string(), z.enum(policies))]);

/** A table of rows between two contract schemas. */
export const fieldTable = z.strictObject({
  table: name,
  family,
  /** A table that no operation names: headers of a family's requests, the Point notice, a payment told from its order. */
  role: z.enum(['headers', 'notice', 'payment']).optional(),
  from: z.string(),
  to: z.string(),
  source: z.string().min(4),
  /** What happens to keys the source schema doesn't name: one policy, or one by site with `elsewhere`. */
  unknown: unknownKeys.optional(),
  rows: z.array(writtenRow).min(1),
});
export type WrittenTable = z.infer<typeof fieldTable>;

/** What a change is announced as: the Point notice, or the topics of IPN (`legacy-qr.md` §5.1). */
export const noticeTopics = ['point', 'payment', 'merchant_order'] as const;
export type NoticeTopic = (typeof noticeTopics)[number];

/** How order statuses show in a family's own states. */
export const statesTable = z.strictObject({
  table: name,
  family,
  role: z.literal('states'),
  source: z.string().min(4),
  rows: z.array(
    z.strictObject({
      status: z.string(),
      /** The row counts only with this status_detail; a row without one stands after it. */
      detail: z.string().optional(),
      /** One state, or one for each policy on declined payments. */
      shows: z.union([z.string(), z.strictObject({ error: z.string(), finished: z.string() })]),
      rank: z.int().positive(),
      final: z.boolean(),
      /** In the order of sending. */
      notices: z.array(z.enum(noticeTopics)),
      /** What a held state shows as once it can't move any more; rows without it are not held. */
      settled: z.string().optional(),
      why,
    }),
  ),
  /** Legacy states that no order status produces. */
  never: z.array(z.strictObject({ shows: z.string(), why })),
});
export type WrittenStates = z.infer<typeof statesTable>;

const errorRow = z.strictObject({
  /** Missing in the default row. `4xx` and `5xx` stand for every status of the class; `4xx` counts as a default too. */
  status: z.union([z.int().min(400).max(599), z.enum(['4xx', '5xx'])]).optional(),
  /** Missing: whatever the body says. Empty: the one documented answer without a code. */
  code: z.string().optional(),
  /** The row counts only when the upstream text says this. */
  says: z.string().optional(),
  /** The row counts only when the upstream text names this legacy property, or none. */
  property: z.string().optional(),
  error: z.string(),
  /** Converter that fills the `{}` of the message; when it finds nothing the next row is tried. */
  with: z.string().optional(),
  why,
});
export type WrittenErrorRow = z.infer<typeof errorRow>;

/** How upstream errors become legacy errors: rows by call, then rows for every call, the last one the default. */
export const errorsTable = z.strictObject({
  table: name,
  family,
  role: z.literal('errors'),
  source: z.string().min(4),
  calls: z.record(z.string(), z.array(errorRow).min(1)),
  any: z.array(errorRow).min(1),
});
export type WrittenErrors = z.infer<typeof errorsTable>;

export const operationsFile = z.strictObject({
  operations: z.array(
    z.strictObject({
      name,
      method: z.enum(['GET', 'POST', 'PATCH', 'PUT', 'DELETE']),
      path: z.string().startsWith('/'),
      /** Whose errors and envelope it has. */
      family,
      /** What a merchant is moved by (DESIGN, Words: Stage). */
      kind: z.enum(['devices', 'intents', 'qr', 'payments']),
      story: name,
      /** The call that is made of it. */
      upstream: z.string().nullable(),
      /** What its story may ask beside, to know what the call is about or what to answer. */
      asks: z.array(z.string().regex(/^(?:legacy )?(?:GET|POST) \/\S+$/)).default([]),
      request: name.nullable(),
      answer: name.nullable(),
      body: z.enum(['json', 'optional', 'dropped']),
      /** In shadow it is read on both sides, and the answers are compared. */
      double_read: z.boolean().default(false),
      source: z.string().min(4),
      why,
    }),
  ),
});
export type WrittenOperation = z.infer<typeof operationsFile>['operations'][number];

export const sitesFile = z.strictObject({
  sites: z.array(
    z.strictObject({
      /** `other` stands for every site not named here, and for a merchant whose site is not known yet. */
      id: z.string().regex(/^(?:M[A-Z]{2}|other)$/),
      currency: z.string().length(3),
      exponent: z.int().min(0).max(3),
      why,
    }),
  ),
});
export type WrittenSite = z.infer<typeof sitesFile>['sites'][number];

/** The rows of a table with their ids and parsed paths. */
export function rowsOf(table: string, rows: readonly WrittenRow[], parent = ''): Row[] {
  return rows.map((row, index) => {
    const number = `${parent}${index + 1}`;
    const verb = verbs.find((one) => Object.hasOwn(row, one)) as Verb; // the grammar demands exactly one
    return {
      id: `${table}#${number}`,
      verb,
      from: toPath(row.copy ?? row.context ?? row.drop ?? row.each),
      to: row.to === undefined ? null : toPath(row.to),
      constant: row.const,
      converter: row.with ?? null,
      reads: [row.reads ?? []].flat().map(toPath),
      policy: row.policy ?? null,
      sites: row.sites ?? null,
      elsewhere: row.elsewhere ?? null,
      otherwise: Object.hasOwn(row, 'otherwise') ? { value: row.otherwise } : null,
      rows: rowsOf(table, row.rows ?? [], `${number}.`),
      matcher: row.match ?? 'equal',
      by: row.by === undefined ? null : toPath(row.by),
      weight: row.weight ?? 'other',
      advice: row.advice ?? null,
      why: row.why,
    };
  });
}

function toPath(text: string | undefined): Path {
  return text === undefined ? [] : (parsePath(text) ?? []);
}
