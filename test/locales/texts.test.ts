/** Translated texts of tables, settings and the register: one per current English text, with its names and numbers. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { assumptionsOf } from '../../src/config/describe.ts';
import { type TextList, textLists, textsOf } from '../../src/locales/texts.ts';
import { loadWords } from '../../src/locales/words.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { rowsOf, wholeRows } from '../../src/mapping/row.ts';
import { html, written } from '../../src/ops/html.ts';
import type { Rule } from '../../src/proxy/shadow/rule.ts';
import { rulesOf } from '../../src/proxy/shadow/rules.ts';

const HOUSE = join(import.meta.dirname, '../..');
const tables = loadTables(join(HOUSE, 'mappings'));
const rows = tables.documents.tables.flatMap((table) => wholeRows(rowsOf(table.table, table.rows)));

/** Loss texts in the source code, with `{}` for each inserted value. */
function lossesInCode(): string[] {
  const converters = readdirSync(join(HOUSE, 'src/mapping/converters')).toSorted();
  const files = [...converters.map((name) => `src/mapping/converters/${name}`), 'src/mapping/compile.ts'];
  const code = ['src/mapping/values.ts', ...files, 'src/mapping/fields.ts', 'src/ops/readiness/coverage.ts'];
  return code.flatMap((file) =>
    [...readFileSync(join(HOUSE, file), 'utf8').matchAll(LOSS)].map(([, , text]) =>
      (text ?? '').replaceAll(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, '{}'),
    ),
  );
}

const LOSS = /(?:\bloss(?:: | = )|const why = |advice: |advice \?\? )(['`])(.*?)\1/g;

/** The text of a rule after its field, with `{}` for inserted paths and lists. */
function predictionOf({ code, path, why }: Rule): string {
  if (code === 'required_properties' || code === 'property_type') return `{}: ${why.replace(path, '{}')}`;
  if (code !== 'minimum_properties' && code !== 'unsupported_properties') return `{}: ${why}`;
  const begun = path === '' ? why : why.replace(path, '{}');
  return `{}: ${begun.replace(/ of type \w+ has no properties but .*\.$/s, ' of type {} has no properties but {}.')}`;
}

/** Compares by the order in the text list, because rules are listed in another order. */
function inOrderOf(texts: readonly { en: string }[]): (one: string, other: string) => number {
  const places = new Map(texts.map(({ en }, index) => [en, index]));
  return (one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0);
}

/** Current English texts, by the list that translates them. */
const said: Record<TextList, readonly string[]> = {
  limitations: [
    ...new Set(
      tables.limitations.flatMap(({ title, effect, workaround, counted }) => [
        ...[title, effect, workaround],
        ...('unseen' in counted ? [counted.unseen] : []),
      ]),
    ),
  ],
  reasons: [
    ...rows.map(({ why }) => why),
    ...rows.flatMap(({ advice }) => (advice === null ? [] : [advice])),
    ...lossesInCode(),
  ],
  assumptions: assumptionsOf(loadConfig({ env: { PUENTE_UPSTREAM: 'sandbox' }, cwd: HOUSE })).map(
    ({ sentence }) => sentence,
  ),
  predictions: [...rulesOf.point, ...rulesOf.qr].map(predictionOf).toSorted(inOrderOf(textsOf('predictions'))),
};

/** Parts equal in every language: code in backticks, paths, names, codes, states in capitals, numbers, places. */
function tokensOf(text: string): string[] {
  const quoted = text.match(/`[^`]*`/g) ?? [];
  const plain = text.replaceAll(/`[^`]*`/g, ' ').replaceAll(/(\d),(\d)/g, '$1.$2');
  // The plural of an abbreviation differs by language.
  const names = (plain.match(NAMES) ?? []).map((name) => name.replace(/\.$/, '').replace(/^([A-Z]{2,})s$/, '$1'));
  const places = text.split('{}').map((_part, index) => `{} ${index}`);
  return [...new Set([...quoted, ...names, ...places])].toSorted();
}

const NAMES =
  /[\w.<>[\]-]*[_/][\w.<>[\]/-]*|\b[A-Z][A-Z\d-]+s?\b|\b[A-Z]\w*-[\w-]+|\b[a-z]\w*(?:\.\w+)+|\d+(?:\.\d+)?/g;

describe.each(textLists)('the texts of %s', (list) => {
  const texts = textsOf(list);

  it('are those that are said in English now, in their order: none is missing, changed, or said no more', () => {
    expect(texts.map(({ en }) => en)).toEqual([...new Set(said[list])]);
  });

  it('are in three languages, none of them empty', () => {
    for (const text of texts) {
      expect(Object.keys(text).toSorted(), text.en).toEqual(['en', 'es', 'pt']);
      expect(
        Object.values(text).map((one) => one.trim()),
        text.en,
      ).not.toContain('');
    }
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
    for (const words of [es, pt]) expect(String(html`${written(words, own)}`)).toBe(`<span lang="en">${own}</span>`);
    expect(String(html`${written(en, own)}`)).toBe(own);
    const [first] = textsOf('limitations');
    expect([es, pt, en].map((words) => words.written(first?.en ?? ''))).toEqual([first?.es, first?.pt, first?.en]);
  });

  it('has what differs from case to case in its place, whatever it is', () => {
    const { es, pt } = loadWords();
    expect(es.written('orders have no counterpart of a.b (c)\nd')).toBe('orders no tiene equivalente de a.b (c)\nd');
    expect(pt.written('orders have no counterpart of x; the preference is dropped')).toBe(
      'orders não tem equivalente de x; a preferência é descartada',
    );
    expect(es.written('orders take 10 items; the last 3 of 12 became one')).toBe(
      'orders acepta hasta 10 ítems; los últimos 3 de 12 pasaron a ser uno',
    );
    expect(es.written('orders have no counterpart of ')).toBeNull();
  });

  it('is known without its full stop too, as it stands inside a sentence', () => {
    expect(loadWords().es.written('Given back as the till sent it')).toBe('Se devuelve como lo envió la caja');
  });
});
