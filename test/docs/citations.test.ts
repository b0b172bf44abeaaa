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
  const { of, item } = pages[page];
  const list = new RegExp(`^(${of})?((?:${item})(?:(?:, | and | to |–)(?:${of})?(?:${item}|\\d+(?=[.) *\`]|$)))*)`);
  return after(text, page).map((rest) => {
    if (page === 'docs/field-notes.md' && rest.startsWith('Spec')) return [titled(page, rest)];
    const [, part, items] = list.exec(rest) ?? [];
    let within = part ?? '';
    return [...(items ?? '').matchAll(new RegExp(`(${of || '\\b'})?(${item})`, 'g'))].map(([, other, one]) => {
      if (of !== '') within = other ?? within;
      return `${within}${one}`;
    });
  });
}

/** The text after each mention of a page, on one line and without comment marks. */
function after(text: string, page: string): string[] {
  const line = text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, ' ');
  return line
    .split(page)
    .slice(1)
    .map((rest) => rest.replace(/^`?[ ]?/, '').slice(0, 200));
}

/** The longest heading with which a citation begins, or the citation itself if there is none. */
function titled(page: string, rest: string): string {
  const found = (standing.get(page) ?? []).filter((title) => title !== '' && rest.startsWith(title));
  return found.sort((one, other) => other.length - one.length)[0] ?? rest;
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

it.each(['CONTRIBUTING.md', 'docs/protocol.md', 'docs/architecture.md'])('%s names files that are there', (page) => {
  const tracked = execFileSync('git', ['ls-files'], { cwd: HOUSE, encoding: 'utf8' }).split('\n');
  const named = readFileSync(join(HOUSE, page), 'utf8').matchAll(/`([\w./-]+\.(?:ts|yaml|yml))`/g);
  const missing = [...named].flatMap(([, name = '']) =>
    tracked.some((file) => file === name || file.endsWith(`/${name}`)) ? [] : [name],
  );
  expect(missing).toEqual([]);
});

it('nothing cites a page that is not in the repository', () => {
  const elsewhere = /\b(?:interface|legacy-point|legacy-qr|orders-api|peers|performance|reliability)\.md\b|\bDESIGN\b/;
  const citing = files.filter((name) => elsewhere.test(readFileSync(join(HOUSE, name), 'utf8')));
  expect(citing).toEqual([]);
});
