/** What every request of the console needs, made once. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { type Language, languages, loadWords, type Words } from '../../locales/words.ts';
import { pageRefusals } from '../api/errors.ts';
import type { Asked, ConsoleParts } from '../api/parts.ts';
import type { Person, RowName } from '../api/router.ts';
import { CHART_STYLE } from '../charts/charts.ts';
import type { Html } from '../html.ts';

export type Kit = ReturnType<typeof createKit>;

export function createKit(parts: ConsoleParts) {
  return { parts, files: consoleFiles(), words: loadWords() };
}

/** The chosen language; it outranks the browser's. */
export const LANGUAGE_COOKIE = 'puente_language';

/** Only files of this door; no inline script or style, no frame, no other place to send a form to (`test/faults/README.md` F126). */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Sends a page with its policy. Without a referrer a browser would name no origin for the page's own forms either. */
export function sendPage(response: Response, page: Html): void {
  response.set({ 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'same-origin' });
  response.type('text/html; charset=utf-8').send(String(page));
}

/** The chosen language, else the browser's first that Puente has, else English. */
export function languageOf(request: Request): Language {
  const chosen = cookieOf(request, LANGUAGE_COOKIE);
  const known = languages.find((one) => one === chosen) ?? languages.find((one) => one === preferredOf(request));
  return known ?? 'en';
}

/** Also `pt-BR` and `es-419` name a language that there is. */
function preferredOf(request: Request): string | undefined {
  const asked = request.acceptsLanguages().map((one) => one.slice(0, 2).toLowerCase());
  return asked.find((one) => languages.some((language) => language === one));
}

/** The signed session that a browser sends; '' for none (`ops/api/session.ts`). */
export function sessionOf({ parts }: Kit, request: Request): string {
  return cookieOf(request, parts.sessions.cookie);
}

/** A cookie's value; '' for none. */
function cookieOf(request: Request, name: string): string {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** The last text of each name of a form, query or path; other values are left out. */
export function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]): [string, string][] => {
      const last: unknown = Array.isArray(one) ? one.at(-1) : one;
      return typeof last === 'string' ? [[name, last]] : [];
    }),
  );
}

/** A path of this door to go on to; whatever else is asked for leads to the board. */
export function ownPath(asked: string | undefined): string {
  const base = 'http://own.invalid';
  const url = asked?.startsWith('/') === true ? URL.parse(asked, base) : null;
  // With two slashes it would name another host, and parsing may leave such a path behind.
  return url?.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : '/';
}

// One look at a page, or one form that was sent: who, in which language, and the ops API to ask.

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
  /** Aborted when the client is gone; for work that takes long. */
  signal: AbortSignal;
  /** Asks the ops API for this person, and reads the answer by the row's own schema. @throws PuenteError as it refuses. */
  ask<Schema extends z.ZodType>(row: RowName, schema: Schema, asked?: Asked): Promise<z.infer<Schema>>;
  /** The same for an answer that is not needed, or is no JSON. */
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

/** A path with a query; empty fields are left out. */
export function linkTo(path: string, query: Parameters<typeof given>[0] = {}): string {
  const text = new URLSearchParams(given(query)).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The fields that are not empty. */
export function given(values: Record<string, string | number | undefined>): Record<string, string> {
  const pairs = Object.entries(values).map(([name, value = '']) => [name, String(value).trim()] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ''));
}

/** The path of a merchant's page, or of what is below it. */
export function merchantPath(id: string, below = ''): string {
  return `/merchants/${encodeURIComponent(id)}${below}`;
}

// The files that pages need, served from this process; nothing is fetched from elsewhere.

export type ConsoleFiles = ReturnType<typeof consoleFiles>;

const require = createRequire(import.meta.filename);

/** Sent as one, in this order. */
const SHEETS = [
  'colours.css',
  'ground.css',
  'forms.css',
  'pieces.css',
  'badges.css',
  'story.css',
  'charts.css',
  'media.css',
];

export function consoleFiles() {
  const htmx = require.resolve('htmx.org/dist/htmx.min.js');
  const sheets = SHEETS.map((name) => readFileSync(join(import.meta.dirname, name)));
  const style = kept('console', 'css', 'text/css', Buffer.from(String(CHART_STYLE)), ...sheets);
  const icon = kept('puente', 'svg', 'image/svg+xml', readFileSync(join(import.meta.dirname, 'puente.svg')));
  const script = kept('htmx', 'js', 'text/javascript', readFileSync(htmx));
  const files = new Map([style, script, icon].map((file) => [file.path, file]));
  /** Serves them to anybody: they say nothing of the installation. */
  const handler: RequestHandler = (request, response) => {
    const file = files.get(request.path);
    if (file === undefined) throw new PuenteError('not_found', pageRefusals.no_file);
    response.set('Cache-Control', 'public, max-age=31536000, immutable');
    response.type(`${file.type}; charset=utf-8`).send(file.bytes);
  };
  // Each path has a mark of its file's content, so that browsers may keep it for ever.
  return { style: style.path, script: script.path, icon: icon.path, handler };
}

function kept(name: string, extension: string, type: string, ...parts: Buffer[]) {
  const bytes = Buffer.concat(parts);
  const mark = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { path: `/files/${name}.${mark}.${extension}`, type, bytes };
}
