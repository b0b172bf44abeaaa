/** People of the ops door in the settings: refusals, precedence, and no token in any output. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openSettings } from './kit.ts';

const settings = openSettings();
const TOKEN = 'hush-hush-hush-hush';
const ana = { role: 'viewer', token: TOKEN };

function withPeople(people: unknown, env: Record<string, string> = {}): Record<string, string> {
  return { PUENTE_OPS_TOKENS: typeof people === 'string' ? people : JSON.stringify(people), ...env };
}

describe('people are refused, with what is allowed and without a token', () => {
  it.each<[string, unknown]>([
    ['text that is no JSON', `{"ana":{"role":"viewer","token":"${TOKEN}"`],
    ['a list', [ana]],
    ['a token alone', { ana: TOKEN }],
    ['no token', { ana: { role: 'viewer' } }],
    ['no role', { ana: { token: TOKEN } }],
    ['a role that is none', { ana: { role: 'admin', token: TOKEN } }],
    ['a short token', { ana: { role: 'viewer', token: 'hush' } }],
    ['something unknown', { ana: { ...ana, admin: true } }],
    ['a name with a space', { 'ana maria': ana }],
    ['no name', { '': ana }],
    ['the name of our own decisions', { puente: ana }],
    ['an end that is no instant', { ana: { ...ana, expires_at: 'soon' } }],
    ['a token for a name', { [`${TOKEN}!`]: ana }],
    ['more than anybody has', Object.fromEntries(Array.from({ length: 101 }, (_, nth) => [`p${nth}`, ana]))],
  ])('%s', (_what, people) => {
    const sentence = settings.refusal(withPeople(people));
    expect(sentence).toContain(
      'ops.tokens from the variable PUENTE_OPS_TOKENS is a value that is not shown; allowed is ',
    );
    expect(sentence).toContain('viewer, operator, approver');
  });

  it.each<[string, unknown, Record<string, string>, RegExp]>([
    [
      'two with one token',
      { ana, ben: { ...ana, role: 'operator' } },
      {},
      /^ops\.tokens\.ben has the same token as ops\.tokens\.ana; give/,
    ],
    ["the owner's token", { ana }, { PUENTE_OPS_TOKEN: TOKEN }, /^ops\.tokens\.ana has the same token as ops\.token;/],
    [
      "the owner's name",
      { operator: ana },
      { PUENTE_OPS_TOKEN: `${TOKEN}-2` },
      /^ops\.tokens names operator, which is the name behind ops\.token/,
    ],
    [
      'nobody on an open door',
      {},
      { PUENTE_OPS_HOST: '0.0.0.0' },
      /neither ops\.token nor ops\.tokens is set; set PUENTE_OPS_TOKEN/,
    ],
  ])('%s', (_what, people, env, sentence) => {
    expect(settings.refusal(withPeople(people, env))).toMatch(sentence);
  });
});

describe('people', () => {
  it('are enough for an open door, and may use the name operator where there is no owner', () => {
    const both = { ana, operator: { role: 'operator', token: `${TOKEN}-2` } };
    const { ops } = settings.load(withPeople(both, { PUENTE_OPS_HOST: '0.0.0.0' }));
    expect(Object.keys(ops.tokens)).toEqual(['ana', 'operator']);
    expect(ops.token).toBeNull();
  });

  it('come from a file too, and their tokens refuse to be printed', () => {
    const text = `ops:\n  tokens:\n    ana: { role: approver, token: ${TOKEN}, expires_at: '2030-01-31T09:00:00-03:00' }\n`;
    const config = settings.load({}, text);
    expect(config.ops.tokens.ana).toMatchObject({ role: 'approver', expires_at: Date.parse('2030-01-31T12:00:00Z') });
    expect(config.ops.tokens.ana?.token.reveal()).toBe(TOKEN);
    expect(JSON.stringify(config) + inspect(config, { depth: 9, showHidden: true })).not.toContain('hush');
  });

  it('are nobody unless somebody names them', () => {
    expect(settings.load().ops.tokens).toEqual({});
  });
});
