/** An explanation of one message: what becomes of it, row by row; and its text for people. */
import { stringifyJson } from '../contract/json.ts';
import { errorBody, legacyError } from '../contract/legacy-errors.ts';
import { PuenteError, type Said, type Spoken } from '../error.ts';
import { describeFired, type FiredRow } from './describe.ts';
import type { ExplainedKind } from './explain-input.ts';
import type { NoticeTopic } from './schema.ts';
import type { LoadedTables, Loss, Operation } from './tables.ts';

export interface Explanation {
  kind: ExplainedKind;
  /** Of the tables that explain it. */
  revision: string;
  /** Null when Puente has no operation for the request: it is proxied to legacy unchanged. */
  operation: string | null;
  /** Null when nothing is translated: refused, proxied, or answered from the store and by other calls of its story. */
  upstream: {
    method: string;
    path: string;
    query: Record<string, string>;
    headers: Record<string, string>;
    body: unknown;
  } | null;
  /** What the till or the receiver gets for an answer, an error or notices of upstream; null for a request. */
  answer: { status: number; body: unknown } | null;
  notices: { topic: NoticeTopic; body: unknown }[];
  fired: FiredRow[];
  losses: Loss[];
  /** The legacy answer, when the tables refuse the request. */
  refusal: { status: number; error: string; message: string } | null;
  /** The refusing row; null where the legacy contract refuses. */
  refused_by: { row: string; why: string } | null;
  /** Stand-ins for context values of a live call. */
  assumed: Record<string, string>;
  /** Decisions of a live call, in words. */
  notes: string[];
  /** The notes, for other languages. */
  notes_said: Said[];
  text: string;
}

/** Of a message that no row fires for. */
export const UNEXPLAINED: Omit<Explanation, 'kind' | 'revision' | 'text' | 'operation'> = {
  upstream: null,
  answer: null,
  notices: [],
  fired: [],
  losses: [],
  refusal: null,
  refused_by: null,
  assumed: {},
  notes: [],
  notes_said: [],
};

/** Notes as an explanation has them: in English, and as codes for other languages. */
export function noted(notes: readonly Spoken[]): Pick<Explanation, 'notes' | 'notes_said'> {
  return { notes: notes.map(({ text }) => text), notes_said: notes.map(({ said }) => said) };
}

/** The legacy answer of a refusal of the tables. @throws the error, when it is none. */
export function refusalOf(
  tables: LoadedTables,
  { family }: Operation,
  error: unknown,
): Pick<Explanation, 'refusal' | 'refused_by'> {
  if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
  const entry = legacyError(family, String(error.facts.error));
  if (entry === null) throw error;
  const body = errorBody(family, entry, String(error.facts.detail ?? ''));
  const [by] = describeFired(tables.documents, [String(error.facts.row)]);
  return {
    refusal: { status: entry.status, error: String(body.error), message: String(body.message) },
    refused_by: by ? { row: by.row, why: by.why } : null,
  };
}

// An explanation as text for people.

/** Adds the text for people, in English. @param operation null for a message of no operation. */
export function withText(found: Omit<Explanation, 'text'>, operation: Operation | null): Explanation {
  return { ...found, text: explanationText(found, operation) };
}

function explanationText(found: Omit<Explanation, 'text'>, operation: Operation | null): string {
  const all = found.kind === 'request' ? lines(found, operation) : linesOfUpstream(found, operation);
  return `${all.join('\n')}\n`;
}

/** For a message of upstream. */
function linesOfUpstream(found: Omit<Explanation, 'text'>, operation: Operation | null): string[] {
  const { answer, notices } = found;
  return [
    ...(operation === null ? [] : [`Operation  ${operation.name} (${operation.method} ${operation.path})`]),
    ...section(found.kind === 'error' ? 'The till gets the error' : 'The till gets', answerLines(answer)),
    ...(found.kind === 'notice'
      ? section(
          'Notices',
          notices.length === 0 ? ['  none'] : notices.flatMap(({ topic, body }) => [`  ${topic}`, ...jsonLines(body)]),
        )
      : []),
    ...refusalLines(found),
    ...rowLines(found),
    ...assumedLines(found),
    ...section(
      'Note',
      found.notes.map((note) => `  ${note}`),
    ),
  ].filter((line, index) => index > 0 || line !== '');
}

function answerLines(answer: Explanation['answer']): string[] {
  return answer === null ? [] : [`  ${answer.status}`, ...jsonLines(answer.body)];
}

function refusalLines({ refusal, refused_by }: Omit<Explanation, 'text'>): string[] {
  if (refusal === null) return [];
  const by = refused_by ? [`  ${refused_by.row}  ${refused_by.why}`] : [];
  return section('Refused', [`  ${refusal.status} ${stringifyJson(refusal)}`, ...by]);
}

function rowLines({ fired }: Omit<Explanation, 'text'>): string[] {
  return section(
    'Rows',
    fired.flatMap(({ row, says, why }) => [`  ${row}  ${says}`, `      ${why}`]),
  );
}

function assumedLines({ assumed }: Omit<Explanation, 'text'>): string[] {
  return section(
    'Assumed, because only a live call shows it',
    Object.entries(assumed).map(([key, value]) => `  ${key} = ${value}`),
  );
}

function jsonLines(body: unknown): string[] {
  if (body === undefined || body === null) return [];
  return (JSON.stringify(body, null, 2) ?? '').split('\n').map((line) => `  ${line}`);
}

function lines(found: Omit<Explanation, 'text'>, operation: Operation | null): string[] {
  if (operation === null) return ['No operation: proxied to the legacy upstream unchanged.'];
  const head = [`Operation  ${operation.name} (${operation.method} ${operation.path})`];
  const upstream_calls = section(
    'Also called, where the operation needs it',
    operation.asks.map((call) => `  ${call}`),
  );
  if (operation.request === null) return [...head, untranslated(operation), ...upstream_calls];
  if (found.refusal) return [...head, ...refusalLines(found), ...assumedLines(found)];
  return [
    ...head,
    ...section('Upstream', upstreamLines(found.upstream)),
    ...upstream_calls,
    ...rowLines(found),
    ...section(
      'Lost',
      found.losses.length === 0 ? ['  nothing'] : found.losses.map(({ path, why }) => `  ${path}: ${why}`),
    ),
    ...assumedLines(found),
    ...section(
      'Note',
      found.notes.map((note) => `  ${note}`),
    ),
  ];
}

/** For a call without a request table: its story may still call upstream, and answers with the result. */
function untranslated({ answer }: Operation): string {
  if (answer === null) return 'Nothing is translated: its story answers, or refuses.';
  return "Nothing is translated: what is Puente's own is answered from its store and its own reads; the rest is proxied.";
}

function section(title: string, body: readonly string[]): string[] {
  return body.length === 0 ? [] : ['', title, ...body];
}

function upstreamLines(upstream: Explanation['upstream']): string[] {
  if (!upstream) return [];
  const query = new URLSearchParams(upstream.query).toString();
  const headers = Object.entries(upstream.headers).map(([name, value]) => `  ${name}: ${value}`);
  return [
    `  ${upstream.method} ${upstream.path}${query === '' ? '' : `?${query}`}`,
    ...headers,
    ...jsonLines(upstream.body),
  ];
}
