/** Finds the codes of texts that older builds stored without them; only for reading stored lines. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fact, Sentence } from '../error.ts';
import { lengthOf, placesIn } from './texts.ts';

/** English texts of those builds by code, in two groups: whole lines, and causes why an address is refused. */
type OlderTexts = Record<'lines' | 'addresses', Record<string, string>>;

interface Form {
  code: string;
  /** The text around the places, and the names of the places. */
  around: readonly string[];
  names: readonly string[];
}

/** Counts of a bulk move; zero counts were left out. */
const BULK_SUMMARY = new RegExp(
  `^(?=\\d)${['moved', 'proposed', 'refused', 'skipped', 'waiting'].map((one) => `(?:(?<${one}>\\d+) ${one}(?:, (?=\\d)|$))?`).join('')}$`,
);

let forms: Record<keyof OlderTexts, readonly Form[]> | null = null;

/** A stored text with its code and facts; `said` is null when no older build wrote it. */
export function olderText(text: string, group: keyof OlderTexts = 'lines'): Sentence {
  forms ??= readForms();
  const counts = group === 'lines' ? BULK_SUMMARY.exec(text)?.groups : undefined;
  if (counts !== undefined) return { text, said: { code: 'bulk.summary', facts: factsOf(Object.entries(counts)) } };
  for (const { code, around, names } of forms[group]) {
    const places = placesIn(around, text);
    if (places !== null)
      return { text, said: { code, facts: factsOf(names.map((name, index) => [name, places[index]])) } };
  }
  return { text, said: null };
}

/** A missing count is zero. Counts become numbers, ids do not. */
function factsOf(found: readonly [name: string, value: string | undefined][]): Record<string, Fact> {
  return Object.fromEntries(
    found.map(([name, value = '0']): [string, Fact] => {
      if (name === 'why') return [name, olderText(value)];
      if (name === 'cause') return [name, olderText(value, 'addresses')];
      return [name, /^\d{1,8}(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );
}

function readForms(): Record<keyof OlderTexts, readonly Form[]> {
  const written = readFileSync(join(import.meta.dirname, 'older-texts.json'), 'utf8');
  const { lines, addresses } = JSON.parse(written) as OlderTexts; // a test reads each text
  return { lines: formsOf(lines), addresses: formsOf(addresses) };
}

/** Forms with a sentence first, which other forms would match too; then the longest, as a form may begin another. */
function formsOf(texts: Readonly<Record<string, string>>): readonly Form[] {
  const isAround = ({ names }: Form): number => Number(names.includes('why'));
  return Object.entries(texts)
    .map(([code, text]): Form => {
      const parts = text.split(/[{}]/);
      const pick = (odd: 0 | 1): string[] => parts.filter((_part, index) => index % 2 === odd);
      return { code, around: pick(0), names: pick(1) };
    })
    .toSorted((one, other) => isAround(other) - isAround(one) || lengthOf(other.around) - lengthOf(one.around));
}
