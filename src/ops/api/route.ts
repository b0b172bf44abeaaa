/** A route of the ops API as a row: what it takes and gives, who may use it, and the command that does the same. */
import type { z } from 'zod';
import type { Spoken } from '../../error.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { Installation } from '../doctor/installation.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { ReportFacts } from '../report/gather.ts';
import type { Person, Role } from './person.ts';

export type { Person, Role } from './person.ts';

/** What the operations of the ops door are handed beside the runtime. */
export interface OpsParts {
  runtime: Runtime;
  /** Throws PuenteError blocked_address for a URL that the outbound guard would refuse. */
  checkUrl(url: string): void;
  /** What reports say of the installation. */
  report_facts: ReportFacts;
  /** What the doctor is told of it. */
  installation: Installation;
  /** The board's one read, shared by all who look. */
  fleet: Fleet;
}

/** An answer that is not one JSON value: written in parts as they are made, never gathered in memory. */
export interface Streamed {
  content_type: string;
  /** Offered to a browser as the file's name; null shows it in place. */
  file_name: string | null;
  parts: AsyncIterable<string>;
}

export interface OpsCall {
  path: Record<string, string>;
  /** Parsed by the row's schemas; a row says with one sentence what it takes them for. */
  query: unknown;
  body: unknown;
  person: Person;
  /** Aborted when the client goes before it has its answer. */
  signal: AbortSignal;
}

export interface OpsRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Express path below the door, e.g. `/api/merchants/:id`. */
  path: string;
  role: Role;
  /** What a refusal for the role says beside it, where people would expect less to be enough. */
  role_note?: Spoken;
  /** One sentence for people. */
  summary: string;
  query?: z.ZodType;
  body?: z.ZodType;
  /** The JSON answer; of a streamed one, its content types. */
  answer: z.ZodType | { streams: readonly string[] };
  /** The command that does the same, as `merchants show`. */
  command: string;
  run(parts: OpsParts, call: OpsCall): Promise<unknown>;
}

/** Marks the answer of `run` as streamed. */
export function streamed(answer: Streamed): Streamed & { streamed: true } {
  return { ...answer, streamed: true };
}

/** Gives a row's `run` the types of its schemas; the door has parsed both by then. */
export function opsRoute<Query extends z.ZodType, Body extends z.ZodType>(
  row: Omit<OpsRoute, 'query' | 'body' | 'run'> & {
    query?: Query;
    body?: Body;
    run(
      parts: OpsParts,
      call: Omit<OpsCall, 'query' | 'body'> & { query: z.infer<Query>; body: z.infer<Body> },
    ): Promise<unknown>;
  },
): OpsRoute {
  return row as OpsRoute; // the door parses query and body with these very schemas before it calls `run`
}
