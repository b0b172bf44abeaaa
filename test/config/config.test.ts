/** Settings: refusals and their sentences, precedence of sources; files, schema and page agree. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { FILE_VARIABLE } from '../../src/config/config.ts';
import { describeSettings, renderSettings } from '../../src/config/describe.ts';
import { USUAL_OPS_URL } from '../../src/ops/cli/ops-client.ts';
import { KEY, openSettings, TOKEN } from './kit.ts';

const { directory, file, load, refusal } = openSettings();
const REAL = { PUENTE_UPSTREAM: 'https://api.example', PUENTE_SECRET_KEY: KEY };

describe('a bad variable is refused by name, with what was found and what is allowed', () => {
  test.each([
    ['PUENTE_PUBLIC_PORT', 'abc', 'public.port', '"abc"', 'a port from 1 to 65535, or 0 for a free one'],
    ['PUENTE_PUBLIC_PORT', '70000', 'public.port', '70000', 'a port from 1 to 65535'],
    ['PUENTE_PUBLIC_PORT', '-1', 'public.port', '-1', 'a port'],
    ['PUENTE_PUBLIC_PORT', '80.5', 'public.port', '80.5', 'a port'],
    ['PUENTE_PUBLIC_PORT', '', 'public.port', 'null', 'a port'],
    ['PUENTE_OPS_PORT', '0x50', 'ops.port', '"0x50"', 'a port'],
    ['PUENTE_PUBLIC_BODY_LIMIT_BYTES', '10 megs', 'public.body_limit_bytes', '"10 megs"', 'bytes from 1024 to 1048576'],
    ['PUENTE_PUBLIC_BODY_LIMIT_BYTES', 'NaN', 'public.body_limit_bytes', '"NaN"', 'a whole number'],
    ['PUENTE_PUBLIC_BODY_LIMIT_BYTES', '1e9', 'public.body_limit_bytes', '"1e9"', 'a whole number'],
    ['PUENTE_CREATE_DEADLINE_MS', '10000', 'create.deadline_ms', '10000', 'milliseconds from 100 to 9999'],
    ['PUENTE_CREATE_ATTEMPTS', '0', 'create.attempts', '0', 'from 1 to 10'],
    ['PUENTE_CREATE_UNCLAIMED', 'keep', 'create.unclaimed', '"keep"', 'cancel-unclaimed, adopt'],
    ['PUENTE_NOTICES_TIMEOUT_MS', '-5', 'notices.timeout_ms', '-5', 'milliseconds'],
    ['PUENTE_OUTBOUND_ALLOW_PRIVATE', 'yes', 'outbound.allow_private', '"yes"', 'true or false'],
    ['PUENTE_OUTBOUND_ALLOW_PRIVATE', '1', 'outbound.allow_private', '"1"', 'true or false'],
    ['PUENTE_OUTBOUND_PORTS', '443,https', 'outbound.ports', '[443,"https"]', 'a list of 1 to 64 ports'],
    ['PUENTE_ROUTING_DEFAULT_STAGE', 'canary', 'routing.default_stage', '"canary"', 'legacy, shadow, orders'],
    ['PUENTE_LOG_LEVEL', 'loud', 'log.level', '"loud"', 'fatal, error, warn, info, debug, trace, silent'],
    ['PUENTE_UPSTREAM', 'api.example', 'upstream', '"api.example"', '`sandbox`, or a base URL'],
    ['PUENTE_UPSTREAM', 'ftp://api.example', 'upstream', '"ftp://api.example"', 'a base URL'],
    ['PUENTE_LEGACY_UPSTREAM', 'https:api.example', 'legacy_upstream', '"https:api.example"', 'a base URL'],
    [
      'PUENTE_PUBLIC_URL',
      'https://puente.example/#x',
      'public.url',
      '"https://puente.example/#x"',
      'without credentials',
    ],
    ['PUENTE_DATA_DIR', '', 'data_dir', 'null', 'the path of a directory'],
    ['PUENTE_SANDBOX_SETTINGS', 'fast', 'sandbox.settings', '"fast"', 'a list of names and values'],
    ['PUENTE_NOTICES_USER_AGENT', 'a\r\nb: c', 'notices.user_agent', '"a\\r\\nb: c"', 'a text of one line'],
  ])('%s=%j [F64]', (variable, value, path, found, allowed) => {
    const sentence = refusal({ [variable]: value });
    expect(sentence).toContain(`${path} from the variable ${variable} is ${found}; allowed is `);
    expect(sentence).toContain(allowed);
  });
});

describe('a bad file is refused by name and place', () => {
  test.each([
    ['an unknown section', 'publik:\n  port: 1\n', /^publik in file-\d+\.yaml \(PUENTE_CONFIG\) is no setting.*public/],
    [
      'an unknown key',
      'public:\n  prot: 1\n',
      /^public\.prot in file-\d+\.yaml .* is no setting.*allowed here: host, port/,
    ],
    [
      'a deep unknown key',
      'public:\n  tls:\n    file: x\n',
      /^public\.tls\.file .*allowed here: certificate_file, key_file/,
    ],
    ['a key of Object', 'public:\n  toString: 1\n', /^public\.toString .* is no setting/],
    ['a prototype', '__proto__:\n  port: 1\n', /^__proto__ .* is no setting/],
    ['a value for a section', 'public: 8080\n', /^public in .* must be a section/],
    ['a list at the top', '- public\n', /^the file in .* must be a section/],
    [
      'a section for a value',
      'public:\n  port:\n    number: 1\n',
      /^public\.port from file-\d+\.yaml .*\{"number":1\}/,
    ],
    ['text for a number', 'public:\n  port: "8080"\n', /^public\.port .* is "8080"; allowed is a port/],
    ['not a number', 'create:\n  attempts: .nan\n', /^create\.attempts .* is NaN;/],
    ['no end', 'reads:\n  timeout_ms: .inf\n', /^reads\.timeout_ms .* is Infinity;/],
    ['null where there must be a value', 'log:\n  level:\n', /^log\.level .* is null;/],
    ['a key twice', 'public:\n  port: 1\n  port: 2\n', /is not valid YAML at line 3 \(DUPLICATE_KEY\)/],
    ['no YAML', 'public: [\n', /is not valid YAML at line 2/],
    [
      'a token that YAML takes for an alias',
      'ops:\n  token: *hush\n',
      /^file-\d+\.yaml \(PUENTE_CONFIG\) is not valid YAML at line 2 \(an alias of nothing: a text that begins with \* needs quotes\)\.$/,
    ],
    [
      'more aliases than are read',
      `public: &a [${'1, '.repeat(20)}]\nops: &b [${'*a, '.repeat(20)}]\nlog: [${'*b, '.repeat(20)}]\n`,
      /is not valid YAML at line 1 \(more aliases than are read\)/,
    ],
  ])('%s [F64]', (_what, text, sentence) => {
    expect(refusal({}, text)).toMatch(sentence);
  });

  test('a file that is not there', () => {
    expect(refusal({ PUENTE_CONFIG: 'nowhere.yaml' })).toBe(
      "nowhere.yaml (PUENTE_CONFIG) can't be read (ENOENT); give the path of a YAML file that exists.",
    );
  });
});

describe('settings that contradict each other are refused with the repair', () => {
  const certificate = () => join(directory, file('certificate'));
  test.each<[string, () => Record<string, string>, RegExp]>([
    [
      'an open ops door [F123]',
      () => ({ PUENTE_OPS_HOST: '0.0.0.0' }),
      /^ops\.host is 0\.0\.0\.0.*set PUENTE_OPS_TOKEN/,
    ],
    ['an open ops door, IPv6 [F123]', () => ({ PUENTE_OPS_HOST: '::' }), /^ops\.host is ::.*set PUENTE_OPS_TOKEN/],
    ['an ops door by name [F123]', () => ({ PUENTE_OPS_HOST: 'ops.example' }), /^ops\.host is ops\.example/],
    [
      'a reserve larger than what is kept free',
      () => ({ PUENTE_STORE_LOW_BYTES: '1', PUENTE_STORE_BALLAST_BYTES: '2' }),
      /^store\.ballast_bytes is 2, more than store\.low_bytes \(1\)/,
    ],
    ['a real upstream and no key', () => ({ PUENTE_UPSTREAM: 'https://api.example' }), /set PUENTE_SECRET_KEY/],
    ['two keys', () => ({ PUENTE_SECRET_KEY: KEY, PUENTE_SECRET_KEY_FILE: certificate() }), /are both set; keep one/],
    [
      'a key file that is not there',
      () => ({ PUENTE_SECRET_KEY_FILE: 'nowhere' }),
      /^secret_key_file is .*can't be read/,
    ],
    ['a key file that is a directory', () => ({ PUENTE_SECRET_KEY_FILE: '.' }), /^secret_key_file is .*can't be read/],
    [
      'a short key in a file',
      () => ({ PUENTE_SECRET_KEY_FILE: file(' short \n') }),
      /^secret_key from the file .* \(secret_key_file\) is a value that is not shown; allowed is a text of 32/,
    ],
    [
      'a certificate alone',
      () => ({ PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: certificate() }),
      /^public\.tls\.key_file is not set/,
    ],
    [
      'a TLS key alone',
      () => ({ PUENTE_PUBLIC_TLS_KEY_FILE: certificate() }),
      /^public\.tls\.certificate_file is not set/,
    ],
    [
      'a TLS file that is not there',
      () => ({ PUENTE_PUBLIC_TLS_KEY_FILE: 'nowhere', PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: certificate() }),
      /^public\.tls\.key_file is .*nowhere, which can't be read/,
    ],
    [
      'a try longer than the deadline',
      () => ({ PUENTE_CREATE_DEADLINE_MS: '1000' }),
      /^create\.attempt_timeout_ms is 4000, more than create\.deadline_ms \(1000\)/,
    ],
    [
      'sums kept shorter than sales',
      () => ({ PUENTE_RETENTION_SUMS_MS: '34559999999' }),
      /^retention\.sums_ms is 34559999999, less than .* \(34560000000\)/,
    ],
    [
      'sums kept shorter than calls',
      () => ({ PUENTE_EVIDENCE_KEPT_MS: '69120000001' }),
      /^retention\.sums_ms is 69120000000, less than .* \(69120000001\)/,
    ],
    [
      'a first look after the last',
      () => ({ PUENTE_RECONCILE_MAX_INTERVAL_MS: '10' }),
      /^reconcile\.point_interval_ms/,
    ],
  ])('%s', (_what, env, sentence) => {
    expect(refusal(env())).toMatch(sentence);
  });
});

test.each(['PUENTE_OPS_URL', 'PUENTE_NOTICE_URL', 'PUENTE_NOTICE_SECRET', 'PUENTE_CREDENTIAL'])(
  '%s is what the commands read: a shell that has it may start Puente too',
  (variable) => {
    expect(load({ [variable]: 'for-the-commands' }).upstream).toBe('sandbox');
  },
);

test('a variable that is no setting is refused, and others are left alone [F64]', () => {
  expect(refusal({ PUENTE_PORT: '1' })).toMatch(/^PUENTE_PORT is no setting of Puente; config\/README\.md lists/);
  expect(load({ PORT: '1', PUENTEX: '1' }).public.port).toBe(8080);
});

test('a policy for unknown names is read by its earlier word, too', () => {
  const text = 'merchants:\n  unknown_field: carry\n  unknown_write: carry\n';
  const merchants = {
    unknown_endpoint: 'allow',
    unknown_field: 'allow',
    unknown_write: 'allow',
    unknown_header: 'note',
  };
  expect(load({ PUENTE_MERCHANTS_UNKNOWN_HEADER: 'note' }, text).merchants).toMatchObject(merchants);
  expect(refusal({ PUENTE_MERCHANTS_UNKNOWN_WRITE: 'note' })).toMatch(/allowed: refuse, allow|is refuse, allow/);
});

test('all that is wrong is said at once, each in its own line', () => {
  const sentences = refusal({ PUENTE_PORT: '1', PUENTE_LOG_LEVEL: 'loud' }, 'public:\n  port: x\n  prot: 1\n').split(
    '\n',
  );
  expect(sentences.map((sentence) => sentence.split(' ')[0])).toEqual([
    'public.prot',
    'PUENTE_PORT',
    'public.port',
    'log.level',
  ]);
});

describe('secrets', () => {
  test.each([
    ['a short token', { PUENTE_OPS_TOKEN: 'hush' }, undefined],
    ['a short key', { PUENTE_SECRET_KEY: 'hush' }, undefined],
    ['a short webhook secret', { PUENTE_WEBHOOK_SECRET: 'hush' }, undefined],
    ['a secret that is no text', {}, 'ops:\n  token: [hush]\n'],
    ['credentials in the upstream', { PUENTE_UPSTREAM: 'https://user:hush@api.example' }, undefined],
    ['credentials in a URL', { PUENTE_MERCHANTS_NOTICE_URL: 'https://hush@till.example/a?b=hush' }, undefined],
    ['an empty user name', { PUENTE_LEGACY_UPSTREAM: 'https://@api.example/?token=hush' }, undefined],
    ['a token in the query of a base', { PUENTE_PUBLIC_URL: 'https://puente.example/?token=hush' }, undefined],
    ['a secret in broken YAML', {}, 'webhook:\n  secret: "hush\nops: hush\n'],
    ['a secret twice', {}, 'webhook:\n  secret: hush\n  secret: hush\n'],
    ['a secret in a file with another mistake', {}, 'webhook:\n  secret: hush-hush\nops:\n  port: x\n'],
  ])('%s never appears in the sentence [F133]', (_what, env, text) => {
    refusal(env as Record<string, string>, text); // which looks for the secret; rows differ in their keys
  });

  test('are objects that refuse to be printed [F133]', () => {
    const config = load({ ...REAL, PUENTE_OPS_TOKEN: TOKEN, PUENTE_WEBHOOK_SECRET: 'webhook-secret' });
    expect(config.secret_key?.reveal()).toBe(KEY);
    expect(config.ops.token?.reveal()).toBe(TOKEN);
    expect(config.webhook.secret?.reveal()).toBe('webhook-secret');
    const printed = JSON.stringify(config) + inspect(config, { depth: 9, showHidden: true });
    for (const value of [KEY, TOKEN, 'webhook-secret']) expect(printed).not.toContain(value);
  });

  test('the key may come from a file, without its line end', () => {
    const name = file(`${KEY}\n`);
    const config = load({ PUENTE_UPSTREAM: 'https://api.example', PUENTE_SECRET_KEY_FILE: name });
    expect(config.secret_key?.reveal()).toBe(KEY);
    expect(config.secret_key_file).toBe(join(directory, name));
  });
});

describe('layers', () => {
  test('nothing set: the sandbox, on loopback, with the sandbox profile', () => {
    const config = load();
    expect(config.upstream).toBe('sandbox');
    expect(config.legacy_upstream).toBe('sandbox');
    expect([config.public.host, config.ops.host, config.sandbox.host]).toEqual(Array(3).fill('127.0.0.1'));
    expect(config.routing.default_stage).toBe('orders');
    expect(config.outbound.allow_private).toBe(true);
    expect(config.secret_key).toBeNull();
    expect(config.data_dir).toBe(join(directory, 'data'));
  });

  test('a real upstream gets nothing of the sandbox profile', () => {
    const config = load(REAL);
    expect(config.legacy_upstream).toBe('https://api.example');
    expect(config.routing.default_stage).toBe('legacy');
    expect(config.outbound.allow_private).toBe(false);
  });

  test('whether it is the sandbox is what the last layer says', () => {
    const text = `upstream: https://file.example\nsecret_key: ${KEY}\n`;
    expect(load({}, text).routing.default_stage).toBe('legacy');
    expect(load({ PUENTE_UPSTREAM: 'sandbox' }, text).routing.default_stage).toBe('orders');
  });

  test('a file wins over the defaults and the profile, a variable over the file', () => {
    const text = 'public:\n  port: 1001\nops:\n  port: 1002\noutbound:\n  allow_private: false\nlog:\n';
    const config = load({ PUENTE_OPS_PORT: '1003' }, text);
    expect(config.public.port).toBe(1001);
    expect(config.ops.port).toBe(1003);
    expect(config.outbound.allow_private).toBe(false);
    expect(config.log.level).toBe('info');
  });

  test('a variable set to nothing takes a value of the file away', () => {
    const text = 'merchants:\n  notice_url: https://till.example/n\n';
    expect(load({}, text).merchants.notice_url).toBe('https://till.example/n');
    expect(load({ PUENTE_MERCHANTS_NOTICE_URL: '' }, text).merchants.notice_url).toBeNull();
  });

  test('variables have the form of their setting', () => {
    const config = load({
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_MERCHANTS_CANCEL_ON_TERMINAL: 'true',
      PUENTE_OUTBOUND_PORTS: '443, 9443',
      PUENTE_SANDBOX_SETTINGS: '{"replay":"current"}',
      PUENTE_NOTICES_HORIZON_MS: '86400000',
      PUENTE_SECRET_KEY: '12345678901234567890123456789012',
      PUENTE_PUBLIC_URL: 'https://puente.example/',
      PUENTE_OPS_HOST: '0.0.0.0',
      PUENTE_OPS_TOKEN: TOKEN,
    });
    expect(config.public.port).toBe(0);
    expect(config.merchants.cancel_on_terminal).toBe(true);
    expect(config.outbound.ports).toEqual([443, 9443]);
    expect(config.sandbox.settings).toEqual({ replay: 'current' });
    expect(config.notices.horizon_ms).toBe(86_400_000);
    expect(config.secret_key?.reveal()).toBe('12345678901234567890123456789012');
    expect(config.public.url).toBe('https://puente.example');
    expect(config.ops.host).toBe('0.0.0.0');
  });

  test.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', 'localhost'])('%s needs no ops token', (host) => {
    expect(load({ PUENTE_OPS_HOST: host }).ops.host).toBe(host);
  });

  test('config/example.yaml holds, once its files exist', () => {
    const name = file(KEY);
    const text = readFileSync(new URL('../../config/example.yaml', import.meta.url), 'utf8').replaceAll(
      /\/etc\/puente\/\S+/g,
      name,
    );
    expect(load({}, text).public.tls.key_file).toBe(join(directory, name));
  });
});

describe('files, schema and page agree', () => {
  test.each(describeSettings())('$path has a default and a reason in config/default.yaml', (setting) => {
    expect(setting.default).not.toBe('');
    expect(setting.comment).toMatch(/[A-Za-z].*\.$/);
    expect(renderSettings()).toContain(`\`${setting.variable}\``);
  });

  test('a command calls the ops door of the defaults', () => {
    const { host, port } = load().ops;
    expect(USUAL_OPS_URL).toBe(`http://${host}:${port}`);
  });

  test('each variable is of one setting only', () => {
    const variables = describeSettings().map(({ variable }) => variable);
    expect(new Set([...variables, FILE_VARIABLE]).size).toBe(variables.length + 1);
  });

  test('the variables that outsiders rely on are there', () => {
    const promised =
      'DATA_DIR PUBLIC_PORT OPS_PORT SANDBOX_PORT OPS_TOKEN UPSTREAM LEGACY_UPSTREAM PUBLIC_URL WEBHOOK_SECRET SECRET_KEY OUTBOUND_ALLOW_PRIVATE LOG_LEVEL';
    const variables = describeSettings().map(({ variable }) => variable);
    expect(variables).toEqual(expect.arrayContaining(promised.split(' ').map((name) => `PUENTE_${name}`)));
  });
});
