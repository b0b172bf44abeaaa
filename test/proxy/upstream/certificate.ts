/** A throw-away self-signed certificate for TLS tests. */
import { webcrypto } from 'node:crypto';

/** The x509 package uses the proposed Reflect metadata functions, which Node does not have. */
const metadata = new WeakMap<object, Map<string, unknown>>();
Object.assign(Reflect, {
  getMetadata: (key: string, target: object) => metadata.get(target)?.get(key),
  getOwnMetadata: (key: string, target: object) => metadata.get(target)?.get(key),
  defineMetadata: (key: string, value: unknown, target: object) =>
    metadata.set(target, new Map(metadata.get(target)).set(key, value)),
});

/** A certificate for one host name and its key, PEM, valid for an hour. */
export async function selfSigned(host: string): Promise<{ cert: string; key: string }> {
  const x509 = await import('@peculiar/x509');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${host}`,
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3_600_000),
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
    },
    webcrypto,
  );
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { cert: certificate.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n` };
}
