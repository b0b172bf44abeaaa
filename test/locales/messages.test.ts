/** Messages by code: each is in the catalogue with its facts, is stored without text; older texts get their codes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/error.ts';
import { decoded, encoded, quoted, readStored, say } from '../../src/locales/message.ts';
import { olderText } from '../../src/locales/older-texts.ts';
import { catalogueOf, type Language, wordsOf } from '../../src/locales/words.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { rowsOf, wholeRows } from '../../src/mapping/row.ts';
import { html, saysAll } from '../../src/ops/html.ts';

const HOUSE = join(import.meta.dirname, '..', '..');
const { messages } = catalogueOf('en');
const sources = readdirSync(join(HOUSE, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(HOUSE, 'src', name), 'utf8') }));

type Elements = ReturnType<IntlMessageFormat['getAst']>;

function namesIn(elements: Elements): string[] {
  return elements.flatMap((element) => {
    const nested = 'options' in element ? Object.values(element.options).flatMap(({ value }) => namesIn(value)) : [];
    return 'value' in element && element.type !== 0 ? [element.value, ...nested] : nested;
  });
}

function factsOf(code: string): string[] {
  return [...new Set(namesIn(new IntlMessageFormat(messages[code] ?? '', 'en').getAst()))].toSorted();
}

/** The names in a flat object literal; null where a spread hides some. */
function namesOf(literal: string): string[] | null {
  if (literal.includes('...')) return null;
  const flat = literal.replaceAll(/\([^()]*\)|\[[^[\]]*\]|`[^`]*`|'[^']*'/g, '');
  return flat
    .split(',')
    .map((part) => part.split(':')[0]?.trim() ?? '')
    .filter((name) => name !== '')
    .toSorted();
}

/** A command that is named in a sentence without backticks. */
const BARE_COMMAND = /(?<![`\w])puente [a-z]/;

it.each(['en', 'es', 'pt'] as const)('commands stand between backticks, and are code on pages, in %s', (language) => {
  const catalogue = catalogueOf(language);
  const texts = { ...catalogue.messages, ...catalogue.pages, ...catalogue.reports };
  expect(Object.entries(texts).filter(([, text]) => BARE_COMMAND.test(text))).toEqual([]);
});

describe('the messages of the source', () => {
  const calls = sources.flatMap(({ name, text }) =>
    [...text.matchAll(/\b(?:say|finding)\(\s*'([\w.]+)',\s*\{([^{}]*)\}/g)].map(([, code = '', literal = '']) => ({
      name,
      code,
      literal,
    })),
  );

  it('are in the catalogue, with the facts that they are given', () => {
    expect(calls.length).toBeGreaterThan(120);
    for (const { name, code, literal } of calls) {
      expect([name, code, code in messages]).toEqual([name, code, true]);
      const given = namesOf(literal);
      if (given !== null) expect([name, code, given]).toEqual([name, code, factsOf(code)]);
    }
  });

  it('are all of the catalogue', () => {
    const all = sources.map(({ text }) => text).join('\n');
    const prefixes = [...all.matchAll(/\bsay\(\s*`([\w.]+)\$\{/g)].map(([, prefix = '']) => prefix);
    const unused = Object.keys(messages).filter(
      (code) => !all.includes(`'${code}'`) && !prefixes.some((prefix) => code.startsWith(prefix)),
    );
    expect(unused).toEqual([]);
  });
});

/** Keys that stand twice in one object: JSON keeps the later one, and says nothing. */
function keysTwice(text: string): string[] {
  const open: Set<string>[] = [];
  const twice: string[] = [];
  for (const [token, key] of text.matchAll(/"((?:[^"\\]|\\.)*)"(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (key !== undefined && open.at(-1)?.has(key)) twice.push(key);
    else if (key !== undefined) open.at(-1)?.add(key);
  }
  return twice;
}

describe('the files of texts', () => {
  const folder = join(HOUSE, 'src', 'locales');
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

  it('have no key twice', () => {
    expect(keysTwice('{"a": "\\"b\\": {", "c": {"a": 1, "b": ["}"]}, "d": {"b": 2}, "a": 3}')).toEqual(['a']);
    expect(files.length).toBeGreaterThan(6);
    for (const name of files) expect([name, keysTwice(readFileSync(join(folder, name), 'utf8'))]).toEqual([name, []]);
  });
});

const why = say('attempt.refused', { status: 500 });
const cause = say('url.resolves_to', { host: 'shop.example', address: '10.0.0.1', cause: say('address.own', {}) });

describe('a message', () => {
  it('has its English text, made of its facts', () => {
    expect(say('refusal.no_stop', { kind: 'qr', merchant: '7' })).toEqual({
      text: 'No safety stop of QR is in force for 7; see `puente safety show 7`.',
      said: { code: 'refusal.no_stop', facts: { kind: 'qr', merchant: '7' } },
    });
    // A merchant has its name beside its id in a sentence, and its id alone in a command.
    const stop = say('refusal.no_stop', { kind: 'qr', merchant: '7', merchant_name: 'Café `Sur`' });
    expect(stop.text).toBe("No safety stop of QR is in force for 7 (Café 'Sur'); see `puente safety show 7`.");
    const command = '<code>puente safety show 7</code>.';
    const shownIn = (language: Language): string =>
      String(html`${saysAll(wordsOf(language), stop.text, [stop.said])}`).replaceAll('&#39;', "'");
    expect(shownIn('en')).toBe(`No safety stop of QR is in force for 7 (Café 'Sur'); see ${command}`);
    expect(shownIn('es')).toMatch(new RegExp(`7 \\(Café 'Sur'\\); vea ${command}$`));
    expect(shownIn('pt')).toMatch(new RegExp(`7 \\(Café 'Sur'\\); veja ${command}$`));
    expect(say('attempt.blocked', { cause }).text).toBe(
      "The receiver's URL names 'shop.example', which resolves to 10.0.0.1, which is Puente's own.",
    );
    expect(() => say('nothing.known', {}).text).toThrow('no words');
  });

  it('keeps instants, amounts and lists as programs read them', () => {
    const window = { since_at: '2026-01-31T09:00:00Z', until_at: '2026-01-30T09:00:00Z' };
    expect(say('refusal.empty_window', window).text).toContain('since (2026-01-31T09:00:00Z)');
    expect(say('step.refund_requested', { sum: '12345.50 ARS' }).text).toContain('12345.50 ARS');
    expect(say('skipped_stage', { stages: ['shadow', 'canary'] }).text).toContain('shadow, canary');
  });

  it.each([
    say('settled.lost', {}),
    say('mismatch.unit_taken', { why, holder: 'a-sale' }),
    say('attempt.blocked', { cause }),
  ])('is stored as its code and facts alone, and read again: $said.code', (message) => {
    const stored = encoded(message);
    expect(stored).not.toContain('text');
    expect(decoded(stored)).toEqual(message);
    expect(readStored(stored)).toEqual(message);
  });

  it('is not taken from what is none', () => {
    for (const other of ['tills stand still', '{"code":', '{"code":7}', '{"code":"a"}', '{"codes":[]}'])
      expect([other, decoded(other)]).toEqual([other, null]);
    expect(readStored('tills stand still')).toEqual(quoted('tills stand still'));
    for (const other of ['{"code":"of.another_version","facts":{}}', '{"code":"safety.in_a_row","facts":{}}'])
      expect(readStored(other)).toEqual(quoted(other));
  });

  it('says a row of a table as the tables themselves do', () => {
    const tables = loadTables(join(HOUSE, 'mappings'));
    const rows = tables.documents.tables.flatMap((table) => wholeRows(rowsOf(table.table, table.rows)));
    const described = tables.describe(rows.map(({ id }) => id));
    expect(described.length).toBeGreaterThan(300);
    for (const { row, says, parts } of described) expect([row, say('rule', { ...parts }).text]).toEqual([row, says]);
  });
});

describe('a text that an older build stored', () => {
  const { lines, addresses } = JSON.parse(readFileSync(join(HOUSE, 'src/locales/older-texts.json'), 'utf8')) as Record<
    'lines' | 'addresses',
    Record<string, string>
  >;
  /** Values of facts that are not words. */
  const facts: Record<string, string | number> = {
    in_a_row: 6,
    minutes: 2.5,
    share: 20,
    link_minor: 1500,
    merchant: '700100200',
    cause: "names 'shop.example', which resolves to 10.0.0.1, which is not public (private)",
    why: 'The receiver answered 500; 200 or 201 was expected.',
  };
  const fill = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (_all, name) => String(facts[name] ?? name));
  const group = (name: 'lines' | 'addresses') =>
    Object.entries(name === 'lines' ? lines : addresses).map(([code, text]) => ({ name, code, text: fill(text) }));

  it.each([...group('lines'), ...group('addresses')])('has its code and facts: $code', ({ name, code, text }) => {
    const { said } = olderText(text, name);
    expect(said?.code).toBe(code);
    expect(Object.keys(said?.facts ?? {}).toSorted()).toEqual(factsOf(code));
    for (const [fact, value] of Object.entries(said?.facts ?? {})) {
      const within: Fact = fact === 'why' ? olderText(String(facts.why)) : olderText(String(facts.cause), 'addresses');
      const plain = /^\d{1,8}(\.\d+)?$/.test(String(facts[fact])) ? Number(facts[fact]) : (facts[fact] ?? fact);
      expect([fact, value]).toEqual([fact, fact === 'why' || fact === 'cause' ? within : plain]);
    }
  });

  it.each(['mismatch.other_order', 'mismatch.unit_taken', 'settled.given_up'])(
    'has the text that it holds: %s',
    (code) => {
      const causes = Object.entries(lines).filter(([one]) => /^(?:mismatch|attempt)\./.test(one));
      for (const [one, text] of causes.filter(([, template]) => !template.startsWith('{'))) {
        const { said } = olderText((lines[code] ?? '').replace('{why}', fill(text)).replace('{holder}', 'a-sale'));
        expect([one, said?.code, said?.facts.why]).toEqual([one, code, olderText(fill(text))]);
      }
    },
  );

  it('has its counts, those of none too', () => {
    const none = { moved: 0, proposed: 0, refused: 0, skipped: 0, waiting: 0 };
    expect(olderText('3 moved, 6 waiting').said).toEqual({
      code: 'bulk.summary',
      facts: { ...none, moved: 3, waiting: 6 },
    });
    expect(olderText('1 waiting').said?.facts).toEqual({ ...none, waiting: 1 });
    for (const other of ['3 moved, ', '3 moved 6 waiting', '6 waiting, 3 moved', '3 moved, 6 waiting.', ''])
      expect(olderText(other).said).toBeNull();
  });
});

it.each(['es', 'pt'] as const)(
  'in %s the same word says of a secret and of a credential whether it is set',
  (language) => {
    const { t } = wordsOf(language);
    for (const key of ['merchant.set', 'merchant.not_set'] as const) expect(t(key)).not.toMatch(/d[oa]s?$/);
  },
);
