/** A row of a table: its grammar in YAML, and its parsed form. */
import { z } from 'zod';
import { type Path, parsePath } from './path.ts';

const verbs = ['copy', 'const', 'context', 'drop', 'each'] as const;
type Verb = (typeof verbs)[number];

/** `silent`: no till needs the field. `note`: a loss is recorded. `refuse`: the call is refused. */
export const policies = ['silent', 'note', 'refuse'] as const;
export type Policy = (typeof policies)[number];

/** How double reads compare a field with legacy's; `unordered` is for lists, by a key of their elements. */
const matchers = ['equal', 'numeric', 'unordered', 'presence', 'volatile'] as const;
export type Matcher = (typeof matchers)[number];

/** The weight of a loss: money first, then identity, then the rest. */
const weights = ['money', 'identity'] as const;
export type Weight = (typeof weights)[number] | 'other';

export interface Row {
  /** `table#3`, or `table#3.1` inside an `each`; counted from 1. `table#own.1` is a row of one's own. */
  id: string;
  verb: Verb;
  /** Source path of copy, drop and each; context path of context; empty for const. */
  from: Path;
  to: Path | null;
  constant: unknown;
  converter: string | null;
  /** Source fields that the row accounts for beside `from`; its converter gets their values. */
  reads: Path[];
  policy: Policy | null;
  /** Null: at every site. */
  sites: string[] | null;
  /** The policy for the source field at the other sites; null when other rows cover them. */
  elsewhere: Policy | null;
  /** Written when the source field is absent or null. */
  otherwise: { value: unknown } | null;
  rows: Row[];
  matcher: Matcher;
  /** Target path of the key of an element; only for `unordered`. */
  by: Path | null;
  weight: Weight;
  /** What the maker of the till can do about the loss. */
  advice: string | null;
  why: string;
}

export const why = z.string().min(12, 'say why in a sentence');
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
  /** Of no file: given when rows are laid over others (`own-tables.ts`). */
  number?: string | undefined;
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

/**
 * Rows of a table with parsed paths and defaults filled in; ids are `table#1`, and `table#1.2` for the second row of
 * the list in row 1. @param parent number of that row, with its dot.
 */
export function rowsOf(table: string, rows: readonly WrittenRow[], parent = ''): Row[] {
  return rows.map((row, index) => {
    const number = row.number ?? `${parent}${index + 1}`;
    const verb = verbs.find((one) => Object.hasOwn(row, one)) as Verb; // the grammar demands exactly one
    return {
      id: oneText(`${table}#${number}`),
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

/** Internalized in V8, which compares it by address: a call that fires thirty rows compares ids some hundred times. */
function oneText(text: string): string {
  const [one = text] = Object.keys({ [text]: true });
  return one;
}

function toPath(text: string | undefined): Path {
  return text === undefined ? [] : (parsePath(text) ?? []);
}

// Rows with their paths from the top of source and target, for the proofs and the evidence.

/** Rows inside an `each` with their whole paths, elements as `[]`. */
export function wholeRows(rows: readonly Row[], from: Path = [], to: Path = []): Row[] {
  return rows.flatMap((row) => {
    const whole: Row = {
      ...row,
      from: row.verb === 'context' ? row.from : [...from, ...row.from],
      to: row.to === null ? null : [...to, ...row.to],
      reads: row.reads.map((path) => [...from, ...path]),
    };
    return [whole, ...wholeRows(row.rows, [...whole.from, '[]'], [...(whole.to ?? []), '[]'])];
  });
}

/** Rows with the rows of their lists, whose paths are relative: the index in the list is not known here. */
export function flat(rows: readonly Row[]): Row[] {
  return rows.flatMap((row) => [row, ...flat(row.rows)]);
}
