/** A throw-away certificate authority, and its certificate for the vendor's host names. */
import { webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../proxy/upstream/certificate.ts'; // provides the Reflect functions that x509 needs
import { OTHER_HOST, VENDOR_HOST } from './vendor-host.ts';

export interface Authority {
  /** Certificate that clients must trust; PEM. */
  ca_file: string;
  /** Certificate chain and key of the vendor's host names; PEM. */
  certificate_file: string;
  key_file: string;
}

/** Writes both, valid for an hour, into the directory in an operator's form. */
export async function makeAuthority(directory: string): Promise<Authority> {
  const x509 = await import('@peculiar/x509');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const leafKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const valid = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const ca = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Throw-away authority of a test',
      ...valid,
      keys: caKeys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      ],
    },
    webcrypto,
  );
  const leaf = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=${VENDOR_HOST}`,
      issuer: ca.subject,
      ...valid,
      publicKey: leafKeys.publicKey,
      signingKey: caKeys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.SubjectAlternativeNameExtension(
          [VENDOR_HOST, OTHER_HOST].map((value): { type: 'dns'; value: string } => ({ type: 'dns', value })),
        ),
      ],
    },
    webcrypto,
  );
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', leafKeys.privateKey)).toString('base64');
  const files: Authority = {
    ca_file: join(directory, 'ca.pem'),
    certificate_file: join(directory, 'vendor.pem'),
    key_file: join(directory, 'vendor.key'),
  };
  writeFileSync(files.ca_file, `${ca.toString('pem')}\n`);
  writeFileSync(files.certificate_file, `${leaf.toString('pem')}\n`);
  writeFileSync(files.key_file, `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`, { mode: 0o600 });
  return files;
}
