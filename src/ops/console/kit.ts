/** Shared parts of the console: language, cookies, forms, links, and the files that pages load. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type Language, languages, loadWords, type Words } from '../../locales/words.ts';
import type { Answers, RowInput } from '../api/api.ts';
import type { ConsoleParts } from '../api/parts.ts';
import type { Person } from '../api/person.ts';
import { CHART_STYLE } from '../charts/charts.ts';
import type { Html } from '../html.ts';

export type Kit = ReturnType<typeof createKit>;

/** Reads the console's files and all catalogues of texts from disk, once. */
export function createKit(parts: ConsoleParts) {
  return { parts, files: consoleFiles(), words: loadWords() };
}

/** The language chosen on a page; it overrides the browser's. */
export const LANGUAGE_COOKIE = 'puente_language';

/** Own files only; no inline script or style, no framing, no foreign form target (`test/faults/README.md` F126). */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Sends a page with its policy. With `no-referrer`, browsers would send no origin with the page's own forms. */
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

/** Compares two letters, so `pt-BR` and `es-419` match. */
function preferredOf(request: Request): string | undefined {
  const accepted = request.acceptsLanguages().map((one) => one.slice(0, 2).toLowerCase());
  return accepted.find((one) => languages.some((language) => language === one));
}

/** The signed session cookie (`src/ops/api/access.ts`); '' for none. */
export function sessionOf({ parts }: Kit, request: Request): string {
  return cookieOf(request, parts.sessions.cookie);
}

/** '' for none. */
function cookieOf(request: Request, name: string): string {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** The last string of each name of a form, query or path; other values are left out. */
export function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]): [string, string][] => {
      const last: unknown = Array.isArray(one) ? one.at(-1) : one;
      return typeof last === 'string' ? [[name, last]] : [];
    }),
  );
}

/** A redirect target on this door; anything else becomes the board (`/`). */
export function ownPath(requested: string | undefined): string {
  const base = 'http://own.invalid';
  const url = requested?.startsWith('/') === true ? URL.parse(requested, base) : null;
  // A path that begins with `//` names another host, and parsing can leave one.
  return url?.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : '/';
}

// A visit: one page view or one submitted form, with person, language and access to the ops API.

/** Of a form, query or path: the last value of each name. */
export type Fields = Readonly<Record<string, string>>;

export interface Visit {
  person: Person;
  words: Words;
  path: Fields;
  query: Fields;
  /** Fields of a refused form, whose page is shown again; else empty. */
  sent: Fields;
  /** The refusal of a form; null for a page view. */
  refused: PuenteError | null;
  /** A hidden field of each form of the page. */
  form_token: string;
  /** Aborted when the client disconnects; for long work. */
  signal: AbortSignal;
  /** Calls the ops API as this person. @throws PuenteError as the API refuses. */
  ask<Name extends keyof Answers>(row: Name, input?: RowInput): Promise<Answers[Name]>;
  /** For a form whose text is read before it asks. @throws PuenteError forbidden. */
  permit(row: keyof Answers): void;
}

export interface Shown {
  title: string;
  /** Stays in view while the page is scrolled. */
  bar?: Html;
  content: Html;
}

export interface Page {
  /** Express path. */
  path: string;
  /** @throws PuenteError as the API refuses; it becomes a page with that status. */
  show(visit: Visit): Promise<Shown>;
}

export interface Form {
  path: string;
  /** Shown again with a refusal. */
  page: Page;
  /**
   * @returns the path to redirect to; or what to show, for a form that changes nothing, or nothing more when it is sent again.
   * @throws PuenteError as the API refuses.
   */
  send(visit: Visit, fields: Fields): Promise<string | Shown>;
}

/** A form with a reason alone, for a row that takes no more. @param next the path to redirect to. */
export function reasonForm(path: string, page: Page, row: keyof Answers, next: (named: Fields) => string): Form {
  return {
    path,
    page,
    async send({ ask, path: named }, { reason }) {
      await ask(row, { path: named, body: { reason } });
      return next(named);
    },
  };
}

export interface Download {
  path: string;
  /** Shown with a refusal. */
  page: Page;
  row: 'GET /api/exchanges' | 'GET /api/report';
  /** The row's query from the page's own; what the page does not name is left out. */
  queryOf(query: Fields, language: Language): Record<string, string>;
}

/** Empty fields are left out of the query. */
export function linkTo(path: string, query: Parameters<typeof given>[0] = {}): string {
  const text = new URLSearchParams(given(query)).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Trimmed fields; empty ones are left out. */
export function given(values: Record<string, string | number | undefined>): Record<string, string> {
  const pairs = Object.entries(values).map(([name, value = '']) => [name, String(value).trim()] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ''));
}

/** The names in a field, separated by commas. */
export function listIn(text: string): string[] {
  const names = text.split(',').map((one) => one.trim());
  return names.filter((one) => one !== '');
}

/** A `datetime-local` field has no time zone; the console uses UTC. */
export function instantOf(value = ''): string {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(value)
    ? `${value.length === 16 ? `${value}:00` : value}Z`
    : value;
}

/** @param below begins with a slash, and is not encoded again. */
export function merchantPath(id: string, below = ''): string {
  return `/merchants/${encodeURIComponent(id)}${below}`;
}

// The files that pages load; none comes from another host.

export type ConsoleFiles = ReturnType<typeof consoleFiles>;

const require = createRequire(import.meta.filename);

/** Concatenated in this order. */
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

function consoleFiles() {
  const htmx = require.resolve('htmx.org/dist/htmx.min.js');
  const sheets = SHEETS.map((name) => readFileSync(join(import.meta.dirname, name)));
  const style = kept('console', 'css', 'text/css', Buffer.from(String(CHART_STYLE)), ...sheets);
  const icon = kept('puente', 'svg', 'image/svg+xml', readFileSync(join(import.meta.dirname, 'puente.svg')));
  const own = readFileSync(join(import.meta.dirname, 'read-file.js'));
  const script = kept('console', 'js', 'text/javascript', readFileSync(htmx), Buffer.from('\n'), own);
  const files = new Map([style, script, icon].map((file) => [file.path, file]));
  /** Needs no sign-in: the files contain nothing about the installation. */
  const handler: RequestHandler = (request, response) => {
    const file = files.get(request.path);
    if (file === undefined) throw new PuenteError('not_found', say('refusal.no_file', {}));
    response.set('Cache-Control', 'public, max-age=31536000, immutable');
    response.type(`${file.type}; charset=utf-8`).send(file.bytes);
  };
  // Each path contains a hash of the content, so browsers may cache it for ever.
  return { style: style.path, script: script.path, icon: icon.path, handler };
}

function kept(name: string, extension: string, type: string, ...parts: Buffer[]) {
  const bytes = Buffer.concat(parts);
  const mark = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { path: `/files/${name}.${mark}.${extension}`, type, bytes };
}
