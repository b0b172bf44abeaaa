/** Gaps in the tests of signature and vault: odd headers, and values that stores already contain. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type SignedDelivery, verifyOrderSignature } from '../../src/proxy/http/signature.ts';
import { createVault, Secret } from '../../src/proxy/vault.ts';

const SECRET = 'a-secret-that-only-the-tests-know';
const MS = '1793624762110';
const sign = (manifest: string): string => createHmac('sha256', SECRET).update(manifest).digest('hex');
const GOOD = sign(`id:ord1;request-id:r-1;ts:${MS};`);

function verify(signature_header: string, more: Partial<SignedDelivery> = {}) {
  const delivery = { query_id: 'ORD1', body_id: 'ORD1', request_id: 'r-1', signature_header };
  return verifyOrderSignature({ ...delivery, secret: new Secret(SECRET), ...more });
}

describe('a signature', () => {
  it('with unknown parts, even twice, is read by its known parts [F103]', () => {
    expect(verify(`v0=x,ts=${MS},v0=y,,v1=${GOOD}`).verified).toBe(true);
  });

  it.each([`ts=${MS}`, `v1=${GOOD}`, `ts=${MS},v1=${GOOD},v1=${GOOD}`])('%s is none, and tells no time', (header) => {
    expect(verify(header)).toEqual({ verified: false, timestamp_ms: null });
  });

  it('that fails tells its time all the same', () => {
    expect(verify(`ts=${MS},v1=00`)).toEqual({ verified: false, timestamp_ms: Number(MS) });
    expect(verify(`ts=${MS},v1=${'0'.repeat(64)}`)).toEqual({ verified: false, timestamp_ms: Number(MS) });
  });

  it.each([`1${MS}`, `${MS}1`, `x${MS}`, `${MS}x`, '11793624762', '17936247621', 'x1793624762', '1793624762x'])(
    'over the time %s, which is neither seconds nor milliseconds, is none',
    (ts) => {
      const v1 = sign(`id:ord1;request-id:r-1;ts:${ts};`);
      expect(verify(`ts=${ts},v1=${v1}`)).toEqual({ verified: false, timestamp_ms: null });
    },
  );

  it('is read up to 1,024 characters', () => {
    const header = `ts=${MS},v1=${GOOD},`;
    expect(verify(header.padEnd(1024, ' ')).verified).toBe(true);
    expect(verify(header.padEnd(1025, ' ')).verified).toBe(false);
  });

  it.each([null, ''])('of a delivery whose query has the id %j leaves the id out', (query_id) => {
    const header = `ts=${MS},v1=${sign(`request-id:r-1;ts:${MS};`)}`;
    expect(verify(header, { query_id, body_id: null }).verified).toBe(true);
  });
});

/** Sealed once with this form of the vault: later changes must still read stored values. */
const KEPT = [
  {
    what: '32 bytes',
    key: Buffer.alloc(32, 7).toString('base64'),
    sealed: '01996c5f38674ace8379152027540c096198272e438bbeab5241975aaa3809056ed24221',
    fingerprint: 'b2f6305a315638eaa4f7ceb5efd701dad5fa4880bc8ebeae619c687e4d8942c0',
    keyed: 'be80fafc463929e7abdd00c0983daead668184cc346a9ea676d11df05dba96e7',
    cover: 'd7587b8aedf5915c3ecebb8ce8ecf56e27f5211cebffe3497ef88b02a914b7e1',
  },
  {
    what: 'a passphrase',
    key: 'the quick brown fox jumps over the lazy dog',
    sealed: '01e2ec341fa4d3df47a228a2c38bc1e0ba9a2bf6e2beb85f2037ce8b1f98fbc9fa31b29d',
    fingerprint: '4c834a4a692cf9f7ccb295cb72d792549d07e14dbe409123b28559b95bdb3f2e',
    keyed: 'c30d7652044e6f3b1fb890f55da7e622f20e692a70c15ab32128dd8601f12a15',
    cover: '07913f05e65bc3eb110f9ed632c94af2a88caf50d34bbce0b899443dcea59256',
  },
];

describe('a vault', () => {
  it.each(KEPT)('under $what opens and recognises what was kept before', ({ key, sealed, ...kept }) => {
    const vault = createVault(new Secret(key));
    expect(vault.open(Buffer.from(sealed, 'hex'), 'token').toString()).toBe('ñandú');
    expect(vault.fingerprint(new Secret('a'))).toBe(kept.fingerprint);
    expect(vault.keyed('client-key', 'a')).toBe(kept.keyed);
    expect(vault.coverKey().export().toString('hex')).toBe(kept.cover);
  });

  it('derives each key once, however often it is asked', () => {
    const vault = createVault(new Secret(KEPT[0]?.key ?? ''));
    expect(vault.coverKey()).toBe(vault.coverKey());
  });

  it('seals bytes that are no text as they are', () => {
    const vault = createVault(new Secret(KEPT[0]?.key ?? ''));
    const bytes = Uint8Array.of(0xff, 0x00, 0xfe);
    expect([...vault.open(vault.seal(bytes, 'body'), 'body')]).toEqual([...bytes]);
  });

  // Texts that are nearly 32 encoded bytes are passphrases: decoding them would drop the rest.
  it.each([
    'a'.repeat(32),
    `a${'0'.repeat(64)}`,
    `${'0'.repeat(64)}a`,
    `-${'A'.repeat(43)}`,
    `!${'A'.repeat(43)}`,
    `${'A'.repeat(43)}=!`,
    `${'A'.repeat(43)}!`,
  ])('takes %s as a passphrase', (text) => {
    const own = createVault(new Secret(text)).fingerprint(new Secret('x'));
    const parts = [text.slice(1), text.slice(0, -1), text.slice(0, -2)].filter((part) => part.length >= 32);
    for (const part of parts) expect(createVault(new Secret(part)).fingerprint(new Secret('x'))).not.toBe(own);
  });

  it('that can not open a value says which, and never what is in it', () => {
    const vault = createVault(new Secret(KEPT[0]?.key ?? ''));
    const other = createVault(new Secret(KEPT[1]?.key ?? ''));
    const sealed = vault.seal('APP_USR-canary', 'token');
    for (const attempt of [() => other.open(sealed, 'token'), () => vault.open(sealed.subarray(0, 28), 'token')]) {
      expect(attempt).toThrow(expect.objectContaining({ code: 'store_unusable', facts: { purpose: 'token' } }));
    }
    expect(() => other.open(sealed, 'token')).toThrow(expect.objectContaining({ cause: expect.any(Error) }));
    expect(() => other.open(sealed, 'token')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('canary') }),
    );
  });
});
