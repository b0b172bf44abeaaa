/** The manual: every command is explained in full, `man` reads the page puente(1), and its facts match the program. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandsOf, isAct, withManual } from '../../../src/ops/cli/help.ts';
import { renderCliPage, renderManPage, roffEscaped, roffText } from '../../../src/ops/cli/pages.ts';
import { helpOf, programHere } from '../../program.ts';
import { HOUSE, puente } from '../../run-cli.ts';

const program = programHere();
const acts = commandsOf(program).filter(({ command }) => isAct(command));
const page = renderManPage(program);

describe('the help', () => {
  it.each(acts)('of $name explains arguments, options, exit codes and variables', ({ name, command }) => {
    const help = helpOf(command);
    for (const argument of command.registeredArguments)
      expect([argument.name(), argument.description]).not.toContain('');
    for (const option of command.options) expect(option.description, option.flags).not.toBe('');
    for (const code of [0, 1, 2]) expect(help).toMatch(new RegExp(`^  ${code} +\\S`, 'm'));
    for (const option of command.options.filter(({ mandatory }) => mandatory))
      expect(help.replace(/\s+/g, ' '), option.flags).toContain(`${option.description}`);
    const asks = command.options.some(({ long }) => long === '--ops');
    expect(help.includes('PUENTE_OPS_TOKEN '), `${name} says which token it needs`).toBe(asks);
  });

  it('says which options are needed, what stands for none, and which variable is meant', async () => {
    const { out, code } = await puente(['rollback', '--help']);
    expect(out).toMatch(/why, for the audit trail \(required\)/);
    expect(out).toMatch(/\(default:\s+"http:\/\/127\.0\.0\.1:8081",\s+env:\s+PUENTE_OPS_URL\)/);
    expect(code).toBe(0);
  });

  it('holds no path of the machine that it was made on', () => {
    for (const { command } of acts) expect(helpOf(command)).not.toContain(HOUSE);
    expect(page).not.toContain(HOUSE);
  });

  it('refuses an argument without a description', () => {
    const stranger = new Command('puente').argument('<thing>');
    expect(() => withManual(stranger, { examples: [] })).toThrow('<thing> of puente has no description');
  });
});

it('what each command prints is in a golden file', () => {
  /** Their output is no text for people. */
  const elsewhere = {
    openapi: 'JSON',
    completion: 'a script of a shell',
  };
  const golden = globSync('test/**/golden/*.txt', { cwd: HOUSE }).map((file) =>
    readFileSync(join(HOUSE, file), 'utf8'),
  );
  const missing = acts.filter(({ name }) => !new RegExp(`\\$ puente ${name}( |$)`, 'm').test(golden.join('\n')));
  expect(missing.map(({ name }) => name).toSorted()).toEqual(Object.keys(elsewhere).toSorted());
});

describe('the page', () => {
  it.each(acts)('has $name with all its options and codes', ({ name, command }) => {
    const section = page.split('\n.S').find((text) => text.split('\n')[0] === `S ${roffEscaped(`puente ${name}`)}`);
    expect(section).toBeDefined();
    for (const option of command.options) expect(section).toContain(roffEscaped(option.flags));
    for (const argument of command.registeredArguments) expect(section).toContain(`.I ${argument.name()}`);
    expect(section).toContain('Exit codes:');
    expect(section).toContain('Examples:');
  });

  it.each(acts)('docs/cli.md has $name with all its options', ({ name, command }) => {
    const section = renderCliPage(program)
      .split('\n### ')
      .find((text) => text.startsWith(`puente ${name}\n`));
    const own = command.options.filter(({ long }) => long !== '--json' && long !== '--ops');
    for (const { flags } of own) expect(section).toContain(`| \`${flags}\` |`);
    expect(section).toContain('```text\n');
  });

  it('has every section that people look for', () => {
    for (const title of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'EXIT STATUS', 'ENVIRONMENT', 'FILES', 'SEE ALSO'])
      expect(page).toContain(`\n.SH ${title}\n`);
  });

  it.for(['mandoc', 'groff'])('is read by %s without a complaint', (reader, { skip }) => {
    const argv = { mandoc: ['-T', 'lint', '-W', 'warning'], groff: ['-man', '-ww', '-z', '-Tutf8'] }[reader] ?? [];
    const { error, stdout, stderr } = spawnSync(reader, argv, { input: page, encoding: 'utf8' });
    skip(error !== undefined, `there is no ${reader} here`);
    const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !line.includes('missing date'));
    expect(complaints).toEqual([]);
  });

  it('shows text as it is, whatever it begins with', () => {
    expect(roffText('.TH is no request. -x `y` \\ …')).toEqual([
      '\\&.TH is no request. \\-x \\(gay\\(ga \\e \\[u2026]',
    ]);
  });
});
