/** An explanation as text for people. */
import { stringifyJson } from '../contract/json.ts';
import type { Explanation } from './explain.ts';
import type { Operation } from './tables.ts';

/** @returns the whole explanation, ended by a line break. */
export function explanationText(found: Omit<Explanation, 'text'>, operation: Operation | null): string {
  return `${lines(found, operation).join('\n')}\n`;
}

function lines(found: Omit<Explanation, 'text'>, operation: Operation | null): string[] {
  if (operation === null) return ['No operation: carried to the legacy upstream untouched.'];
  const head = [`Operation  ${operation.name} (${operation.method} ${operation.path})`];
  const asks = section(
    'Asked beside, as far as the call needs it',
    operation.asks.map((call) => `  ${call}`),
  );
  if (operation.request === null) return [...head, untranslated(operation), ...asks];
  const assumed = section(
    'Assumed, because only a live call knows it',
    Object.entries(found.assumed).map(([key, value]) => `  ${key} = ${value}`),
  );
  if (found.refusal) {
    const by = found.refused_by ? [`  ${found.refused_by.row}  ${found.refused_by.why}`] : [];
    const refused = section('Refused', [`  ${found.refusal.status} ${stringifyJson(found.refusal)}`, ...by]);
    return [...head, ...refused, ...assumed];
  }
  return [
    ...head,
    ...section('Upstream', upstreamLines(found.upstream)),
    ...asks,
    ...section(
      'Rows',
      found.fired.flatMap(({ row, says, why }) => [`  ${row}  ${says}`, `      ${why}`]),
    ),
    ...section(
      'Lost',
      found.losses.length === 0 ? ['  nothing'] : found.losses.map(({ path, why }) => `  ${path}: ${why}`),
    ),
    ...assumed,
    ...section(
      'Note',
      found.notes.map((note) => `  ${note}`),
    ),
  ];
}

/** What a call without a request table comes to: its story may still ask, and answers by what it hears. */
function untranslated({ answer }: Operation): string {
  if (answer === null) return 'Nothing is translated: its story answers, or refuses.';
  return "Nothing is translated: what is Puente's own is answered by what it has and what it asks; the rest is carried.";
}

function section(title: string, body: readonly string[]): string[] {
  return body.length === 0 ? [] : ['', title, ...body];
}

function upstreamLines(upstream: Explanation['upstream']): string[] {
  if (!upstream) return [];
  const query = new URLSearchParams(upstream.query).toString();
  const headers = Object.entries(upstream.headers).map(([name, value]) => `  ${name}: ${value}`);
  const body =
    upstream.body === undefined
      ? []
      : JSON.stringify(upstream.body, null, 2)
          .split('\n')
          .map((line) => `  ${line}`);
  return [`  ${upstream.method} ${upstream.path}${query === '' ? '' : `?${query}`}`, ...headers, ...body];
}
