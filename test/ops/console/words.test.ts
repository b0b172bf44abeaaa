/** The words of pages and reports: the same keys and arguments in every language, each of them used, and nothing said that has no words. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../../src/error.ts';
import { loadWords, messagesOf, saidIn } from '../../../src/locales/load.ts';
import { areaTexts, unknownWords } from '../../../src/locales/sentences/facts.ts';
import { type SentenceCode, sentences } from '../../../src/locales/sentences.ts';
import { languages } from '../../../src/locales/words.ts';
import { findingCodes } from '../../../src/ops/readiness/facts.ts';
import { idKinds } from '../../../src/ops/trace/trace.ts';
import { auditActions } from '../../../src/proxy/audit.ts';
import { legacySaleStates } from '../../../src/proxy/records/routing.ts';
import { linkStates } from '../../../src/proxy/sales/link.ts';
import { mismatchKinds } from '../../../src/proxy/sales/orphans.ts';

/** Who says something to people. */
const HOUSES = ['ops/console', 'locales', 'ops/report', 'ops/charts'].map((name) =>
  join(import.meta.dirname, '../../..', 'src', name),
);

/** The parts of a parsed message that name an argument, with its form (plain, number, plural …), whatever they are nested in. */
function argumentsIn(elements: ReturnType<IntlMessageFormat['getAst']>): string[] {
  return elements.flatMap((element) => {
    const nested =
      'options' in element ? Object.values(element.options).flatMap(({ value }) => argumentsIn(value)) : [];
    // A literal is a text and no name.
    return 'value' in element && element.type !== 0 ? [`${element.value}:${element.type}`, ...nested] : nested;
  });
}

function argumentsOf(text: string): string[] {
  return [...new Set(argumentsIn(new IntlMessageFormat(text, 'en').getAst()))].toSorted();
}

const english = messagesOf('en');
const sources = HOUSES.flatMap((house) =>
  readdirSync(house, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(house, name), 'utf8')),
).join('\n');

describe.each(languages.filter((one) => one !== 'en'))('the words in %s', (language) => {
  const messages = messagesOf(language);

  it('have the keys of the English ones, in their order', () => {
    expect(Object.keys(messages)).toEqual(Object.keys(english));
  });

  it('take the same arguments', () => {
    for (const [key, text] of Object.entries(english))
      expect([key, argumentsOf(messages[key] ?? '')]).toEqual([key, argumentsOf(text)]);
  });

  it('are translated: sentences of several words differ from the English ones', () => {
    const same = Object.entries(english).filter(([key, text]) => text.split(' ').length > 2 && messages[key] === text);
    expect(same).toEqual([]);
  });
});

/** Words for facts of sentences (`src/locales/says.ts`); the test below holds them against the lists of the core. */
const GROUPS = ['area.', 'unknown.', 'mismatch.'];

/** The facts that a sentence takes: those that it reads of what it is given. */
function factsOf(code: SentenceCode): string[] {
  const read = new Set<string>();
  const nothing = { text: '', join: () => '', map: () => [] };
  const get = (_target: object, name: string | symbol): typeof nothing => {
    read.add(String(name));
    return nothing;
  };
  const watched = new Proxy({}, { get });
  (sentences[code] as (facts: object) => string)(watched);
  return [...read].toSorted();
}

describe.each(['es', 'pt'] as const)('what the API says, in %s', (language) => {
  const messages = saidIn(language);

  it('has words for every code, and for no other', () => {
    expect(Object.keys(messages).toSorted()).toEqual(Object.keys(sentences).toSorted());
  });

  it('tells the facts of the English sentence', () => {
    for (const code of Object.keys(sentences) as SentenceCode[]) {
      const told = argumentsOf(messages[code] ?? '').map((argument) => argument.replace(/:\d+$/, ''));
      expect([code, [...new Set(told)].toSorted()]).toEqual([code, factsOf(code)]);
    }
  });
});

describe('the words', () => {
  it('name whatever the API names by a word', () => {
    const wanted = [
      ...findingCodes.map((code) => `finding.${code}`),
      ...auditActions.map((action) => `action.${action.replaceAll(/[^a-z]/g, '_')}`),
      ...mismatchKinds.map((kind) => `mismatch.${kind}`),
      ...Object.keys(areaTexts).map((area) => `area.${area}`),
      ...unknownWords.map((word) => `unknown.${word}`),
      ...[...linkStates, ...legacySaleStates].map((state) => `sale_state.${state}`),
      ...idKinds.map((kind) => `found.${kind.replace(' ', '_')}`),
    ];
    expect(wanted.filter((key) => !(key in english))).toEqual([]);
    const groups = ['area.', 'unknown.', 'mismatch.', 'found.', 'action.', 'sale_state.'];
    const there = Object.keys(english).filter((key) => groups.some((group) => key.startsWith(group)));
    expect(there.filter((key) => !wanted.includes(key))).toEqual([]);
  });

  it('are there for every key that a page names, and no others', () => {
    // A key is named whole, or with its last part taken from a closed list.
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
    expect([1, 2].map((count) => es.t('board.blockers', { count }))).toEqual(['1 bloqueo', '2 bloqueos']);
    expect([1, 2].map((count) => pt.t('board.blockers', { count }))).toEqual(['1 bloqueio', '2 bloqueios']);
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
    expect(en.time('2026-01-31T09:00:00Z')).toContain('2026');
    // In numbers alone nobody knows which of two is the month.
    expect([en, es].map((one) => one.moment('2026-12-06T09:00:00.183Z'))).toEqual([
      'Dec 06, 2026 09:00:00.183',
      '06/12/2026 09:00:00.183',
    ]);
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
