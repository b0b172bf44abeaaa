/** Secrets in files of their own: precedence, refusals with their repair, and no secret in any output. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { describeSettings, settingsInForce } from '../../src/config/describe.ts';
import { KEY, openSettings, TOKEN } from './kit.ts';

const { directory, file, load, refusal } = openSettings();
mkdirSync(join(directory, 'folder'));

const OTHER = 'hush-another-token-of-the-tests';
const WEBHOOK = 'hush-webhook-secret';
const DATABASE = 'postgres://puente:hush@db.example:5432/puente';

describe('a file of a secret is refused', () => {
  it.each([
    'PUENTE_SECRET_KEY_FILE',
    'PUENTE_OPS_TOKEN_FILE',
    'PUENTE_POSTGRES_URL_FILE',
    'PUENTE_WEBHOOK_SECRET_FILE',
    'PUENTE_OPS_TOKENS_FILE',
    'PUENTE_ALERTS_RECEIVERS_FILE',
  ])('%s that every user may read, that is not there, that is a directory, or that holds nothing', (variable) => {
    const open = file(DATABASE, 0o644);
    expect(refusal({ [variable]: open })).toContain(
      `${join(directory, open)}, which every user of this machine may read; run \`chmod 600 ${join(directory, open)}\``,
    );
    expect(refusal({ [variable]: 'nowhere' })).toMatch(/^.*nowhere, which can't be read; name a file that exists.*$/);
    expect(refusal({ [variable]: 'folder' })).toMatch(/folder, which (can't be read|every user)/);
    expect(refusal({ [variable]: file('\n') })).toMatch(/from the file .* is a value that is not shown; allowed is/);
  });

  it.each([
    ['secret_key', `secret_key: ${KEY}\nsecret_key_file: FILE\n`],
    ['ops.token', `ops:\n  token: ${TOKEN}\n  token_file: FILE\n`],
    ['postgres.url', `postgres:\n  url: ${DATABASE}\n  url_file: FILE\n`],
    ['webhook.secret', `webhook:\n  secret: ${WEBHOOK}\n  secret_file: FILE\n`],
    ['ops.tokens', `ops:\n  tokens: { ana: { role: viewer, token: ${TOKEN} } }\n  tokens_file: FILE\n`],
    ['alerts.receivers', 'alerts:\n  receivers: { ops: { url: "https://ops.example" } }\n  receivers_file: FILE\n'],
  ])('%s in both forms at one place', (name, yaml) => {
    const holds = name.endsWith('s') ? '{}' : DATABASE;
    expect(refusal({}, yaml.replace('FILE', file(holds)))).toBe(
      `${name} and ${name}_file are both set; keep one of them.`,
    );
  });

  it('of a variable, beside the variable itself', () => {
    for (const [variable, text] of [
      ['PUENTE_SECRET_KEY', KEY],
      ['PUENTE_OPS_TOKEN', TOKEN],
      ['PUENTE_POSTGRES_URL', DATABASE],
      ['PUENTE_WEBHOOK_SECRET', WEBHOOK],
      ['PUENTE_OPS_TOKENS', `{"ana":{"role":"viewer","token":"${TOKEN}"}}`],
      ['PUENTE_ALERTS_RECEIVERS', '{"ops":{"url":"https://hooks.slack.com/hush"}}'],
    ] as const)
      expect(refusal({ [variable]: text, [`${variable}_FILE`]: file(text) }), variable).toMatch(
        /^[\w.]+ and [\w.]+_file are both set; keep one of them\.$/,
      );
  });

  it('of people or receivers, that is no section of names', () => {
    for (const text of ['hush', '- hush', 'ana: [', 'ana: { role: viewer, token: *hush }', '{"ana":{"role":"hush"}}'])
      expect(refusal({ PUENTE_OPS_TOKENS_FILE: file(text) }), text).toMatch(
        /^ops\.tokens from the file .* \(ops\.tokens_file\) is a value that is not shown; allowed is names of letters/,
      );
  });

  it('of a person, with the name of the person', () => {
    const people = (entry: object) => ({ PUENTE_OPS_TOKENS: JSON.stringify({ ana: { role: 'viewer', ...entry } }) });
    expect(refusal(people({ token_file: file(TOKEN, 0o604) }))).toMatch(/^ops\.tokens\.ana\.token_file is .*chmod 600/);
    expect(refusal(people({ token_file: 'nowhere' }))).toMatch(/^ops\.tokens\.ana\.token_file is .*can't be read/);
    expect(refusal(people({ token: TOKEN, token_file: file(OTHER) }))).toBe(
      'ops.tokens.ana has a token and a token_file; keep one of them.',
    );
    expect(refusal(people({ token_file: 7 }))).toContain('or a `token_file` that holds it');
  });
});

describe('a file of a secret', () => {
  it('holds each secret, without its line end, and is never shown', () => {
    const yaml = [
      'upstream: https://api.example',
      `secret_key_file: ${file(`${KEY}\r\n`)}`,
      `ops:\n  token_file: ${file(`${TOKEN}\n`, 0o440)}`,
      `postgres:\n  url_file: ${file(`${DATABASE}\n`, 0o400)}`,
      `webhook:\n  secret_file: ${file(WEBHOOK)}`,
    ].join('\n');
    const config = load({}, yaml);
    expect(config.secret_key?.reveal()).toBe(KEY);
    expect(config.ops.token?.reveal()).toBe(TOKEN);
    expect(config.postgres.url?.reveal()).toBe(DATABASE);
    expect(config.webhook.secret?.reveal()).toBe(WEBHOOK);
    expect(JSON.stringify(config) + inspect(config, { depth: 9, showHidden: true })).not.toContain('hush');
    const told = settingsInForce(config).find(({ name }) => name === 'webhook.secret');
    expect(told).toEqual({
      name: 'webhook.secret',
      value: 'set',
      source: expect.stringMatching(/^the file .*secret_file/),
    });
  });

  it('holds the tokens of people', () => {
    const yaml = `ops:\n  tokens:\n    ana: { role: viewer, token_file: ${file(`${TOKEN}\n`)} }\n    ben: { role: operator, token: ${OTHER} }\n`;
    const { ana, ben } = load({}, yaml).ops.tokens;
    expect([ana?.token.reveal(), ben?.token.reveal()]).toEqual([TOKEN, OTHER]);
  });

  it('holds all people, or all receivers, as YAML or JSON', () => {
    const people = file(
      `ana:\n  role: viewer\n  token_file: ${file(TOKEN)}\nben: { role: operator, token: ${OTHER} }\n`,
    );
    const { ana, ben } = load({ PUENTE_OPS_TOKENS_FILE: people }).ops.tokens;
    expect([ana?.token.reveal(), ben?.token.reveal(), ben?.role]).toEqual([TOKEN, OTHER, 'operator']);
    const receivers = file('{"slack":{"url":"https://hooks.slack.com/services/hush"}}\n');
    const config = load({ PUENTE_ALERTS_RECEIVERS_FILE: receivers });
    expect(config.alerts.receivers.slack?.url.reveal()).toBe('https://hooks.slack.com/services/hush');
    expect(JSON.stringify([config, settingsInForce(config)])).not.toContain('hush');
  });

  it('is there for each secret that a variable can hold', () => {
    const settings = describeSettings();
    const secrets = settings.filter(({ secret }) => secret).map(({ variable }) => `${variable}_FILE`);
    expect(secrets.length).toBeGreaterThan(5);
    expect(settings.map(({ variable }) => variable)).toEqual(expect.arrayContaining(secrets));
  });

  it('holds URL and secret of a receiver of alerts; neither is ever shown', () => {
    const [url, secret] = [file('https://hooks.slack.com/services/hush\n'), file(`${TOKEN}\n`)];
    const yaml = `alerts:\n  receivers:\n    slack: { url_file: ${url} }\n    ops: { url: "https://ops.example/hush", secret_file: ${secret}, kinds: [mismatch] }\n`;
    const config = load({}, yaml);
    const { slack, ops } = config.alerts.receivers;
    expect([slack?.url.reveal(), slack?.secret, slack?.kinds.length]).toEqual([
      'https://hooks.slack.com/services/hush',
      null,
      5,
    ]);
    expect([ops?.secret?.reveal(), ops?.kinds]).toEqual([TOKEN, ['mismatch']]);
    expect(inspect(config, { depth: 9 }) + JSON.stringify([config, settingsInForce(config)])).not.toContain('hush');
    for (const [entry, sentence] of [
      ['ops: { url: "https://ops.example/hush" }', /alerts\.receivers\.ops has no secret/],
      ['ops: { url: "https://ops.example", secret: hush }', /a value that is not shown; allowed is names/],
      ['ops: { url: "ftp://hush.example" }', /a value that is not shown/],
      [`ops: { url: "https://ops.example", secret: ${TOKEN}, kinds: [weather] }`, /safety_stop, create_in_doubt/],
      [
        `ops: { url: "https://ops.example", secret: ${TOKEN}, secret_file: ${secret} }`,
        /ops has a secret and a secret_file/,
      ],
    ] as const)
      expect(refusal({}, `alerts:\n  receivers:\n    ${entry}\n`)).toMatch(sentence);
  });

  it('gives way to a variable with the secret, which is the later layer; and the other way round', () => {
    const named = `ops:\n  token_file: ${file(TOKEN)}\n`;
    expect(load({ PUENTE_OPS_TOKEN: OTHER }, named).ops.token?.reveal()).toBe(OTHER);
    const written = `ops:\n  token: ${TOKEN}\n`;
    expect(load({ PUENTE_OPS_TOKEN_FILE: file(OTHER) }, written).ops.token?.reveal()).toBe(OTHER);
  });
});
