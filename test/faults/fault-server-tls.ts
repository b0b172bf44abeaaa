/** Certificates and protocol versions that a client must refuse, generated under a throw-away authority. */
import { webcrypto } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls';
import { selfSigned } from '../proxy/upstream/certificate.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

/** Options of TLS servers; all except `good` must fail the handshake. */
export interface TlsFaults {
  /** Control: for `localhost`, under the trusted authority. */
  good: TlsOptions;
  /** Right host and authority, expired an hour ago. */
  expired: TlsOptions;
  /** Right host and authority, valid in an hour. */
  not_yet: TlsOptions;
  wrong_host: TlsOptions;
  self_signed: TlsOptions;
  unknown_authority: TlsOptions;
  /** A good certificate, at most TLS 1.0. */
  old_protocol: TlsOptions;
  /** A good certificate, at most TLS 1.1. */
  older_protocol: TlsOptions;
}

/** Generates the options, and trusts the authority in this process, so that each certificate has exactly one fault. */
export async function makeTlsFaults(): Promise<TlsFaults> {
  const self_signed = await selfSigned('localhost'); // also loads the needs of the x509 package
  // A unique name: of two authorities with one name only the first is checked, and test files share the process.
  const authority = await makeAuthority(`Puente tests ${webcrypto.randomUUID()}`);
  const stranger = await makeAuthority('Nobody');
  setDefaultCACertificates([...getCACertificates(), authority.pem]);
  const good = await issue(authority, 'localhost', [-HOUR_MS, HOUR_MS]);
  const weak = { ...good, ciphers: 'DEFAULT@SECLEVEL=0' }; // OpenSSL otherwise refuses old protocols
  return {
    good,
    expired: await issue(authority, 'localhost', [-2 * HOUR_MS, -HOUR_MS]),
    not_yet: await issue(authority, 'localhost', [HOUR_MS, 2 * HOUR_MS]),
    wrong_host: await issue(authority, 'api.example', [-HOUR_MS, HOUR_MS]),
    self_signed,
    unknown_authority: await issue(stranger, 'localhost', [-HOUR_MS, HOUR_MS]),
    old_protocol: { ...weak, minVersion: 'TLSv1', maxVersion: 'TLSv1' },
    older_protocol: { ...weak, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' },
  };
}

interface Authority {
  name: string;
  keys: webcrypto.CryptoKeyPair;
  pem: string;
}

async function makeAuthority(name: string): Promise<Authority> {
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      notBefore: new Date(Date.now() - 24 * HOUR_MS),
      notAfter: new Date(Date.now() + 24 * HOUR_MS),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
    },
    webcrypto,
  );
  return { name, keys, pem: certificate.toString('pem') };
}

/** @param valid_ms begin and end, relative to now. */
async function issue(
  authority: Authority,
  host: string,
  valid_ms: readonly [number, number],
): Promise<{ cert: string; key: string }> {
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=${host}`,
      issuer: `CN=${authority.name}`,
      notBefore: new Date(Date.now() + valid_ms[0]),
      notAfter: new Date(Date.now() + valid_ms[1]),
      publicKey: keys.publicKey,
      signingKey: authority.keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
    },
    webcrypto,
  );
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { cert: certificate.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n` };
}
