/** Blocks of a page are read as their author meant; otherwise no test would run their commands. */
import { describe, expect, it } from 'vitest';
import { type Block, blocksOf, missingLine, promisedCode, promptedCommands } from './blocks.ts';

const FENCE = '```';
const block = (language: string, text: string): Block => ({ page: 'p.md', line: 1, language, text });

describe('a page', () => {
  it('has its fenced blocks, in their order, also those in a list', () => {
    const page = ['# P', `${FENCE}sh`, 'one', FENCE, '- x', `  ${FENCE}text`, '  two', '    three', `  ${FENCE}`];
    expect(blocksOf('p.md', page.join('\n'))).toEqual([
      { page: 'p.md', line: 3, language: 'sh', text: 'one' },
      { page: 'p.md', line: 7, language: 'text', text: 'two\n  three' },
    ]);
  });

  it('marks what is typed elsewhere by a prompt', () => {
    expect(promptedCommands(block('console', '$ npm ci\nadded 3 packages\n# systemctl start puente'))).toEqual([
      'npm ci',
      'systemctl start puente',
    ]);
  });

  it('promises the exit code 0, or the one of its last line', () => {
    expect(promisedCode('npx puente check   # exit code 1: two proofs fail')).toBe(1);
    expect(promisedCode('a   # exit code 3: never mind\nb')).toBe(0);
    expect(promisedCode('npx puente doctor')).toBe(0);
  });
});

describe('what a command says', () => {
  const output = 'head\n{"id":"1","amount":1500}\n  tail (of it)\n';

  it.each([
    ['another text', 'foot', 'foot'],
    ['a part of a line alone', 'hea', 'hea'],
    ['another order', 'head\n  tail (of it)\n{"id":…', '{"id":…'],
    ['another start', '…amount":2…', '…amount":2…'],
  ])('is not %s', (_, excerpt, line) => {
    expect(missingLine(excerpt, output)).toBe(line);
  });

  it('has the lines of the excerpt, with anything between and for the dots', () => {
    expect(missingLine('head\n…\n  tail (of it)', output)).toBeNull();
    expect(missingLine('{"id":"…","amount":1500}', output)).toBeNull();
  });
});
