/** Texts of tables, settings and the register in Spanish and Portuguese: each there once, as it is said in English now, with its names and numbers. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { html, textOf } from '../../src/console/html.ts';
import { written } from '../../src/console/says.ts';
import { readTexts, type TextList, textLists, textsOf } from '../../src/console/texts.ts';
import { loadWords } from '../../src/console/words.ts';
import { loadTables } from '../../src/mapping/load.ts';

const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'));

/** What is said in English now, by the file that has it in the other languages. */
const said: Record<TextList, readonly string[]> = {
  limitations: tables.limitations.flatMap(({ title, effect, workaround }) => [title, effect, workaround]),
};

/** What stays as it is in every language: what stands in backticks, paths, names, codes and states in capitals, and numbers. */
function tokensOf(text: string): string[] {
  const quoted = text.match(/`[^`]*`/g) ?? [];
  const plain = text.replaceAll(/`[^`]*`/g, ' ').replaceAll(/(\d),(\d)/g, '$1.$2');
  const names =
    plain.match(/[\w.<>[\]-]*[_/][\w.<>[\]/-]*|\b[A-Z][A-Z\d-]+\b|\b[A-Z]\w*-[\w-]+|\d+(?:\.\d+)?|\{\}/g) ?? [];
  return [...new Set([...quoted, ...names.map((name) => name.replace(/\.$/, ''))])].toSorted();
}

describe.each(textLists)('the texts of %s', (list) => {
  const texts = textsOf(list);

  it('are those that are said in English now, in their order: none is missing, changed, or said no more', () => {
    expect(texts.map(({ en }) => en)).toEqual([...new Set(said[list])]);
  });

  it.each(['es', 'pt'] as const)('are translated, with every name and number: %s', (language) => {
    for (const text of texts) {
      expect([text.en, tokensOf(text[language])]).toEqual([text.en, tokensOf(text.en)]);
      expect(text[language]).not.toBe(text.en);
    }
  });
});

describe('a text', () => {
  it('stands in one file only', () => {
    const all = textLists.flatMap((list) => textsOf(list).map(({ en }) => en));
    expect(all.filter((en, index) => all.indexOf(en) !== index)).toEqual([]);
  });

  it('that nobody has translated is shown in English, and says so', async () => {
    const { es, pt, en } = loadWords();
    const own = 'a row of an operator’s own';
    for (const words of [es, pt, en])
      expect(await textOf(html`${written(words, own)}`)).toBe(`<span lang="en">${own}</span>`);
    const [first] = textsOf('limitations');
    expect([es, pt, en].map((words) => words.written(first?.en ?? ''))).toEqual([first?.es, first?.pt, null]);
  });

  it('that lacks a language, is empty or stands twice is told with its place', () => {
    const entry = { en: 'one', es: 'uno', pt: 'um' };
    const told = (texts: unknown): (() => unknown) => {
      return () => readTexts('some', JSON.stringify(texts));
    };
    expect(told([entry])()).toEqual([entry]);
    expect(told([entry, { en: 'two', es: 'dos' }])).toThrow(/words\/some\.yaml.*\n.*\[1\]\.pt/s);
    expect(told([{ ...entry, pt: '' }])).toThrow('[0].pt');
    expect(told([entry, { ...entry, pt: 'outro' }])).toThrow(/twice\n.*\[1\]\.en/s);
  });
});
