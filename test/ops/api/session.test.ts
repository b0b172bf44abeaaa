/** Sessions of the console: the person a signed cookie stands for, and its expiry. */
import { describe, expect, it } from 'vitest';
import { createSessions, membersOf, SESSION_MS } from '../../../src/ops/api/access.ts';
import { createVault, Secret } from '../../../src/proxy/vault.ts';

const KEY = new Secret('5'.repeat(64));
const clock = { at: 1_000, now: () => clock.at };

function sessions(token = 'token-of-ben-the-operator', role: 'operator' | 'viewer' = 'operator', key = KEY) {
  const tokens = { ben: { role, token: new Secret(token), expires_at: null } };
  const members = membersOf({ token: new Secret('token-of-the-sole-owner'), tokens });
  return { members, ...createSessions(members, createVault(key), clock) };
}

function cookieOf({ members, open }: ReturnType<typeof sessions>): string {
  const ben = members.find(({ person }) => person.name === 'ben');
  if (ben === undefined) throw new Error('ben is a member');
  return open(ben);
}

describe('a session', () => {
  it('stands for its person, in every process with the same key, and holds no token', () => {
    const value = cookieOf(sessions());
    expect(sessions().personOf(value)).toEqual({ name: 'ben', role: 'operator' });
    expect(value).not.toContain('token-of-ben');
    expect(sessions('token-of-ben-the-operator', 'viewer').personOf(value)).toEqual({ name: 'ben', role: 'viewer' });
  });

  it('ends by itself, and with its token', () => {
    const value = cookieOf(sessions());
    clock.at += SESSION_MS - 1;
    expect(sessions().personOf(value)).not.toBeNull();
    clock.at += 1;
    expect(sessions().personOf(value)).toBeNull();
    clock.at = 1_000;
    expect(sessions('another-token-of-ben-the-operator').personOf(value)).toBeNull();
  });

  it('that was changed, cut or signed with another key is nobody', () => {
    const value = cookieOf(sessions());
    const [version, , ends_at, mark, signature] = value.split('.');
    const eva = Buffer.from('operator').toString('base64url');
    const forged = [
      '',
      'v1',
      value.slice(0, -1),
      `${value}.more`,
      `${value}0`,
      [version, eva, ends_at, mark, signature].join('.'),
      value.replace(ends_at ?? '', '99999999999999'),
      value.replace('v1', 'v2'),
    ];
    for (const one of forged) expect([one, sessions().personOf(one)]).toEqual([one, null]);
    const other = sessions('token-of-ben-the-operator', 'operator', new Secret('6'.repeat(64)));
    expect(other.personOf(value)).toBeNull();
  });

  it('has a form token of its own', () => {
    const one = sessions();
    const value = cookieOf(one);
    expect(one.isFormToken(value, one.formToken(value))).toBe(true);
    expect(one.isFormToken(value, one.formToken('another session'))).toBe(false);
    expect(one.isFormToken(value, '')).toBe(false);
  });
});
