/** What every request of the console needs, made once. */
import type { Request, Response } from 'express';
import { loadWords } from '../../locales/load.ts';
import { type Language, languages, type Words } from '../../locales/words.ts';
import type { ConsoleParts } from '../api/in-process.ts';
import { type ConsoleFiles, consoleFiles } from './files.ts';
import { type Html, textOf } from './html.ts';
import type { Fields } from './visit.ts';

export interface Kit {
  parts: ConsoleParts;
  files: ConsoleFiles;
  words: Readonly<Record<Language, Words>>;
}

export function createKit(parts: ConsoleParts): Kit {
  return { parts, files: consoleFiles(), words: loadWords() };
}

/** Holds what somebody has chosen over the language of the browser. */
export const LANGUAGE_COOKIE = 'puente_language';

/** Only files of this door; no inline script or style, no frame, no other place to send a form to (`reliability.md` F126). */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Sends a page with its policy. Without a referrer a browser would name no origin for the page's own forms either. */
export async function sendPage(response: Response, page: Html): Promise<void> {
  response.set({ 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'same-origin' });
  response.type('text/html; charset=utf-8').send(await textOf(page));
}

/** The language that somebody has chosen, else the browser's first that there is, else English. */
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
