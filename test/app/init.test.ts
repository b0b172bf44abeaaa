/** `puente init`, by questions in a real terminal and by options; a real Puente starts on the written files. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { Agent, request } from 'undici';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { closedTo, serviceUser } from '../../src/app/init-here.ts';
import { type Authority, makeAuthority } from '../journeys/authority.ts';
import { VENDOR_HOST } from '../journeys/vendor-host.ts';
import { ARGENTINA, DEVICE, eventually, POINT, startBench, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { keys, puenteInTerminal } from '../ops/cli/terminal.ts';
import { command } from '../ops/moves/command.ts';
import { puente } from '../run-cli.ts';
import { starter } from './start.ts';

const WEBHOOK_SECRET = 'hush-webhook-secret';
const directory = mkdtempSync(join(tmpdir(), 'puente-init-'));
let authority: Authority;

const bench = openForAll(() => startBench());
beforeAll(async () => {
  authority = await makeAuthority(directory);
});
const start = starter();
const started = (PUENTE_CONFIG: string, uid?: number) => start({ PUENTE_CONFIG }, undefined, uid);

function folder(): string {
  return mkdtempSync(join(directory, 'into-'));
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

function bytesIn(into: string): Record<string, string> {
  const files = readdirSync(into, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [relative(into, path), readFileSync(path, 'utf8')];
    }),
  );
}

/** Each question and refusal on the screen, once, without what is typed. */
function asked(shown: string, into: string): string {
  const lines = shown
    .split(/\r?\n/)
    .flatMap((line) => /^(?:[◆▲└┌] {2}|│ {2}(?=.*│$))(\S.*?) *│?$/.exec(line)?.[1] ?? []);
  const told = [...new Set(lines)].filter((line) => line !== 'Validating...').join('\n');
  return `${told}\n`
    .replaceAll(into, 'FOLDER')
    .replaceAll(directory, 'HERE')
    .replaceAll(new URL(bench.sandbox.url).port, 'PORT')
    .replaceAll(/error:[^)]*/g, 'error');
}

describe('by questions', () => {
  it('checks each answer, writes a configuration with reasons, and Puente serves a till on it', async () => {
    const into = folder();
    const terminal = puenteInTerminal(['init', '--into', into, '--set', 'ops.port=0']);
    await terminal.answer('Base URL of the orders API?', `${keys.clear}api.example${keys.enter}`);
    await terminal.answer('Allowed is `sandbox`, or a base URL', `${keys.clear}${bench.sandbox.url}${keys.enter}`);
    await terminal.answer('legacy API', keys.enter);
    await terminal.answer('How do tills and the vendor reach Puente', keys.enter);
    await terminal.answer('It is needed.', `https://${VENDOR_HOST}${keys.enter}`);
    await terminal.answer('Does Puente terminate TLS itself?', 'y');
    await terminal.answer('certificate chain', `${authority.key_file}${keys.enter}`);
    await terminal.answer('is no certificate', `${keys.clear}${authority.certificate_file}${keys.enter}`);
    await terminal.answer('private key', `${authority.ca_file}${keys.enter}`);
    await terminal.answer("can't be used together", `${keys.clear}${authority.key_file}${keys.enter}`);
    await terminal.answer('Address to listen on', `${keys.clear}192.0.2.7${keys.enter}`);
    await terminal.answer('This machine has no address', `${keys.clear}127.0.0.1${keys.enter}`);
    await terminal.answer('Port to listen on', `${keys.clear}ninety${keys.enter}`);
    await terminal.answer('Allowed is a port', `${keys.clear}${new URL(bench.sandbox.url).port}${keys.enter}`);
    await terminal.answer('Something listens on', `${keys.clear}0${keys.enter}`);
    await terminal.answer("Secret of the application's order webhook", `${WEBHOOK_SECRET}${keys.enter}`);
    await terminal.answer('Notice URL of merchants', `https://10.0.0.8/in${keys.enter}`);
    await terminal.answer('goes to 10.0.0.8', `${keys.clear}https://${VENDOR_HOST}/in${keys.enter}`);
    await terminal.answer("Puente's own address", keys.clear + keys.enter);
    await terminal.answer('Where does Puente store', keys.enter);
    await terminal.answer('Folder of the file', `/proc/nothing${keys.enter}`);
    await terminal.answer("can't be written", keys.clear + keys.enter);
    await terminal.answer('Who operates Puente?', `${keys.down}${keys.enter}`);
    await terminal.answer('Name?', `puente${keys.enter}`);
    await terminal.answer('not puente or all', `${keys.clear}ana${keys.enter}`);
    await terminal.answer('Role of ana?', keys.enter);
    await terminal.answer('Another person?', keys.enter);
    await terminal.answer('Name?', `ben${keys.enter}`);
    await terminal.answer('Role of ben?', `${keys.down}${keys.enter}`);
    await terminal.answer('Another person?', 'n');
    await terminal.answer('Which system user runs Puente?', `nobody-here${keys.enter}`);
    await terminal.answer('This machine has no user nobody-here', keys.clear + keys.enter);
    expect(existsSync(join(into, 'puente.yaml')), 'nothing is written before the last question').toBe(false);
    await terminal.answer('Write them?', keys.enter);
    expect(await terminal.ended()).toBe(0);
    expect(terminal.shown()).toContain('Written, for this user alone to read:');
    expect(terminal.shown()).not.toContain('hush');
    await expect(asked(terminal.shown(), into)).toMatchFileSnapshot(
      join(import.meta.dirname, '../ops/cli/golden/init-questions.txt'),
    );
    // Ben may do more than Ana, so the next commands are his.
    expect(terminal.shown()).toContain(`cat '${join(into, 'secrets', 'ops-token-ben')}'`);
    expect(terminal.shown()).toMatch(/npx puente stage <merchant> shadow/);
    const config = join(into, 'puente.yaml');
    const text = readFileSync(config, 'utf8');
    expect(text).toContain('# The secret that signs events.');
    expect(text).toContain('port: 0');
    const tokens = ['ana', 'ben'].map((name) =>
      readFileSync(join(into, 'secrets', `ops-token-${name}`), 'utf8').trim(),
    );
    for (const secret of [WEBHOOK_SECRET, ...tokens]) expect(text).not.toContain(secret);
    for (const name of ['secret-key', 'ops-token-ana', 'ops-token-ben', 'webhook-secret'])
      expect(modeOf(join(into, 'secrets', name))).toBe('600');
    expect([modeOf(config), modeOf(join(into, 'secrets'))]).toEqual(['600', '700']);
    const printed = await started(config);
    const [, door] = /listening on +(\S+), TLS/.exec(printed) ?? [];
    expect(printed).toContain('one each for ana (viewer), ben (operator)');
    const dispatcher = new Agent({ connect: { ca: readFileSync(authority.ca_file, 'utf8'), servername: VENDOR_HOST } });
    const listDevices = async () => {
      const headers = { authorization: `Bearer ${tokenOf(ARGENTINA)}` };
      const { statusCode, body } = await request(`https://${door}${POINT}/devices`, { dispatcher, headers });
      return [statusCode, await body.text()];
    };
    // An overloaded machine may answer 503 (retry later) right after the start.
    const devices = await eventually(listDevices, ([status]) => status !== 503);
    expect(devices).toEqual([200, expect.stringContaining(DEVICE)]);
    await dispatcher.close();
    const env = { PUENTE_OPS_URL: /ops door +(\S+)/.exec(printed)?.[1] ?? '', PUENTE_OPS_TOKEN: tokens[1] ?? '' };
    // The owner of the token is stored after the answer is sent.
    const { out } = await eventually(
      async () => puente(['merchants', 'list', '--json'], { env }),
      (listed) => listed.out.includes(ARGENTINA),
    );
    expect(JSON.parse(out)).toMatchObject([{ id: ARGENTINA }]);
  });

  it('does not ask for a secret whose file an option names', async () => {
    const into = folder();
    const own = join(into, 'own');
    writeFileSync(own, 'postgres://puente:hush@db.example/puente\n', { mode: 0o600 });
    const set = [
      '--set',
      'ops.port=0',
      ...['webhook.secret_file', 'postgres.url_file', 'ops.token_file'].flatMap((name) => ['--set', `${name}=${own}`]),
    ];
    const terminal = puenteInTerminal(['init', '--into', into, '--upstream', bench.sandbox.url, ...set]);
    await terminal.answer('legacy API', keys.enter);
    await terminal.answer('How do tills and the vendor reach Puente', `https://${VENDOR_HOST}${keys.enter}`);
    await terminal.answer('Does Puente terminate TLS itself?', 'n');
    await terminal.answer('Address to listen on', keys.enter);
    await terminal.answer('Port to listen on', `${keys.clear}0${keys.enter}`);
    await terminal.answer('Notice URL of merchants', keys.enter);
    await terminal.answer('Which system user runs Puente?', keys.enter);
    await terminal.answer('Write them?', keys.enter);
    expect(await terminal.ended()).toBe(0);
    expect(terminal.shown()).not.toContain('Secret of the application');
    expect(readdirSync(join(into, 'secrets'))).toEqual(['secret-key']);
  });

  it('does not ask for the legacy API of the sandbox, which is its own', async () => {
    const into = folder();
    const terminal = puenteInTerminal(['init', '--into', into, '--set', 'ops.port=0']);
    await terminal.answer('Base URL of the orders API?', `${keys.clear}sandbox${keys.enter}`);
    await terminal.answer('How do tills and the vendor reach Puente', `https://${VENDOR_HOST}${keys.enter}`);
    await terminal.answer('Does Puente terminate TLS itself?', keys.cancel);
    expect(await terminal.ended()).toBe(1);
    expect(terminal.shown()).not.toContain('legacy API');
  });

  it('asks nothing that an option says, and leaves without a trace', async () => {
    const into = folder();
    const said = [
      '--upstream',
      bench.sandbox.url,
      '--legacy-upstream',
      bench.sandbox.url,
      '--public-url',
      'https://a.example',
    ];
    const terminal = puenteInTerminal(['init', '--into', into, ...said]);
    // Without a certificate at hand Enter goes on: no is the preset.
    await terminal.answer('Does Puente terminate TLS itself?', keys.enter);
    await terminal.answer('Address to listen on', keys.cancel);
    expect(await terminal.ended()).toBe(1);
    expect(terminal.shown()).toContain('Nothing was written.');
    expect(existsSync(join(into, 'secrets'))).toBe(false);
  });
});

// Ports that nothing else can hold while the tests run.
const real = ['--yes', '--public-url', 'https://puente.shop.example', '--public-port', '0', '--set', 'ops.port=0'];

describe('by options', () => {
  const secrets = {
    PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PUENTE_POSTGRES_URL: 'postgres://puente:hush@127.0.0.1:1/puente',
  };
  it.each<[says: string, argv: string[], env?: Record<string, string>]>([
    ['there is no terminal to ask at; give --yes', []],
    ['--public-url is needed', ['--yes']],
    ['public.url is refused. Allowed is a base URL', ['--yes', '--public-url', 'puente']],
    ['public.port is refused. Allowed is a port', [...real, '--public-port', 'http']],
    ['ops.token is a secret; name the file', [...real, '--set', 'ops.token=hush-hush-hush-hush']],
    ['ops.prot is no setting of Puente', [...real, '--set', 'ops.prot=1']],
    ['A name and a value are needed', [...real, '--set', 'ops.port']],
    ['A name and a role are needed', [...real, '--person', 'ana']],
    ['ops.tokens is refused', [...real, '--person', 'all:viewer']],
    ['ana is named twice', [...real, '--person', 'ana:viewer', '--person', 'ana:operator']],
    ['--tls-certificate and --tls-key go together', [...real, '--tls-key', 'key.pem']],
    [
      "can't be used together",
      [...real, '--elsewhere', '--tls-key', 'package.json', '--tls-certificate', 'package.json'],
    ],
    [
      '--webhook-secret and --set webhook.secret_file=… both give it; keep one of them',
      [...real, '--webhook-secret', '--set', 'webhook.secret_file=package.json'],
      secrets,
    ],
    [
      '--postgres and --set postgres.url_file=… both give it; keep one of them',
      [...real, '--postgres', '--set', 'postgres.url_file=package.json', '--elsewhere'],
      secrets,
    ],
    ['public.host is refused. This machine has no address 192.0.2.7', [...real, '--public-host', '192.0.2.7']],
    ['It is the port of the', [...real, '--public-port', '9081', '--set', 'ops.port=9081']],
    ["data_dir is refused. /proc/nothing can't be written", [...real, '--data-dir', '/proc/nothing']],
    [
      'public.tls.certificate_file is refused. package.json is no certificate',
      [...real, '--tls-certificate', 'package.json', '--tls-key', 'package.json'],
    ],
    ["nowhere can't be read (ENOENT)", [...real, '--tls-certificate', 'nowhere']],
    ['merchants.notice_url is refused.', [...real, '--notify', 'https://127.0.0.1/in']],
    ["Puente's own address", [...real, '--notify', 'https://puente.shop.example/in']],
    ['This machine has no user nobody-here. Make it first', [...real, '--user', 'nobody-here']],
    ['postgres.url is refused. The database', [...real, '--postgres'], secrets],
    ['set PUENTE_WEBHOOK_SECRET first', [...real, '--webhook-secret']],
    ['set PUENTE_POSTGRES_URL first', [...real, '--postgres']],
  ])('wrong use, and nothing is written: %s', async (says, argv, env = {}) => {
    const into = folder();
    const { code, err, out } = await command(['init', '--into', into, ...argv], env);
    expect(err).toContain(says);
    expect([code, out]).toEqual([2, '']);
    expect(existsSync(join(into, 'secrets'))).toBe(false);
  });

  it('refuses everything that is wrong at once, each by its name', async () => {
    const wrong = ['--public-port', 'http', '--notify', 'https://10.0.0.8/in', '--user', 'nobody-here'];
    const { err, code } = await command(['init', '--into', folder(), '--yes', ...wrong, '--tls-key', 'key.pem']);
    const said = ['public.port', 'merchants.notice_url', 'no user nobody-here', '--public-url', '--tls-certificate'];
    expect(said.filter((one) => !err.includes(one))).toEqual([]);
    expect([code, err.match(/^error: /gm)?.length]).toEqual([2, 5]);
  });

  it('lets two doors have one port on two addresses', async () => {
    // Held on an address of its own, the port goes to no program that listens on all of them; the two have no other user.
    const holder = createServer().listen(0, '127.0.0.3');
    onTestFinished(() => void holder.close());
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo; // a listening TCP server has one
    const two = ['--public-host', '127.0.0.4', '--public-port', `${port}`, '--set', `ops.port=${port}`];
    const { err } = await command(['init', '--into', folder(), ...real, ...two, '--set', 'ops.host=127.0.0.5']);
    expect(err).toBe('');
    const all = await command(['init', '--into', folder(), ...real, ...two, '--set', 'ops.host=0.0.0.0']);
    expect(all.err).toContain('It is the port of the');
  });

  it('writes what settings that contradict each other would be refused for: nothing', async () => {
    const into = folder();
    const { code, err } = await command(['init', '--into', into, ...real, '--set', 'store.ballast_bytes=1073741824']);
    expect(err).toContain('store.ballast_bytes is 1073741824, more than store.low_bytes');
    expect(code).toBe(1);
    expect(readdirSync(into)).toEqual([]);
  });

  it('makes no folder for what it refuses, and takes none away that was there', async () => {
    const into = folder();
    const contradicting = [...real, '--set', 'store.ballast_bytes=1073741824'];
    const deep = await command(['init', '--into', join(into, 'shops', 'north'), ...contradicting]);
    expect([deep.code, readdirSync(into)]).toEqual([1, []]);
    const long = await command(['init', '--into', join(into, 'shops', 'n'.repeat(300)), ...real]);
    expect([long.err, readdirSync(into)]).toEqual([expect.stringContaining('ENAMETOOLONG'), []]);
    mkdirSync(join(into, 'secrets'));
    const there = await command(['init', '--into', into, ...contradicting]);
    expect([there.code, readdirSync(into)]).toEqual([1, ['secrets']]);
  });

  it('takes secrets from the environment, and tells scripts where everything is, without them', async () => {
    const into = folder();
    const env = {
      PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PUENTE_POSTGRES_URL: 'postgres://puente:hush@db.example/puente',
    };
    const argv = [
      'init',
      '--into',
      into,
      '--json',
      ...real,
      '--webhook-secret',
      '--postgres',
      '--elsewhere',
      '--notify',
      'https://a.example/n',
    ];
    const { out, code } = await puente(argv, { env });
    expect(code).toBe(0);
    expect(out).not.toContain('hush');
    expect(JSON.parse(out)).toEqual({
      config: join(into, 'puente.yaml'),
      secrets: ['secret-key', 'ops-token', 'postgres-url', 'webhook-secret'].map((name) => ({
        path: join(into, 'secrets', name),
        about: expect.any(String),
      })),
      kept: [],
      token_file: join(into, 'secrets', 'ops-token'),
      speaker: { name: null, role: 'approver' },
      missing: [expect.stringMatching(/^TLS/)],
      commands: [],
    });
    expect(readFileSync(join(into, 'secrets', 'postgres-url'), 'utf8')).toBe(`${env.PUENTE_POSTGRES_URL}\n`);
    expect(readFileSync(join(into, 'puente.yaml'), 'utf8')).not.toContain('hush');
  });

  it('never writes over what is there unasked, and never over a key', async () => {
    const into = folder();
    const env = { PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET };
    const first = await command(['init', '--into', into, ...real, '--webhook-secret'], env);
    expect(first.code).toBe(0);
    const key = readFileSync(join(into, 'secrets', 'secret-key'), 'utf8');
    const again = await command(['init', '--into', into, ...real]);
    expect(again.err).toContain(`${join(into, 'puente.yaml')} is there already. Name another folder with --into`);
    expect(again.code).toBe(1);
    const forced = await command(['init', '--into', into, ...real, '--force', '--set', 'log.level=warn']);
    expect(forced.out).toContain('Left as they were:');
    expect(readFileSync(join(into, 'secrets', 'secret-key'), 'utf8')).toBe(key);
    const text = readFileSync(join(into, 'puente.yaml'), 'utf8');
    expect(text).toContain('level: warn');
    expect(text).toContain(`secret_file: ${join(into, 'secrets', 'webhook-secret')}`);
    expect(readFileSync(join(into, 'secrets', 'webhook-secret'), 'utf8').trim()).toBe(WEBHOOK_SECRET);
  });

  it('takes files of secrets that somebody names, makes nothing in their place, and misses none of them', async () => {
    const into = folder();
    const own = (name: string, text: string): string => {
      const path = join(into, name);
      writeFileSync(path, `${text}\n`, { mode: 0o600 });
      return path;
    };
    const named = {
      secret_key_file: own('my-key', 'k'.repeat(48)),
      'ops.token_file': own('my-token', 't'.repeat(48)),
      'webhook.secret_file': own('my-webhook', WEBHOOK_SECRET),
    };
    const set = Object.entries(named).flatMap(([name, path]) => ['--set', `${name}=${path}`]);
    const { out, err } = await command(['init', '--into', into, '--json', ...real, ...set]);
    expect(err).toBe('');
    expect(JSON.parse(out)).toEqual({
      config: join(into, 'puente.yaml'),
      secrets: [],
      kept: [],
      token_file: named['ops.token_file'],
      speaker: { name: null, role: 'approver' },
      commands: [],
      missing: [expect.stringMatching(/^TLS/), expect.stringMatching(/^Where notices go/)],
    });
    const text = readFileSync(join(into, 'puente.yaml'), 'utf8');
    for (const path of Object.values(named)) expect(text).toContain(`_file: ${path}`);
    expect(readdirSync(join(into, 'secrets'))).toEqual([]);
  });

  it('makes what is named as nothing', async () => {
    const into = folder();
    const argv = ['--set', 'ops.token_file=', '--set', 'webhook.secret_file=', '--notify', ''];
    const { out } = await command(['init', '--into', into, '--json', ...real, ...argv]);
    expect(JSON.parse(out)).toMatchObject({
      secrets: [{ path: join(into, 'secrets', 'secret-key') }, { path: join(into, 'secrets', 'ops-token') }],
      token_file: join(into, 'secrets', 'ops-token'),
      missing: [/^The webhook/, /^TLS/, /^Where notices go/].map((what) => expect.stringMatching(what)),
    });
  });

  it('leaves every file as it was when it refuses to write anew', async () => {
    const into = folder();
    const url = (password: string): string => `postgres://puente:${password}@db.example/puente`;
    const argv = ['init', '--into', into, ...real, '--webhook-secret', '--postgres', '--elsewhere'];
    const first = { PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET, PUENTE_POSTGRES_URL: url('first') };
    expect((await command(argv, first)).code).toBe(0);
    const before = bytesIn(into);
    const second = { PUENTE_WEBHOOK_SECRET: 'another-webhook-secret', PUENTE_POSTGRES_URL: url('second') };
    const bad = ['--force', '--set', 'store.ballast_bytes=1073741824'];
    const refused = await command([...argv, ...bad], second);
    expect(refused.err).toContain('store.ballast_bytes is 1073741824, more than store.low_bytes');
    expect(bytesIn(into)).toEqual(before);
    rmSync(join(into, 'secrets', 'postgres-url'));
    mkdirSync(join(into, 'secrets', 'postgres-url'));
    const folded = bytesIn(into);
    const blocked = await command([...argv, '--force'], second);
    expect(blocked.err).toContain(`${join(into, 'secrets', 'postgres-url')} is there and is no file; move it away`);
    expect(bytesIn(into)).toEqual(folded);
    rmSync(join(into, 'secrets', 'postgres-url'), { recursive: true });
    expect((await command([...argv, '--force'], second)).code).toBe(0);
    expect(bytesIn(into)['secrets/webhook-secret']).toBe('another-webhook-secret\n');
    expect(Object.keys(bytesIn(into)).toSorted()).toEqual(Object.keys(before).toSorted());
  });

  it('starts, and a secret that others may read is refused with the command that mends it', async () => {
    const into = folder();
    const ports = ['public.port=0', 'ops.port=0'].flatMap((one) => ['--set', one]);
    await puente(['init', '--into', into, ...real, '--upstream', bench.sandbox.url, ...ports]);
    const config = join(into, 'puente.yaml');
    expect(await started(config)).toContain(`export PUENTE_OPS_TOKEN="$(cat '${join(into, 'secrets', 'ops-token')}')"`);
    const key = join(into, 'secrets', 'secret-key');
    chmodSync(key, 0o644);
    expect(await started(config)).toContain(`run \`chmod 600 ${key}\``);
  });

  it('refuses a port that something holds, and names it no more where it writes over an installation', async () => {
    const into = folder();
    const { port } = new URL(bench.sandbox.url);
    const argv = ['init', '--into', into, ...real, '--public-port', port];
    const { code, err } = await command(argv);
    expect([code, err]).toEqual([2, expect.stringContaining(`Something listens on 127.0.0.1:${port} already`)]);
    expect((await command([...argv, '--force'])).code).toBe(0);
  });

  it('names next the ops door that it wrote, and what the person made may run', async () => {
    const next = async (...argv: string[]): Promise<string> => {
      const { out, err } = await command(['init', '--into', folder(), ...real, ...argv]);
      expect(err).toBe('');
      return out.slice(out.indexOf('Next:'));
    };
    const ops = ['--set', 'ops.host=0.0.0.0', '--set', 'ops.port=18099', '--elsewhere'];
    const viewer = await next(...ops, '--person', 'till-bot:rollback', '--person', 'ana:viewer');
    expect(viewer).toContain('export PUENTE_OPS_URL=http://127.0.0.1:18099\n');
    expect(viewer).toMatch(/secrets\/ops-token-ana'\)"/);
    expect(viewer).toContain('as ana (viewer)');
    expect(viewer).toContain('npx puente merchants list');
    expect(viewer).not.toContain('npx puente stage');
    expect(await next(...ops, '--person', 'ana:viewer', '--person', 'eva:approver')).toMatch(/ops-token-eva'/);
    const nobody = await next(...ops, '--person', 'bot:rollback');
    expect(nobody).toContain('Add one with --person NAME:viewer');
    expect(nobody).not.toContain('PUENTE_OPS_TOKEN');
    const own = await next(...ops);
    expect(own).toContain('npx puente stage <merchant> shadow');
  });

  it('writes a configuration for the sandbox too, with paths that hold wherever it is started', async () => {
    const into = folder();
    const more = ['--upstream', 'sandbox', '--set', 'mappings.folder=own'];
    const { code, err } = await command(['init', '--into', into, ...real, ...more]);
    expect([code, err]).toEqual([0, '']);
    const text = readFileSync(join(into, 'puente.yaml'), 'utf8');
    expect(text).toContain('upstream: sandbox');
    expect(text).toContain(`folder: ${resolve('own')}\n`);
  });

  it('says which folder it can not write', async () => {
    writeFileSync(join(directory, 'a-file'), '');
    const { code, err } = await command(['init', '--into', join(directory, 'a-file'), ...real]);
    expect(err).toContain("a-file can't be written (");
    expect(code).toBe(1);
  });
});

/** `nobody` of this machine, who owns nothing of the tests. */
const NOBODY = 65_534;
const is_root = process.getuid?.() === 0;

/** A user of this machine that belongs to a group which is not its own; empty without one. */
function memberOfGroup(): string[] {
  const groups = readFileSync('/etc/group', 'utf8').split('\n');
  const [, , gid = '', members = ''] = groups.map((line) => line.split(':')).find((parts) => parts[3]) ?? [];
  return members === '' ? [] : [members.split(',')[0] ?? '', gid];
}

describe("the service's user", () => {
  const reads = (path: string): boolean => spawnSync('test', ['-r', path], { uid: NOBODY, gid: NOBODY }).status === 0;

  it.skipIf(!is_root)(
    'may read all files and write its data, others may not, and Puente starts as that user',
    async () => {
      const home = folder();
      chmodSync(directory, 0o755);
      chmodSync(home, 0o755);
      const into = join(home, 'etc');
      const argv = ['init', '--into', into, ...real, '--upstream', bench.sandbox.url, '--user', 'nobody'];
      const { code, out } = await puente(argv);
      expect([code, out]).toEqual([0, expect.stringContaining('Written, for nobody to read:')]);
      expect(out).not.toContain('As root');
      const files = ['puente.yaml', 'secrets/secret-key', 'secrets/ops-token'].map((name) => join(into, name));
      expect(files.map(reads)).toEqual([true, true, true]);
      expect(files.map(modeOf)).toEqual(['640', '640', '640']);
      expect([modeOf(into), modeOf(join(into, 'secrets')), modeOf(join(into, 'data'))]).toEqual(['750', '750', '700']);
      expect(out).toContain(`as nobody: PUENTE_CONFIG='${join(into, 'puente.yaml')}' npm start`);
      expect(await started(join(into, 'puente.yaml'), NOBODY)).toContain('Puente is ready.');
    },
  );

  it.skipIf(!is_root)('that can not reach a file is told with the repair', async () => {
    const home = folder();
    chmodSync(home, 0o700);
    const secret = join(home, 'webhook');
    writeFileSync(secret, `${WEBHOOK_SECRET}\n`, { mode: 0o600 });
    const more = ['--json', '--user', 'nobody', '--set', `webhook.secret_file=${secret}`];
    const { out } = await command(['init', '--into', join(home, 'etc'), ...real, ...more]);
    const { missing } = JSON.parse(out) as { missing: string[] }; // the form of `init --json`
    expect(missing).toContainEqual(
      expect.stringMatching(/^nobody can't read .*puente\.yaml\. nobody may not enter a folder above: name another/),
    );
    // A file that others use stays theirs.
    expect(missing).toContainEqual(
      expect.stringMatching(/^nobody can't read .*webhook\. Leave .*install -g \w+ -m 0640/),
    );
    expect([modeOf(secret), statSync(secret).gid]).toEqual(['600', 0]);
  });

  it.skipIf(!is_root)('enters the folders that were made above its data', async () => {
    const home = folder();
    for (const path of [directory, home]) chmodSync(path, 0o755);
    const data = join(home, 'srv', 'shops', 'data');
    const argv = ['init', '--into', join(home, 'etc'), ...real, '--json', '--user', 'nobody', '--data-dir', data];
    const { missing } = JSON.parse((await command(argv)).out) as { missing: string[] }; // the form of `init --json`
    expect(missing.filter((what) => what.startsWith('nobody'))).toEqual([]);
    expect([data, join(data, '..'), join(data, '..', '..')].map(modeOf)).toEqual(['700', '755', '755']);
    expect(spawnSync('touch', [join(data, 'file')], { uid: NOBODY, gid: NOBODY }).status).toBe(0);
  });

  it('reads what one of its further groups may read', ({ skip }) => {
    const [name, gid] = memberOfGroup();
    skip(!is_root || name === undefined, 'only root may try, and some user must have a further group');
    const user = serviceUser(name ?? '');
    if (user === null) throw new Error(`${name} is a member of a group and no user`);
    const [of_group, of_root] = ['of-group', 'of-root'].map((file) => join(folder(), file));
    chmodSync(directory, 0o755);
    for (const [path, group] of [
      [of_group, Number(gid)],
      [of_root, 0],
    ] as [string, number][]) {
      chmodSync(dirname(path), 0o755);
      writeFileSync(path, 'hush', { mode: 0o640 });
      chownSync(path, 0, group);
    }
    expect(closedTo(user, 'read', [of_group ?? '', of_root ?? ''])).toEqual([of_root]);
    expect(closedTo(user, 'write', [of_group ?? ''])).toEqual([of_group]);
  });

  it('of another machine gets its rights by commands, which are printed', async () => {
    const into = folder();
    const { out } = await command(['init', '--into', into, ...real, '--elsewhere', '--user', 'puente-there']);
    expect(out).toContain('As root, so that puente-there may read them:');
    // The folder was there: others may use it.
    expect(out).toContain(`chgrp puente-there '${join(into, 'secrets')}' '${join(into, 'puente.yaml')}'`);
    expect(out).toContain('chmod 0640');
    const data = join(into, 'data');
    expect(out).toContain(`test -d '${data}' || install -d -m 0700 -o puente-there -g puente-there '${data}'`);
    expect(modeOf(join(into, 'puente.yaml'))).toBe('600');
  });
});
