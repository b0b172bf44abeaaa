/** Commands, settings and words named on the pages exist, including those that no test types. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeSettings } from '../../src/config/describe.ts';
import { nodesOf } from '../../src/ops/cli/completion.ts';
import { programHere } from '../program.ts';
import { HOUSE } from '../run-cli.ts';

const nodes = nodesOf(programHere());
const pages = [
  ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'deploy/prometheus/alerts.yml'],
  ...readdirSync(join(HOUSE, 'docs'), { encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((name) => ({ name, text: readFileSync(join(HOUSE, name), 'utf8') }));

describe('the pages name', () => {
  it.each(pages)('$name: commands and options that there are', ({ text }) => {
    for (const words of commandsIn(text)) {
      const node = nodes.filter(({ at }) => `/${words.join('/')}/`.startsWith(`${at}/`)).at(-1);
      expect(node?.at, words.join(' ')).not.toBe('');
      const known = node?.options.flatMap(({ flags }) => flags) ?? [];
      for (const flag of words.filter((word) => /^--[a-z]/.test(word)))
        expect([...known, '--help'], words.join(' ')).toContain(flag.split('=')[0]);
    }
  });

  it.each(pages)('$name: variables that are settings', ({ text }) => {
    const known = new Set([...describeSettings().map(({ variable }) => variable), ...OF_THE_COMMANDS]);
    const named = [...text.matchAll(/\bPUENTE_[A-Z_]+[A-Z]\b(?!_?…)/g)].map(([name]) => name);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

/** Variables of the commands and the image, which are not settings. */
const OF_THE_COMMANDS = [
  ...['PUENTE_CONFIG', 'PUENTE_OPS_URL'],
  ...['PUENTE_CREDENTIAL', 'PUENTE_NOTICE_SECRET', 'PUENTE_NOTICE_URL'].flatMap((name) => [name, `${name}_FILE`]),
  'PUENTE_POSTGRES_PASSWORD',
];

/** The words of each `puente …` in a code span or a block line, up to the end of that command. */
function commandsIn(text: string): string[][] {
  return [
    ...text.matchAll(/(?<=^|[`(]|[ ;]|npx )(?<!exec |up -d |-u |install )puente ((?:[a-z][a-z-]*)(?: [^`\n;|#]*)?)/gm),
  ]
    .map(([, words]) => (words ?? '').split(/ (?:&&|>)|\. |, /)[0] ?? '')
    .map((words) => words.trim().split(/\s+/));
}
