/** The words of pages and reports: equal keys and arguments in every language, each used, and no text without words. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../../src/error.ts';
import { type Catalogue, catalogueOf, languages, loadWords, parts } from '../../../src/locales/words.ts';
import { findingCodes } from '../../../src/ops/readiness/facts.ts';
import { idKinds } from '../../../src/ops/trace/trace.ts';
import { auditActions } from '../../../src/proxy/audit.ts';
import { legacySaleStates } from '../../../src/proxy/records/routing.ts';
import { linkStates } from '../../../src/proxy/sales/link.ts';
import { mismatchKinds } from '../../../src/proxy/sales/orphans.ts';

const HOUSES = ['ops/console', 'locales', 'ops/report', 'ops/charts'].map((name) =>
  join(import.meta.dirname, '../../..', 'src', name),
);

/** The arguments of a parsed message with their types (plain, number, plural …), nested ones included. */
function argumentsIn(elements: ReturnType<IntlMessageFormat['getAst']>): string[] {
  return elements.flatMap((element) => {
    const nested =
      'options' in element ? Object.values(element.options).flatMap(({ value }) => argumentsIn(value)) : [];
    // Type 0 is a literal: text, not an argument.
    return 'value' in element && element.type !== 0 ? [`${element.value}:${element.type}`, ...nested] : nested;
  });
}

function argumentsOf(text: string): string[] {
  return [...new Set(argumentsIn(new IntlMessageFormat(text, 'en').getAst()))].toSorted();
}

const catalogue = catalogueOf('en');
const english = { ...catalogue.pages, ...catalogue.reports };
const sources = HOUSES.flatMap((house) =>
  readdirSync(house, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(house, name), 'utf8')),
).join('\n');

describe.each(languages.filter((one) => one !== 'en'))('the words in %s', (language) => {
  const own = catalogueOf(language);

  it.each(parts)('have the keys of the English ones, in their order: %s', (part) => {
    expect(Object.keys(own[part])).toEqual(Object.keys(catalogue[part]));
  });

  it.each(parts)('take the same arguments: %s', (part) => {
    // Plural forms of messages differ by language, so only the names of their facts are compared.
    const told = (one: Catalogue, key: string): string[] => {
      const all = argumentsOf(one[part][key] ?? '');
      return part === 'messages' ? namesOf(all) : all;
    };
    for (const key of Object.keys(catalogue[part])) expect([key, told(own, key)]).toEqual([key, told(catalogue, key)]);
  });

  it.each(parts)('are translated: sentences of several words differ from the English ones: %s', (part) => {
    const same = Object.entries(catalogue[part]).filter(
      ([key, text]) => text.replaceAll(/\{[^{}]*\}/g, '').split(' ').length > 3 && own[part][key] === text,
    );
    expect(same).toEqual([]);
  });
});

function namesOf(all: readonly string[]): string[] {
  return [...new Set(all.map((argument) => argument.replace(/:\d+$/, '')))].toSorted();
}

/** Prefixes of words for facts of messages (`src/locales/message.ts`); a test below compares them with the source. */
const GROUPS = ['area.', 'unknown.', 'mismatch.', 'setting.'];

describe('the words', () => {
  it('name whatever the API names by a word', () => {
    const wanted = [
      ...findingCodes.map((code) => `finding.${code}`),
      ...auditActions.map((action) => `action.${action.replaceAll(/[^a-z]/g, '_')}`),
      ...mismatchKinds.map((kind) => `mismatch.${kind}`),
      ...[...linkStates, ...legacySaleStates].map((state) => `sale_state.${state}`),
      ...idKinds.map((kind) => `found.${kind.replace(' ', '_')}`),
    ];
    expect(wanted.filter((key) => !(key in english))).toEqual([]);
    const groups = ['mismatch.', 'found.', 'action.', 'sale_state.'];
    const there = Object.keys(english).filter((key) => groups.some((group) => key.startsWith(group)));
    expect(there.filter((key) => !wanted.includes(key))).toEqual([]);
  });

  it('are there for every key that a page names, and no others', () => {
    // Code names a key whole, or with a last part from a closed list.
    const named = [...sources.matchAll(/'([a-z_]+(?:\.[a-z_]+)+)'/g)].map(([, key]) => key ?? '');
    const parts = [...sources.matchAll(/`([a-z_]+(?:\.[a-z_]+)*\.)\$\{/g)].map(([, prefix]) => prefix ?? '');
    const tables = [...sources.matchAll(/\btable(?:Of)?\(\s*words,\s*'([^']+)'/g)].map(([, prefix]) => `${prefix}.`);
    const prefixes = [...parts, ...tables];
    const unused = Object.keys(english).filter(
      (key) => !named.includes(key) && ![...prefixes, ...GROUPS].some((prefix) => key.startsWith(prefix)),
    );
    expect(unused).toEqual([]);
    for (const prefix of prefixes)
      expect([prefix, Object.keys(english).some((key) => key.startsWith(prefix))]).toEqual([prefix, true]);
    const asked = [...sources.matchAll(/\bt\('([^']+)'/g)].map(([, key]) => key ?? '');
    expect(asked.filter((key) => !(key in english))).toEqual([]);
  });

  it('name refusals by their codes', () => {
    const codes = Object.keys(english).filter((key) => key.startsWith('refused.'));
    const known = [...errorCodes, 'other', 'title'].map((code) => `refused.${code}`);
    expect(codes.filter((key) => !known.includes(key))).toEqual([]);
  });

  it('count as each language does, and write numbers and instants its way', () => {
    const { es, pt, en } = loadWords();
    expect([1, 2].map((count) => en.t('board.blockers', { count }))).toEqual(['1 blocker', '2 blockers']);
    expect([1, 2].map((count) => es.t('board.blockers', { count }))).toEqual(['1 impedimento', '2 impedimentos']);
    expect([1, 2].map((count) => pt.t('board.blockers', { count }))).toEqual(['1 impedimento', '2 impedimentos']);
    expect([en.number(1234.567), es.number(12345.67), pt.number(1234.567)]).toEqual([
      '1,234.57',
      '12.345,67',
      '1.234,57',
    ]);
    expect([es, pt, en].map((one) => one.decimal('12345678901234567890.50'))).toEqual([
      '12.345.678.901.234.567.890,50',
      '12.345.678.901.234.567.890,50',
      '12,345,678,901,234,567,890.50',
    ]);
    expect([es.decimal('1500'), es.decimal('25.00')]).toEqual(['1500', '25,00']);
    const at = '2026-12-06T09:00:00.183Z';
    for (const one of [es, pt, en]) {
      expect([one.time(at), one.day(at)]).toEqual(['2026-12-06 09:00:00 UTC', '2026-12-06']);
      expect(one.moment(at)).toBe('2026-12-06 09:00:00.183 UTC');
    }
    const summary = (ready: number): string =>
      es.t('chart.readiness.summary', { day: 'hoy', ready, inconclusive: 0, blocked: 0 });
    expect([summary(1), summary(2)]).toEqual([
      'El hoy: 1 listo, 0 no concluyentes, 0 bloqueados.',
      'El hoy: 2 listos, 0 no concluyentes, 0 bloqueados.',
    ]);
    expect(es.t('chart.notices.summary', { delivered: 1, made: 12_345 })).toBe('1 de 12.345 está entregado.');
    expect(() => en.t('nobody.knows')).toThrow('no words');
  });
});
