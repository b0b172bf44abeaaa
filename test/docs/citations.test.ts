/** Every section that a comment, a table or a page cites (`docs/protocol.md` §3.5) is on that page. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HOUSE } from '../run-cli.ts';

/** Text files of the repository that cite pages, without generated ones. */
const files = execFileSync('git', ['ls-files', 'src', 'test', 'mappings', 'bench', 'scripts', 'config', 'deploy'], {
  cwd: HOUSE,
  encoding: 'utf8',
})
  .split('\n')
  .filter((name) => /\.(?:ts|js|yaml|yml|sql|conf|cfg|service)$/.test(name) && !name.endsWith('citations.test.ts'));

/** Pages whose sections are cited, with the forms of a citation. */
const SECTION = '§\\d+(?:\\.\\d+)*';
const pages = {
  'docs/field-notes.md': { of: '(?:Point|QR|Orders) ', item: `${SECTION}|finding \\d+`, must: true },
  'docs/protocol.md': { of: '', item: `${SECTION}|[PI]\\d+`, must: true },
  'docs/architecture.md': { of: '', item: 'Decision \\d+', must: false },
} as const;
type Page = keyof typeof pages;

/** Headings and first table cells, which hold the numbers of promises and invariants. */
const standing = new Map(
  [...Object.keys(pages), 'docs/glossary.md'].map((name) => {
    const text = readFileSync(join(HOUSE, name), 'utf8');
    return [name, [...text.matchAll(/^(?:#+ |\| )(.+?)(?= \||$)/gm)].map(([, title]) => title ?? '')];
  }),
);

/** True for a heading that is the item, alone or followed by its title. */
function stands(page: string, item: string): boolean {
  return (standing.get(page) ?? []).some(
    (title) => title === item || (/^[ :,]/.test(title.slice(item.length)) && title.startsWith(item)),
  );
}

/** Sections of a page that a text cites, as its headings name them; an empty list for a citation without a section. */
function cited(text: string, page: Page): string[][] {
  return after(text, page).map((rest) => (page === 'docs/field-notes.md' ? notesIn(rest) : numbersIn(rest, page)));
}

/** Numbered sections at the start of a text; a part of the page that is named once counts for all numbers behind it. */
function numbersIn(rest: string, page: Page): string[] {
  const { of, item } = pages[page];
  const list = new RegExp(`^(${of})?((?:${item})(?:(?:, | and | to |–)(?:${of})?(?:${item}|\\d+(?=[.) *\`]|$)))*)`);
  const [, part, items] = list.exec(rest) ?? [];
  let within = part ?? '';
  return [...(items ?? '').matchAll(new RegExp(`(${of || '\\b'})?(${item})`, 'g'))].map(([, other, one]) => {
    if (of !== '') within = other ?? within;
    return `${within}${one}`;
  });
}

/** What may follow the name of a section: the end of the citation, another one, a numbered point, or a detail. */
const BEHIND_A_NAME = /^(?:$|[`'")\],.:;\n]| (?:and|or) | \d+\b)/;

/**
 * Sections of the field notes at the start of a text. `Spec` sections have names: one must be a whole heading, and
 * `, detail` or ` 4` (a point of its list) may follow. A name that is no heading is returned as it is.
 */
function notesIn(rest: string): string[] {
  if (!rest.startsWith('Spec')) return numbersIn(rest, 'docs/field-notes.md');
  const name = nameIn(rest);
  const [, next] = /^(?: \d+)?(?:, | and )((?:Spec|Point|QR|Orders) [\s\S]*)$/.exec(rest.slice(name.length)) ?? [];
  return [name, ...(next === undefined ? [] : notesIn(next))];
}

/** The heading that a citation names, or its first words when they are none. */
function nameIn(text: string): string {
  const names = (standing.get('docs/field-notes.md') ?? []).filter((title) => title.startsWith('Spec'));
  const whole = names.filter((name) => text.startsWith(name) && BEHIND_A_NAME.test(text.slice(name.length)));
  return whole.sort((one, other) => other.length - one.length)[0] ?? text.slice(0, 40);
}

/** The text after each mention of a page, without comment marks, and on one line up to the next key of a YAML file. */
function after(text: string, page: string): string[] {
  const line = text.replaceAll(/\n(?![ \t]*(?:- |[\w.]+:\s))[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, ' ');
  return line
    .split(page)
    .slice(1)
    .map((rest) => rest.replace(/^`?[ ]?/, '').slice(0, 200));
}

describe.each(Object.keys(pages) as Page[])('citations of %s', (page) => {
  const citing = files
    .map((name) => ({ name, lists: cited(readFileSync(join(HOUSE, name), 'utf8'), page) }))
    .filter(({ lists }) => lists.length > 0);

  it('are found', () => {
    expect(citing.length).toBeGreaterThan(10);
  });

  it('name a section that is there', () => {
    const missing = citing.flatMap(({ name, lists }) => [
      ...lists
        .flat()
        .filter((item) => !stands(page, item))
        .map((item) => `${name}: ${item}`),
      ...(pages[page].must && lists.some((list) => list.length === 0) ? [`${name}: names no section`] : []),
    ]);
    expect(missing).toEqual([]);
  });
});

it.each([
  ['docs/field-notes.md Spec Order status)', ['Spec Order status']],
  [
    '`docs/field-notes.md` Spec Authentication 4, Spec Errors and Orders §1.5.',
    ['Spec Authentication', 'Spec Errors', 'Orders §1.5'],
  ],
  ['docs/field-notes.md Spec Order, total_amount', ['Spec Order']],
])('a citation is a whole heading, with a point or a detail behind it: %s', (text, items) => {
  expect(cited(text, 'docs/field-notes.md')).toEqual([items]);
  expect(items.filter((item) => !stands('docs/field-notes.md', item))).toEqual([]);
});

it.each([
  ['docs/field-notes.md Spec Transaction and refund status)', 'Spec Transaction and refund status)'],
  ['docs/field-notes.md Spec Orders status', 'Spec Orders status'],
  ['docs/field-notes.md Orders §1.51', 'Orders §1.51'],
])('a citation that only begins like a heading is none: %s', (text, item) => {
  expect(cited(text, 'docs/field-notes.md')).toEqual([[item]]);
  expect(stands('docs/field-notes.md', item)).toBe(false);
});

it.each(['CONTRIBUTING.md', 'docs/protocol.md', 'docs/architecture.md'])('%s names files that are there', (page) => {
  const tracked = execFileSync('git', ['ls-files'], { cwd: HOUSE, encoding: 'utf8' }).split('\n');
  const named = readFileSync(join(HOUSE, page), 'utf8').matchAll(/`([\w./-]+\.(?:ts|yaml|yml))`/g);
  const missing = [...named].flatMap(([, name = '']) =>
    tracked.some((file) => file === name || file.endsWith(`/${name}`)) ? [] : [name],
  );
  expect(missing).toEqual([]);
});

it('every LIM number is a limitation of the tables, or LIM-99, which is kept for one that is unknown', () => {
  const known = `${readFileSync(join(HOUSE, 'mappings/limitations.yaml'), 'utf8')}- id: LIM-99\n`;
  const missing = files.flatMap((name) =>
    [...new Set(readFileSync(join(HOUSE, name), 'utf8').match(/\bLIM-\d+\b/g) ?? [])]
      .filter((id) => !known.includes(`- id: ${id}\n`))
      .map((id) => `${name}: ${id}`),
  );
  expect(missing).toEqual([]);
});

it('nothing cites a page that is not in the repository', () => {
  const elsewhere = /\b(?:interface|legacy-point|legacy-qr|orders-api|peers|performance|reliability)\.md\b|\bDESIGN\b/;
  const citing = files.filter((name) => elsewhere.test(readFileSync(join(HOUSE, name), 'utf8')));
  expect(citing).toEqual([]);
});
