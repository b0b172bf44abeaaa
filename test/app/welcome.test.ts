/** The text printed at start: its shell lines work, and it names the file of the ops token. */
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { HOUSE } from '../run-cli.ts';
import { starter } from './start.ts';

const directory = mkdtempSync(join(tmpdir(), 'puente welcome '));
const start = starter();

const FREE_PORTS = { PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0', PUENTE_SANDBOX_PORT: '0' };

/** The output of a start with this environment, up to `last`. */
function started(env: Record<string, string>, last: string): Promise<string> {
  const usual = { PUENTE_DATA_DIR: mkdtempSync(join(directory, 'data-')), ...FREE_PORTS };
  return start({ ...usual, ...env }, [last]);
}

/** Runs lines in bash in the repository root, as copied from the output. */
async function inShell(...lines: string[]): Promise<string> {
  const PATH = `${join(HOUSE, 'node_modules/.bin')}:${process.env.PATH}`;
  const options = { cwd: HOUSE, env: { PATH, HOME: directory } };
  return (await promisify(execFile)('bash', ['-euc', lines.join('\n')], options)).stdout;
}

it('with the sandbox: a first payment and its story, by copying alone', async () => {
  const printed = await started({}, '/_sandbox/settings');
  const lines = printed.split('\n').map((line) => line.trim());
  const [create, pay] = lines.filter((line) => line.startsWith('curl '));
  const settings = /curl -s \S+_sandbox\/settings/.exec(printed)?.[0];
  const count = /makes (\d+) choices/.exec(printed)?.[1];
  const exports = lines.filter((line) => line.startsWith('export '));
  expect(exports).toHaveLength(2);
  expect(JSON.parse(await inShell(create ?? ''))).toMatchObject({ amount: 1500, id: expect.any(String) });
  await inShell(pay ?? '');
  const story = lines.find((line) => line.startsWith('npx puente trace'))?.split('  ')[0] ?? '';
  expect(await inShell(...exports, story)).toContain('sale-1');
  expect(JSON.parse(await inShell(settings ?? '')).assumptions).toHaveLength(Number(count));
  expect(printed).toContain('npx puente init');
  expect(printed).toContain('profile specification (sandbox.profile)');
  expect(printed).toContain('sends notifications to local addresses too (sandbox.local_notification_urls)');
});

it('with a real upstream: where the token lies, never the token, and the first steps', async () => {
  const secret = (name: string, text: string): string => {
    writeFileSync(join(directory, name), `${text}\n`, { mode: 0o600 });
    return join(directory, name);
  };
  const config = join(directory, 'real.yaml');
  writeFileSync(
    config,
    [
      'upstream: https://api.example',
      'public: { url: https://puente.shop.example }',
      `secret_key_file: ${secret('secret key', 'hush-key-of-the-tests-0123456789abcdef')}`,
      'ops:',
      `  token_file: ${secret("owner's token", 'hush-hush-owner-token')}`,
      `  tokens: { ana: { role: viewer, token_file: '${secret('ana', 'hush-hush-token-of-ana')}' } }`,
    ].join('\n'),
  );
  const printed = await started({ PUENTE_CONFIG: config }, 'npx puente stage');
  expect(printed).toContain(`ops token     as set by the file ${join(directory, "owner's token")} (ops.token_file);`);
  expect(printed).toContain('one each for ana (viewer)');
  expect(printed).toMatch(
    /public door +https:\/\/puente\.shop\.example .*\n +listening on +127\.0\.0\.1:\d+, plain HTTP$/m,
  );
  expect(printed).toContain('nothing changes until you move a merchant');
  expect(printed).not.toContain('hush');
  const exports = printed.split('\n').filter((line) => line.startsWith('  export '));
  expect(JSON.parse(await inShell(...exports, 'npx puente merchants list --json'))).toEqual([]);
});

it('with a real upstream and nobody who may enter: that comes first, and no step that would fail', async () => {
  const env = { PUENTE_UPSTREAM: 'https://api.example', PUENTE_SECRET_KEY: 'k'.repeat(32) };
  const printed = await started(env, 'new merchants');
  expect(printed).toContain(
    'none is set, so that the ops door refuses every call: set PUENTE_OPS_TOKEN and start again',
  );
  expect(printed).not.toContain('What next');
});

it('with people who only look: no step that they may not take', async () => {
  const people = { ana: { role: 'viewer', token: 'hush-hush-token-of-ana' } };
  const env = { PUENTE_UPSTREAM: 'https://api.example', PUENTE_SECRET_KEY: 'k'.repeat(32) };
  const printed = await started({ ...env, PUENTE_OPS_TOKENS: JSON.stringify(people) }, 'npx puente can-migrate');
  expect(printed).not.toContain('npx puente stage');
});
