/** The vault: valid keys, unsealed values, and detection of another key and of every changed byte. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createVault, Secret } from '../../src/proxy/vault.ts';

const BYTES = Buffer.alloc(32, 7);
const PASSPHRASE = 'the quick brown fox jumps over the lazy dog';
const vault = createVault(new Secret(BYTES.toString('base64')));

describe('the key', () => {
  it.each(['', 'short', 'x'.repeat(31), ` ${'x'.repeat(31)} `])('%j is refused with the setting named', (text) => {
    expect(() => createVault(new Secret(text))).toThrow(
      expect.objectContaining({ code: 'bad_setting', message: expect.stringContaining('PUENTE_SECRET_KEY') }),
    );
  });

  it('is the same in every spelling of its bytes', () => {
    const spellings = [
      BYTES.toString('hex'),
      BYTES.toString('hex').toUpperCase(),
      BYTES.toString('base64url'),
      `${BYTES.toString('base64')}\n`,
    ];
    for (const text of spellings) {
      expect(createVault(new Secret(text)).fingerprint(new Secret('x'))).toBe(vault.fingerprint(new Secret('x')));
    }
  });

  it('may be a passphrase, and comes out the same on every start', () => {
    const sealed = createVault(new Secret(PASSPHRASE)).seal('value', 'token');
    expect(
      createVault(new Secret(`${PASSPHRASE}\n`))
        .open(sealed, 'token')
        .toString(),
    ).toBe('value');
    expect(createVault(new Secret(`${PASSPHRASE}!`)).fingerprint(new Secret('x'))).not.toBe(
      createVault(new Secret(PASSPHRASE)).fingerprint(new Secret('x')),
    );
  });
});

describe('sealing', () => {
  it('gives back text and bytes of every kind', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (bytes, purpose) => {
        expect(vault.open(vault.seal(bytes, purpose), purpose).equals(bytes)).toBe(true);
      }),
    );
    expect(vault.open(vault.seal('ñandú', 'token'), 'token').toString('utf8')).toBe('ñandú');
    expect(vault.open(vault.seal('', 'token'), 'token')).toHaveLength(0);
  });

  it('opens a value that is a part of a larger buffer, as databases give them', () => {
    const sealed = vault.seal('value', 'token');
    const page = new Uint8Array(sealed.length + 20);
    page.set(sealed, 10);
    expect(vault.open(page.subarray(10, 10 + sealed.length), 'token').toString()).toBe('value');
  });

  it('never makes the same bytes twice, nor shows the value', () => {
    const seals = Array.from({ length: 200 }, () => Buffer.from(vault.seal('APP_USR-canary', 'token')));
    expect(new Set(seals.map((sealed) => sealed.toString('hex'))).size).toBe(200);
    expect(seals.some((sealed) => sealed.includes('canary'))).toBe(false);
  });

  const unusable = expect.objectContaining({
    code: 'store_unusable',
    message: expect.stringContaining('PUENTE_SECRET_KEY'),
  });

  it('notices every changed, missing and added byte', () => {
    const sealed = vault.seal('value', 'token');
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => vault.open(changed, 'token')).toThrow(unusable);
      expect(() => vault.open(sealed.subarray(0, index), 'token')).toThrow(unusable);
    }
    expect(() => vault.open(Buffer.concat([sealed, Buffer.of(0)]), 'token')).toThrow(unusable);
  });

  it('notices another key and another purpose', () => {
    const sealed = vault.seal('value', 'token');
    expect(() => createVault(new Secret(PASSPHRASE)).open(sealed, 'token')).toThrow(unusable);
    expect(() => vault.open(sealed, 'body')).toThrow(unusable);
  });
});

describe('fingerprints', () => {
  it('are stable, hex, and differ by value, purpose and key', () => {
    const other = createVault(new Secret(PASSPHRASE));
    const made = [
      vault.fingerprint(new Secret('a')),
      vault.fingerprint(new Secret('b')),
      vault.keyed('one', 'a'),
      vault.keyed('two', 'a'),
      vault.keyed('one', 'b'),
      other.fingerprint(new Secret('a')),
    ];
    expect(new Set(made).size).toBe(made.length);
    for (const text of made) expect(text).toMatch(/^[0-9a-f]{64}$/);
    expect(vault.fingerprint(new Secret('a'))).toBe(made[0]);
  });
});
