/** The generated page contains everything in the tables, and the committed page is up to date. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rowIds } from '../../src/mapping/assemble.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { renderLimitations, renderReadme } from '../../src/mapping/render.ts';
import { tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);
const page = renderReadme(tables);

describe('mappings/README.md', () => {
  it('is what the tables say; otherwise run `npm run generate`', () => {
    expect(readFileSync(join(tablesDirectory, 'README.md'), 'utf8')).toBe(page);
  });

  it('has a line for every row and every operation', () => {
    const lines = page
      .split('\n')
      .filter((line) => /^\| (?:\d+(?:\.\d+)?|`[a-z_]+`(?: with `[a-z_]+`)?) \|/.test(line));
    expect(lines.length).toBe(rowIds(tables).length);
    for (const { method, path } of tables.operations) expect(page).toContain(`\`${method} ${path}\``);
  });

  it('gives every reason', () => {
    const { documents } = tables;
    for (const { why } of documents.tables.flatMap((table) => table.rows)) expect(page).toContain(why);
    for (const { why } of documents.states.flatMap((table) => table.rows)) expect(page).toContain(why);
    for (const { why } of documents.errors.flatMap((table) => Object.values(table.calls).flat()))
      expect(page).toContain(why);
  });
});

describe('docs/limitations.md', () => {
  it('tells each limitation under a heading of its own, and links to it', () => {
    const limitations = renderLimitations(tables);
    for (const { id, title, effect, workaround } of tables.documents.limitations) {
      expect(limitations).toContain(`\n## ${id}: ${title}\n`);
      expect(limitations).toMatch(new RegExp(`^\\| \\[${id}\\]\\(#${id.toLowerCase()}-`, 'm'));
      expect(limitations).toContain(effect);
      expect(limitations).toContain(workaround);
    }
  });
});
