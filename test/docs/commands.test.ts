/** A reader types every command of the pages, in their order, into an installation of its own. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HOUSE } from '../run-cli.ts';
import { type Block, blocksOf, missingLine, promisedCode, promptedCommands } from './blocks.ts';
import { elsewhere } from './elsewhere.ts';
import { sitDown } from './reader.ts';

const pages = [...readdirSync(join(HOUSE, 'docs')).map((name) => `docs/${name}`), 'CONTRIBUTING.md']
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, blocks: blocksOf(name, readFileSync(join(HOUSE, name), 'utf8')) }));
/** What a newcomer types; the night types every page. Here npm finds the program itself for the first command, as it does for users. */
const FIRST_PAGE = 'docs/quick-start.md';
const withCommands = pages
  .filter(({ blocks }) => blocks.some(({ language }) => language === 'sh'))
  .filter(({ name }) => process.env.NIGHT === '1' || name === FIRST_PAGE);
/** Only ends a test that hangs: a page has some thirty commands, each one or two Node processes. */
const PAGE_LIMIT_MS = 600_000;

const place = mkdtempSync(join(tmpdir(), 'puente-docs-'));
afterAll(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

describe('the pages', () => {
  it.each(withCommands)(
    '$name: each command does what the page says',
    { timeout: PAGE_LIMIT_MS },
    async ({ name, blocks }) => {
      const reader = await sitDown(name === FIRST_PAGE ? 'real' : 'quick', place);
      try {
        let output = '';
        for (const block of blocks) {
          if (block.language === 'sh') {
            const typed = await reader.type(block.text);
            output = typed.output;
            expect(typed.code, `${at(block)}\n${output}`).toBe(promisedCode(block.text));
          } else if (block.text === 'Ctrl-C') await reader.interrupt();
          else if (block.language === 'text')
            expect(missingLine(block.text, output), `${at(block)}\n${output}`).toBeNull();
        }
      } finally {
        await reader.leave();
      }
    },
  );

  it('mark what can be run elsewhere alone, and this is the list of it', () => {
    const known = Object.values(elsewhere).flat();
    const prompted = pages.flatMap(({ blocks }) =>
      blocks
        .filter(({ language }) => language === 'console')
        .flatMap((block) => promptedCommands(block).map((command) => ({ place: at(block), command }))),
    );
    const unlisted = prompted.filter(({ command }) => !known.some((start) => command.startsWith(start)));
    expect(unlisted).toEqual([]);
    expect(known.filter((start) => !prompted.some(({ command }) => command.startsWith(start)))).toEqual([]);
  });

  it('have no block in a language that is neither run nor known to be none', () => {
    const odd = pages.flatMap(({ blocks }) =>
      blocks.filter(({ language }) => !['sh', 'console', 'text', 'yaml', 'json', 'mermaid'].includes(language)),
    );
    expect(odd.map(at)).toEqual([]);
  });
});

function at({ page, line }: Block): string {
  return `${page}:${line}`;
}
