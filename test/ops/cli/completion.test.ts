/** Shell completion: offers of a real bash at each position; the scripts for the other shells have the same words. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { bashScript, fishScript, nodesOf, zshScript } from '../../../src/ops/cli/completion.ts';
import { eventually } from '../../kit.ts';
import { programHere } from '../../program.ts';
import { puente } from '../../run-cli.ts';
import { inTerminal, keys, type Terminal } from './terminal.ts';

const nodes = nodesOf(programHere());
const directory = mkdtempSync(join(tmpdir(), 'puente-completion-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const script = join(directory, 'puente.bash');
writeFileSync(script, bashScript(nodes));

/** Words that bash offers; the last argument is the word being typed. */
function offered(...words: string[]): string[] {
  const program = `source "$1"; shift; COMP_WORDS=(puente "$@"); COMP_CWORD=$#; _puente; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', program, 'bash', script, ...words], { encoding: 'utf8' });
  return out.split('\n').filter((line) => line !== '');
}

describe('bash', () => {
  it('offers commands, and those that begin with what was typed', () => {
    expect(offered('')).toEqual(
      expect.arrayContaining(['serve', 'merchants', 'notices', 'audit', 'completion', '--help']),
    );
    expect(offered('not')).toEqual(['notices']);
    expect(offered('notices', '')).toEqual(['list', 'receivers', 'test', 'show', 'replay', '-h', '--help']);
  });

  it('offers options, their values, and the values of arguments', () => {
    expect(offered('audit', 'verify', '--')).toEqual(['--json', '--ops', '--expect', '--help']);
    expect(offered('notices', 'list', '--state', '')).toEqual(['pending', 'delivered', 'dead', 'superseded']);
    expect(offered('notices', 'list', '--json', '--state', 'd')).toEqual(['delivered', 'dead']);
    expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
    expect(offered('notices', 'replay', '--reason', ''), 'free text').toEqual([]);
  });

  it('finds the command behind arguments', () => {
    expect(offered('notices', 'show', 'an-id', '--j')).toEqual(['--json']);
    expect(offered('nothing', 'like', 'this', 'audi')).toEqual(['audit']);
  });

  it('is what the command prints', async () => {
    const { code, out } = await puente(['completion', 'bash']);
    expect(code).toBe(0);
    expect(out).toBe(bashScript(nodes));
  });
});

describe('every shell', () => {
  it.each([
    ['bash', bashScript(nodes)],
    ['zsh', zshScript(nodes)],
    ['fish', fishScript(nodes)],
  ])('%s knows every command and every option', (shell, text) => {
    for (const { at, options } of nodes) {
      expect(text).toContain(at);
      for (const { flags } of options) {
        for (const flag of flags) {
          const spelled =
            shell !== 'fish' ? flag : flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
          expect(text).toContain(spelled);
        }
      }
    }
  });

  it('gets texts with quotes as texts', () => {
    const odd = [
      {
        at: '',
        commands: [{ word: 'do', about: `it's a "test" of $(touch x) and \\ too: so` }],
        options: [],
        values: [],
      },
    ];
    expect(zshScript(odd)).toContain(`'do:it'\\''s a "test" of $(touch x) and \\ too: so'`);
    expect(fishScript(odd)).toContain(`-d 'it\\'s a "test" of $(touch x) and \\\\ too: so'`);
  });
});

/** Text typed at a prompt before the Tab key, and the completed line. */
const TYPED = [
  { typed: 'puente mer', becomes: 'puente merchants ' },
  { typed: 'puente merchants li', becomes: 'puente merchants list ' },
  { typed: 'puente stage 700100200 sha', becomes: 'puente stage 700100200 shadow ' },
  { typed: 'puente notices list --state pe', becomes: 'puente notices list --state pending ' },
  { typed: 'puente backup --rea', becomes: 'puente backup --reason ' },
];
const PROMPT = 'type here> ';

describe('a person at a prompt', () => {
  it.for(TYPED)('of bash gets $becomes', async ({ typed, becomes }) => {
    const startup = join(directory, 'bashrc');
    writeFileSync(startup, `PS1='${PROMPT}'\nsource '${script}'\n`);
    await completes(inTerminal(['bash', '--noprofile', '--rcfile', startup, '-i']), typed, becomes);
  });

  it.for(TYPED)('of zsh gets $becomes', async ({ typed, becomes }, { skip }) => {
    skip(!isHere('zsh'), 'there is no zsh here');
    const home = mkdtempSync(join(directory, 'zsh-'));
    writeFileSync(join(home, '_puente'), zshScript(nodes));
    const startup = [
      `fpath=('${home}' $fpath)`,
      'autoload -Uz compinit',
      `compinit -u -d '${home}/dump'`,
      `PS1='${PROMPT}'`,
    ];
    writeFileSync(join(home, '.zshrc'), startup.join('\n'));
    await completes(inTerminal(['zsh', '-d', '-i'], { ZDOTDIR: home }), typed, becomes);
  });

  it.for(TYPED)('of fish gets $becomes', ({ typed, becomes }, { skip }) => {
    skip(!isHere('fish'), 'there is no fish here');
    const file = join(directory, 'puente.fish');
    writeFileSync(file, fishScript(nodes));
    const env = { PATH: process.env.PATH, HOME: directory, XDG_CONFIG_HOME: directory };
    const program = `source '${file}'; complete -C '${typed}'`;
    const out = execFileSync('fish', ['--no-config', '-c', program], { env, encoding: 'utf8' });
    const words = out.split('\n').map((line) => line.split('\t')[0]);
    expect(words.filter((word) => word !== '')).toEqual([becomes.trim().split(' ').at(-1)]);
  });
});

async function completes(terminal: Terminal, typed: string, becomes: string): Promise<void> {
  await terminal.answer(PROMPT, typed);
  await terminal.answer(typed, keys.tab);
  await eventually(
    async () => terminal.shown(),
    (shown) => shown.includes(becomes),
  );
}

function isHere(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0;
}
