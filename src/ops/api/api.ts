/** The ops API as one list of routes, and the same for callers in the same process. */
import type { z } from 'zod';
import { version } from '../../version.ts';
import { defined } from '../fields.ts';
import { evidenceRoutes } from './evidence.ts';
import { fleetRoutes } from './fleet.ts';
import { incidentRoutes } from './incidents.ts';
import { merchantRoutes } from './merchants.ts';
import { moveRoutes } from './moves.ts';
import { noticeRoutes } from './notices.ts';
import { openApiRoute } from './openapi.ts';
import type { Person } from './person.ts';
import { planRoutes } from './plan.ts';
import { reportRoutes } from './report.ts';
import { type AnswerOf, type OpsParts, type OpsRoute, permit, runRow } from './route.ts';
import { isStreamed } from './stream.ts';
import { tableRoutes } from './tables.ts';
import { traceRoutes } from './trace.ts';
import { upkeepRoutes } from './upkeep.ts';

const features = [
  ...evidenceRoutes,
  ...fleetRoutes,
  ...incidentRoutes,
  ...merchantRoutes,
  ...moveRoutes,
  ...noticeRoutes,
  ...planRoutes,
  ...reportRoutes,
  ...tableRoutes,
  ...traceRoutes,
  ...upkeepRoutes,
];

export const opsRoutes: readonly OpsRoute[] = [...features, openApiRoute(version, features)];

/** By the name of its row, what the API answers. */
export type Answers = { [Row in (typeof features)[number] as Row['name']]: AnswerOf<Row['answer']> };

/** By command, the answer of its rows, or the list where an answer holds only a list; unknown for a stream. */
export type CommandAnswers = {
  [Row in (typeof features)[number] as CommandOf<Row['command']>]: PrintedOf<Row['answer']>;
};

/** Without the flag that selects the row, such as `stage` of `stage --dry-run`. */
type CommandOf<Command extends string> = Command extends `${infer Words} --${string}` ? Words : Command;

type PrintedOf<Answer> = Answer extends z.ZodType ? ListIn<z.infer<Answer>> : unknown;

type ListIn<Answer> = Answer extends object
  ? {
      [Name in keyof Answer]-?: [keyof Answer, Answer[Name]] extends [Name, readonly unknown[]] ? Answer[Name] : Answer;
    }[keyof Answer]
  : Answer;

/** What a call of a row may take. */
export interface RowInput {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

/** The ops API for callers in the same process, such as the console: the same rows, roles, schemas and refusals. */
export interface OpsApi {
  /** The value that a client would read from the JSON; a stream as it is. @throws PuenteError as the API refuses. */
  ask<Name extends keyof Answers>(person: Person, name: Name, input?: RowInput): Promise<Answers[Name]>;
  /** For a caller that has work before it asks. @throws PuenteError forbidden when the person's role is not enough. */
  permit(person: Person, name: keyof Answers): void;
}

export function inProcessApi(parts: OpsParts): OpsApi {
  const named = new Map(features.map((row) => [row.name, row]));
  const rowOf = (name: keyof Answers) => named.get(name) as OpsRoute; // a name of its type is that of a row
  return {
    async ask(person, name, { path = {}, query = {}, body, signal = new AbortController().signal } = {}) {
      const answer = await runRow(rowOf(name), parts, { person, path, query: defined(query), body, signal });
      return isStreamed(answer) ? answer : JSON.parse(JSON.stringify(answer));
    },
    permit: (person, name) => permit(rowOf(name), person),
  };
}
