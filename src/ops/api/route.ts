/** A route of the ops API as a row: schemas, role, and the command that does the same; and what a call of a row may be refused for. */
import { z } from 'zod';
import { type Fact, PuenteError, type Spoken } from '../../error.ts';
import { decoded, say } from '../../locales/message.ts';
import type { Sender } from '../../proxy/notices/delivery.ts';
import type { Installation } from '../doctor/finding.ts';
import { refuseEmptyWindow } from '../fields.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Alerting } from '../incidents/alerts.ts';
import type { Ports } from '../ports.ts';
import type { ReportFacts } from '../report/gather.ts';
import { merchantsMeant, namingRefusal } from '../whose.ts';
import { isEnough, type Person, type Role } from './person.ts';
import type { Streamed } from './stream.ts';

export interface OpsParts {
  ports: Ports;
  /** @throws PuenteError blocked_address for a URL that the outbound guard would refuse. */
  checkUrl(url: string): void;
  /** Of notices, for tests of a receiver. */
  sender: Pick<Sender, 'send'>;
  report_facts: ReportFacts;
  installation: Installation;
  alerting: Alerting;
  /** One read of the fleet, shared by all viewers. */
  fleet: Fleet;
}

export interface OpsCall {
  path: Record<string, string>;
  /** In `run`, as the row's schemas have parsed it; the same for the body. */
  query: unknown;
  body: unknown;
  person: Person;
  /** Aborted when the client disconnects before it has the complete answer. */
  signal: AbortSignal;
}

export interface OpsRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Express path below the door, e.g. `/api/merchants/:id`. */
  path: string;
  role: Role;
  /** Added to the refusal of a role, where operators would expect a lower role to be enough. */
  role_note?: Spoken;
  summary: string;
  query?: z.ZodType;
  body?: z.ZodType;
  answer: z.ZodType | { streams: readonly string[] };
  /** The command that does the same, as `merchants show`. */
  command: string;
  /** @throws PuenteError, which becomes the refusal. */
  run(parts: OpsParts, call: OpsCall): Promise<unknown>;
}

export type RowName = `${OpsRoute['method']} /api/${string}`;

/** A row of the API. `run` gets query and body as the row's schemas have parsed them, and answers as its own says. */
export function opsRoute<
  Name extends RowName,
  Command extends string,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends OpsRoute['answer'],
>(
  role: Role,
  name: Name,
  row: Omit<OpsRoute, 'method' | 'path' | 'role' | 'query' | 'body' | 'run'> & {
    query?: Query;
    body?: Body;
    answer: Answer;
    command: Command;
    run(
      parts: OpsParts,
      call: Omit<OpsCall, 'path' | 'query' | 'body'> & {
        path: Record<Parameter<Name>, string>;
        query: z.infer<Query>;
        body: z.infer<Body>;
      },
    ): Promise<AnswerOf<Answer>>;
  },
): Omit<OpsRoute, 'answer'> & { name: Name; answer: Answer; command: Command } {
  const [method, path] = name.split(' ');
  return { name, method, path, role, ...row } as Omit<OpsRoute, 'answer'> & typeof row & { name: Name }; // the door parses query and body with these very schemas
}

/** The names in a path, such as `id` in `/api/merchants/:id/stage`. */
type Parameter<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Parameter<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What a row answers, as its schema says. */
export type AnswerOf<Answer> = Answer extends z.ZodType ? z.infer<Answer> : Streamed;

/** @throws PuenteError bad_request, naming each field and what it may be. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const wrong = result.error.issues.map((issue) => issueSaid(schema, issue));
  const once = new Map(wrong.map((one) => [one.text, one]));
  throw new PuenteError('bad_request', [...once.values()], { between: '; ' });
}

/** What is wrong with one field, where, and what it may be. @param issue with its input (`reportInput`). */
export function issueSaid(schema: z.core.$ZodType, issue: z.core.$ZodIssue): Spoken {
  if (issue.code === 'unrecognized_keys') return unknownFields(schema, issue);
  const [nearest] = issue.code === 'invalid_union' ? nearestAlternative(issue) : [];
  if (nearest !== undefined) return issueSaid(schema, { ...nearest, path: [...issue.path, ...nearest.path] });
  const where = issue.path.join('.');
  const is_missing = issue.code === 'invalid_type' && issue.input === undefined && where !== '';
  const ours = decoded(issue.message);
  if (is_missing && ours === null) return say('input.missing', { where, expected: issue.expected });
  const is_empty = issue.code === 'too_small' && issue.input === '';
  const wrong = ours ?? (is_empty ? say('input.empty', {}) : inEachLanguage(issue));
  return where === '' ? say('input.whole', { wrong }) : say('input.at', { where, wrong });
}

const zodLocales = { es: z.locales.es().localeError, pt: z.locales.pt().localeError };

function inEachLanguage(issue: z.core.$ZodIssue): Fact {
  const { message: en } = issue;
  const raw = issue as z.core.$ZodRawIssue; // what zod makes the message from; `reportInput` keeps the input in it
  const by = (localize: z.core.$ZodErrorMap): string => {
    const text = localize(raw);
    return typeof text === 'string' ? text : (text?.message ?? en);
  };
  return { en, es: by(zodLocales.es), pt: by(zodLocales.pt) };
}

function unknownFields(schema: z.core.$ZodType, issue: z.core.$ZodIssueUnrecognizedKeys): Spoken {
  const fields = issue.keys.map((key) => [...issue.path, key.slice(0, 60)].join('.'));
  const allowed = fieldsAt(schema, issue.path);
  const count = fields.length;
  return allowed?.length === 0
    ? say('input.none_taken', { fields, count })
    : say('input.unknown', { fields, count, allowed });
}

/** The issues of the alternative of a union that has the fewest: the caller most likely meant it. */
function nearestAlternative(issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  const [nearest] = issue.errors.toSorted((first, second) => first.length - second.length);
  return nearest ?? [];
}

/** The field names that the schema's object takes at a path; null where the schema doesn't say. */
export function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] | null {
  const kind = unwrapped(schema);
  const [name, ...rest] = path;
  if (name === undefined) return kind instanceof z.ZodObject ? Object.keys(kind.shape) : null;
  if (kind instanceof z.ZodArray && typeof name === 'number') return fieldsAt(kind.element, rest);
  if (!(kind instanceof z.ZodObject) || typeof name !== 'string' || !Object.hasOwn(kind.shape, name)) return null;
  const inner = kind.shape[name];
  return inner === undefined ? null : fieldsAt(inner, rest);
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPipe) return unwrapped(schema.out instanceof z.ZodTransform ? schema.in : schema.out);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap());
  if (schema instanceof z.ZodExactOptional) return unwrapped(schema.unwrap());
  return schema;
}

const NOTHING = z.strictObject({});

/** @throws PuenteError forbidden when the person's role is not enough. */
export function permit(row: OpsRoute, person: Person): void {
  if (isEnough(person.role, row.role)) return;
  throw new PuenteError(
    'forbidden',
    say('refusal.role', {
      name: person.name,
      role: person.role,
      command: row.command,
      row: `${row.method} ${row.path}`,
      needed: row.role,
      note: row.role_note ?? null,
    }),
    { facts: { role: person.role, needed: row.role } },
  );
}

/**
 * @param ask a call before any check; an undefined body is no body.
 * @throws PuenteError forbidden; bad_request for input that the row does not take; and as the operation refuses, with the names of
 * merchants.
 */
export async function runRow(row: OpsRoute, parts: OpsParts, ask: OpsCall): Promise<unknown> {
  permit(row, ask.person);
  try {
    return await run(row, parts, ask);
  } catch (error) {
    // Without names, if the store does not answer.
    throw error instanceof PuenteError ? await namingRefusal(parts.ports, error).catch(() => error) : error;
  }
}

async function run(row: OpsRoute, parts: OpsParts, ask: OpsCall): Promise<unknown> {
  if (row.body === undefined && ask.body !== undefined)
    throw new PuenteError('bad_request', say('refusal.no_body', { row: `${row.method} ${row.path}` }));
  const query = await withMerchants(parts, parsed(row.query ?? NOTHING, ask.query));
  const body = row.body && parsed(row.body, ask.body ?? {});
  for (const { since, until } of [query, body ?? {}] as { since?: unknown; until?: unknown }[]) // of any row
    if (typeof since === 'number')
      refuseEmptyWindow(since, typeof until === 'number' ? until : since + 1, parts.ports.clock.now());
  return row.run(parts, { ...ask, query, body });
}

/** The query of a list with the ids of those that its field `merchant` names (`whose`). */
async function withMerchants({ ports }: OpsParts, query: unknown): Promise<unknown> {
  const { merchant } = query as { merchant?: unknown }; // every query is an object
  if (!Array.isArray(merchant)) return query;
  return { ...(query as object), merchant: await merchantsMeant(ports, String(merchant[0])) };
}
