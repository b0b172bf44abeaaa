/** The command line against a running Puente: exit codes and texts, in real processes where that matters. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ARGENTINA,
  call,
  DEVICE,
  eventually,
  INTENT,
  MEXICO,
  OPS_TOKEN,
  POINT,
  startBench,
  startReceiver,
  tokenOf,
} from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { HOUSE, puente } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

describe('wrong usage', () => {
  it.each([
    { argv: ['frobnicate'], says: "unknown command 'frobnicate'" },
    { argv: ['stage', ARGENTINA, 'orders'], says: '--reason' },
    { argv: ['merchants', 'set', ARGENTINA, '--reason', 'why', '--dialect', 'morse'], says: 'point_integration_wh' },
    { argv: ['merchants', 'set', ARGENTINA, '--reason', 'why', '--revision', 'one'], says: 'whole number' },
    {
      argv: ['merchants', 'list'],
      says: 'Set PUENTE_OPS_TOKEN to your ops token; with the sandbox the start',
      exits: 1,
    },
    {
      argv: ['merchants', 'list'],
      env: { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_TOKEN_FILE: 'token' },
      says: 'PUENTE_OPS_TOKEN and PUENTE_OPS_TOKEN_FILE are both set; keep one of them.',
      exits: 1,
    },
    {
      argv: ['merchants', 'list'],
      env: { PUENTE_OPS_TOKEN_FILE: 'nowhere' },
      says: "PUENTE_OPS_TOKEN_FILE is nowhere, which can't be read; name a file that exists",
      exits: 1,
    },
    {
      argv: ['merchants', 'list', '--ops', 'http://127.0.0.1:1'],
      env: { PUENTE_OPS_TOKEN: OPS_TOKEN },
      says: 'No Puente answers at http://127.0.0.1:1; start it, or name its ops door with --ops.',
      exits: 1,
    },
    {
      argv: ['merchants', 'list', '--ops', 'HTTP://127.0.0.1:1'],
      env: { PUENTE_OPS_TOKEN: OPS_TOKEN },
      says: 'No Puente answers at HTTP://127.0.0.1:1; start it, or name its ops door with --ops.',
      exits: 1,
    },
    {
      argv: ['merchants', 'list', '--ops', '127.0.0.1:1'],
      env: { PUENTE_OPS_TOKEN: OPS_TOKEN },
      says: 'name its ops door with --ops, with its scheme: http://127.0.0.1:1.',
      exits: 1,
    },
  ])('$argv says $says', async ({ argv, env, says, exits = 2 }) => {
    const { code, err } = await command(argv, { PUENTE_OPS_TOKEN: '', ...env });
    expect(err).toContain(says);
    expect(code).toBe(exits);
  });

  it('has its exit code in a process too', async () => {
    const { code, err } = await puente(['merchants', 'list']);
    expect([code, err]).toEqual([1, expect.stringMatching(/^Set PUENTE_OPS_TOKEN .*\n$/)]);
    expect((await puente(['frobnicate'])).code).toBe(2);
    expect((await puente(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  // The machine's own Node, where it has an old one beside the one of this project.
  const OLD_NODE = '/usr/bin/node';
  const old = existsSync(OLD_NODE) ? spawnSync(OLD_NODE, ['--version'], { encoding: 'utf8' }).stdout : '';
  it.skipIf(!/^v(1\d|2[0-3])\./.test(old))('with an old Node names the one that is needed', () => {
    const { status, stderr } = spawnSync(OLD_NODE, [join(HOUSE, 'bin/puente.js'), 'doctor'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Puente needs Node 24 or newer, and this is /),
    });
  });

  it('can be run by the path that older versions had in `bin`, which npx keeps for a clone', () => {
    expect(statSync(join(HOUSE, 'src/cli.ts')).mode & 0o111).toBe(0o111);
    expect(readFileSync(join(HOUSE, 'src/cli.ts'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it('is told to whoever gives arguments to the file that starts Puente, and nothing starts', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(HOUSE, 'src/main.ts'), '--help'], {
      encoding: 'utf8',
      env: {},
    });
    expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining('`npx puente --help`')]);
  });

  it('refuses to serve with a bad setting, by name', async () => {
    const { code, err } = await puente(['serve'], { env: { PUENTE_PUBLIC_PORT: 'eighty' } });
    expect(err).toContain('public.port from the variable PUENTE_PUBLIC_PORT');
    expect(code).toBe(1);
  });

  it('refuses to serve with a certificate that is none', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'puente-tls-'));
    const env = {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_SANDBOX_PORT: '0',
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: 'package.json',
      PUENTE_PUBLIC_TLS_KEY_FILE: 'package.json',
    };
    const { code, err } = await puente(['serve'], { env });
    expect(err).toContain('public.tls');
    expect(code).toBe(1);
  });

  it('refuses to serve with a crash-test failpoint, real money and no NODE_ENV', async () => {
    const env = { PUENTE_UPSTREAM: 'https://api.example', PUENTE_SECRET_KEY: 'k'.repeat(32) };
    const directory = mkdtempSync(join(tmpdir(), 'puente-armed-'));
    const ports = { PUENTE_DATA_DIR: directory, PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0' };
    const armed = { CRASH_TEST_FAILPOINT: 'migration.begun', ...ports, ...env };
    const { code, err } = await puente(['serve'], { env: armed });
    expect(err).toContain('CRASH_TEST_FAILPOINT is for crash tests alone');
    expect(code).toBe(1);
  });
});

describe('serve', () => {
  it('--notify is told of the merchants that have no URL of their own', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'puente-serve-'));
    const receiver = await startReceiver();
    const ports = { PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0', PUENTE_SANDBOX_PORT: '0' };
    const env = { PATH: process.env.PATH, PUENTE_DATA_DIR: data_dir, ...ports };
    const child = spawn(process.execPath, ['bin/puente.js', 'serve', '--notify', receiver.url], { cwd: HOUSE, env });
    try {
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
      await eventually(
        async () => out,
        (text) => text.includes('/_sandbox/settings'),
      );
      const told = out
        .replaceAll(data_dir, 'DATA')
        .replaceAll(/(?<=127\.0\.0\.1:)\d+/g, 'PORT')
        .replaceAll(/(?<=TOKEN=|ops token +)[\w-]+/g, 'TOKEN')
        .replaceAll(/\b\d+\.\d\d\b/g, 'N');
      const greeting = told
        .split('\n')
        .filter((line) => !line.startsWith('{'))
        .join('\n');
      await expect(`$ puente serve --notify URL\n${greeting}`).toMatchFileSnapshot(
        join(import.meta.dirname, 'golden', 'serve.txt'),
      );
      const [door, sandbox] = [/public door +(\S+)/, /the sandbox, (\S+)/].map((line) => line.exec(out)?.[1]);
      const sale = { token: tokenOf(ARGENTINA), body: { amount: 1500 } };
      expect((await call(`${door}${POINT}/devices/${DEVICE}/payment-intents`, sale)).status).toBe(201);
      await call(`${sandbox}/_sandbox/terminals/${ARGENTINA}/${DEVICE}/pay`, { body: {} });
      const [notice] = await receiver.waitFor(1, INTENT);
      expect(notice?.body).toMatchObject({ state: 'FINISHED', amount: 1500 });
    } finally {
      child.kill();
      await once(child, 'exit');
      await receiver.close();
    }
  });
});

describe('merchants and stage, on a running Puente', () => {
  let env: Record<string, string>;
  const bench = openForAll(() => startBench());
  beforeAll(async () => {
    env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: bench.app.ops_url };
  });

  it('reads token and secrets from files that variables name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'puente-files-'));
    const [token, secret] = ['token', 'secret'].map((name) => join(folder, name));
    writeFileSync(token ?? '', `${OPS_TOKEN}\n`);
    writeFileSync(secret ?? '', 'hush-notice-secret\n');
    const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN_FILE: token ?? '' };
    const set = ['merchants', 'set', MEXICO, '--new', '--notice-secret', '--reason', 'a test', '--json'];
    const { code, out, err } = await puente(set, { env: { ...env, PUENTE_NOTICE_SECRET_FILE: secret ?? '' } });
    expect([code, err]).toEqual([0, '']);
    expect(out).not.toContain('hush');
    expect(JSON.parse(out)).toMatchObject({ id: MEXICO });
  });

  it('tells a revision conflict with the repair', async () => {
    const { code, err } = await command(
      ['stage', ARGENTINA, 'legacy', '--new', '--reason', 'too late', '--revision', '7'],
      env,
    );
    expect(err).toContain('revision 7');
    expect(code).toBe(1);
  });

  it.each([
    { argv: [], says: 'Name at least one setting' },
    { argv: ['--notice-secret'], says: 'Set PUENTE_NOTICE_SECRET to the secret' },
  ])('refuses a change of nothing, or without its secret: $argv', async ({ argv, says }) => {
    const { code, err } = await command(['merchants', 'set', ARGENTINA, '--reason', 'why', ...argv], env);
    expect(err).toContain(says);
    expect(code).toBe(1);
  });

  it('sets a merchant, shows where each setting comes from, and keeps secrets to itself', async () => {
    const set = await command(
      [
        'merchants',
        'set',
        ARGENTINA,
        '--new',
        '--reason',
        'why',
        '--notify',
        'http://127.0.0.1:9/n',
        '--notice-secret',
      ],
      { ...env, PUENTE_NOTICE_SECRET: 'invented-notice-secret' },
    );
    expect(set.err).toBe('');
    expect(set.out).not.toContain('invented-notice-secret');
    const shown = JSON.parse((await command(['merchants', 'show', ARGENTINA, '--json'], env)).out);
    expect(shown).toMatchObject({
      id: ARGENTINA,
      notice_secret: 'set',
      settings: { notice_url: { value: 'http://127.0.0.1:9/…', from: 'merchant' }, declined: { from: 'default' } },
    });
  });
});
