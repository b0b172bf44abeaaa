/** One look at a page, or one form that was sent: who, in which language, and the ops API to ask. */
import type { z } from 'zod';
import type { PuenteError } from '../../error.ts';
import type { Language, Words } from '../../locales/words.ts';
import type { Asked, RowName } from '../api/in-process.ts';
import type { Person } from '../api/route.ts';
import type { Html } from './html.ts';

/** What a form or a query holds: the last of each name. */
export type Fields = Readonly<Record<string, string>>;

export interface Visit {
  person: Person;
  words: Words;
  /** Parameters of the page's path. */
  path: Fields;
  query: Fields;
  /** What was sent, where a form was refused and its page is shown again; else empty. */
  sent: Fields;
  /** What a form was refused for; null for a look. */
  refused: PuenteError | null;
  /** Each form of the page carries it. */
  form_token: string;
  /** Aborted when nobody waits for the page any more; for what takes long. */
  signal: AbortSignal;
  /** Asks the ops API for this person, and reads the answer by the row's own schema. @throws PuenteError as it refuses. */
  ask<Schema extends z.ZodType>(row: RowName, schema: Schema, asked?: Asked): Promise<z.infer<Schema>>;
  /** Asks for something whose answer is not needed, or is no JSON. */
  tell(row: RowName, asked?: Asked): Promise<unknown>;
}

export interface Shown {
  title: string;
  content: Html;
}

/** A page as a row. */
export interface Page {
  /** Express path. */
  path: string;
  show(visit: Visit): Promise<Shown>;
}

/** A form as a row: what it does, and where it leads. */
export interface Form {
  path: string;
  /** Shown again with the refusal when the operation is refused. */
  page: Page;
  /** @returns the path to go on to. @throws PuenteError as the API refuses. */
  send(visit: Visit, fields: Fields): Promise<string>;
}

/** A file that the API makes, as a row. */
export interface Download {
  path: string;
  /** Shown with the refusal when the file is refused. */
  page: Page;
  row: RowName;
  /** @param language of the page. */
  queryOf(query: Fields, language: Language): Record<string, string>;
}

/** A path with a query; what is undefined or empty is left out. */
export function linkTo(path: string, query: Record<string, string | number | undefined> = {}): string {
  const named = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return named.length === 0 ? path : `${path}?${new URLSearchParams(named)}`;
}

/** The path of a merchant's page, or of what is below it. */
export function merchantPath(id: string, below = ''): string {
  return `/merchants/${encodeURIComponent(id)}${below}`;
}
