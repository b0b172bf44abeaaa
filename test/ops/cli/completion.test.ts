/** Shell completion: offers of a real bash at each position; the scripts for the other shells have the same words. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { bashScript, fishScript, nodesOf, zshScript } from '../../../src/ops/cli/completion.ts';
import { ARGENTINA, BRAZIL, eventually, OPS_TOKEN, startBench, startReceiver } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { programHere } from '../../program.ts';
import { HOUSE, puente } from '../../run-cli.ts';
import { inTerminal, keys, type Terminal } from './terminal.ts';

const nodes = nodesOf(programHere());
const directory = mkdtempSync(join(tmpdir(), 'puente-completion-'));
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
        is_merchant: false,
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
  // Of bash the offers themselves are tested above.
  it.for(TYPED.slice(0, 1))('of bash gets $becomes', async ({ typed, becomes }) => {
    const startup = join(directory, 'bashrc');
    writeFileSync(startup, `PS1='${PROMPT}'\nsource '${script}'\n`);
    await completes(inTerminal(['bash', '--noprofile', '--rcfile', startup, '-i']), typed, becomes);
  });

  it.for(TYPED)('of zsh gets $becomes', async ({ typed, becomes }, { skip }) => {
    skip(!isHere('zsh'), 'there is no zsh here');
    await completes(inTerminal(['zsh', '-d', '-i'], { ZDOTDIR: zshHome() }), typed, becomes);
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

/** A merchant is typed by a part of its name or of its id. */
const MERCHANTS_TYPED = [
  { typed: 'puente stage cafe', becomes: `${ARGENTINA} ` }, // typed over the word
  { typed: 'puente can-migrate 7001002', becomes: `puente can-migrate ${ARGENTINA} ` },
  { typed: 'puente notices list --merchant 7001002', becomes: `--merchant ${ARGENTINA} ` },
];

describe('merchants of a running Puente', () => {
  const bench = openForAll(() => startBench());
  const folder = join(directory, 'bin');
  const startup = join(directory, 'merchants-bashrc');
  const envOf = (url: string, token = OPS_TOKEN) => ({ PUENTE_OPS_URL: url, PUENTE_OPS_TOKEN: token });
  const here = () => ({ ...envOf(bench.app.ops_url), PATH: `${folder}:${process.env.PATH}` });
  beforeAll(async () => {
    mkdirSync(folder);
    const launcher = `#!/bin/sh\nexec '${process.execPath}' '${join(HOUSE, 'bin/puente.js')}' "$@"\n`;
    writeFileSync(join(folder, 'puente'), launcher, { mode: 0o755 });
    writeFileSync(startup, `PS1='${PROMPT}'\nsource '${script}'\n`);
    await bench.notify(ARGENTINA, { name: 'El Café Sur' });
    await bench.notify(BRAZIL, { name: 'Padaria Sol' });
  });

  it.for(MERCHANTS_TYPED)('bash completes $typed', async ({ typed, becomes }) => {
    await completes(inTerminal(['bash', '--noprofile', '--rcfile', startup, '-i'], here()), typed, becomes);
  });

  it('bash keeps a name that several merchants have, and lists them', async () => {
    await bench.notify(BRAZIL, { name: 'Café Norte' });
    const terminal = inTerminal(['bash', '--noprofile', '--rcfile', startup, '-i'], here());
    await terminal.answer(PROMPT, 'puente stage caf');
    await terminal.answer('puente stage caf', `${keys.tab}${keys.tab}`);
    await eventually(
      async () => terminal.shown(),
      (shown) => shown.includes(`${ARGENTINA} El Café Sur`) && shown.includes(`${BRAZIL} Café Norte`),
    );
    expect(terminal.shown()).toContain('puente stage caf');
    await bench.notify(BRAZIL, { name: 'Padaria Sol' });
  });

  it.for(MERCHANTS_TYPED)('zsh completes $typed', async ({ typed, becomes }, { skip }) => {
    skip(!isHere('zsh'), 'there is no zsh here');
    await completes(inTerminal(['zsh', '-d', '-i'], { ...here(), ZDOTDIR: zshHome() }), typed, becomes);
  });

  it.for(MERCHANTS_TYPED)('fish completes $typed', async ({ typed }, { skip }) => {
    skip(!isHere('fish'), 'there is no fish here');
    const file = join(directory, 'merchants.fish');
    writeFileSync(file, fishScript(nodes));
    const env = { ...here(), HOME: directory, XDG_CONFIG_HOME: directory };
    const program = `source '${file}'; complete -C '${typed}'`;
    const { stdout } = await promisify(execFile)('fish', ['--no-config', '-c', program], { env });
    expect(stdout).toBe(`${ARGENTINA}\tEl Café Sur${typed.endsWith(' cafe') ? ' (cafe)' : ''}\n`);
  });

  it('fish puts the id in place of a name', async ({ skip }) => {
    skip(!isHere('fish'), 'there is no fish here');
    const file = join(directory, 'typed.fish');
    writeFileSync(
      file,
      `${fishScript(nodes)}function fish_prompt; echo '${PROMPT}'; end; function fish_greeting; end\n`,
    );
    const env = { ...here(), HOME: directory, XDG_CONFIG_HOME: directory };
    const terminal = inTerminal(['fish', '--no-config', '-i', '-C', `source ${file}`], env);
    await completes(terminal, 'puente stage cafe', `puente stage ${ARGENTINA}`);
  });

  it('fish shows the name of each beside its id', async ({ skip }) => {
    skip(!isHere('fish'), 'there is no fish here');
    const file = join(directory, 'names.fish');
    writeFileSync(
      file,
      `${fishScript(nodes)}function fish_prompt; echo '${PROMPT}'; end; function fish_greeting; end\n`,
    );
    const env = { ...here(), HOME: directory, XDG_CONFIG_HOME: directory };
    const terminal = inTerminal(['fish', '--no-config', '-i', '-C', `source ${file}`], env);
    await terminal.answer(PROMPT, `puente stage 70010${keys.tab}`);
    const shown = () =>
      eventually(
        async () => terminal.shown(),
        (seen) => seen.includes(`${BRAZIL}  (Padaria Sol)`),
      );
    expect(await shown()).toContain(`${ARGENTINA}  (El Café Sur)`);
  });

  it('are none where nobody answers, the token is wrong or there is none; nothing is printed', async () => {
    for (const env of [envOf('http://127.0.0.1:9'), envOf(bench.app.ops_url, 'a-token-of-nobody'), {}])
      expect(await puente(['completion', 'bash', '--merchants', '7'], { env })).toEqual({ code: 0, out: '', err: '' });
    const env = envOf(bench.app.ops_url);
    const { out } = await puente(['completion', 'bash', '--merchants', ''], { env });
    expect(out).toBe(`${ARGENTINA}\tEl Café Sur\n${BRAZIL}\tPadaria Sol\n`);
    expect((await puente(['completion', 'bash', '--merchants', 'nobody'], { env })).out).toBe('');
  });

  it('are looked up without a judgement of anyone, and without another page of the board', async () => {
    const asked = await startReceiver(() => 500);
    await puente(['completion', 'bash', '--merchants', 'caf'], { env: envOf(new URL(asked.url).origin) });
    expect(asked.received.map(({ path, query }) => `${path}?${query}`)).toEqual(['/api/merchants?search=caf']);
    await asked.close();
    const list = ['merchants', 'list', '--search', 'CAFE', '--json'];
    const { out } = await puente(list, { env: envOf(bench.app.ops_url) });
    expect(JSON.parse(out)).toMatchObject([{ id: ARGENTINA }]);
  });

  it('are none where the door does not answer in time', async () => {
    const silent = await startReceiver(() => new Promise<number>(() => undefined));
    const env = envOf(new URL(silent.url).origin);
    expect(await puente(['completion', 'zsh', '--merchants', '7'], { env })).toEqual({ code: 0, out: '', err: '' });
    expect(silent.received.length).toBe(1);
    await silent.close();
  });
});

function zshHome(): string {
  const home = mkdtempSync(join(directory, 'zsh-'));
  writeFileSync(join(home, '_puente'), zshScript(nodes));
  const startup = [
    `fpath=('${home}' $fpath)`,
    'autoload -Uz compinit',
    `compinit -u -d '${home}/dump'`,
    `PS1='${PROMPT}'`,
  ];
  writeFileSync(join(home, '.zshrc'), startup.join('\n'));
  return home;
}

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
