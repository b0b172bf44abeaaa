/** What the doctor is told of the doors: from the settings, and from the certificate's file. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../config/contradictions.ts';
import { SOLE_OWNER } from '../ops/api/person.ts';
import type { Certificate, Doors } from '../ops/doctor/doors.ts';

export function doorsOf(config: Config): Doors {
  const { url, host, port, tls } = config.public;
  const owner = config.ops.token === null ? [] : [{ ...SOLE_OWNER, expires_at: null }];
  const people = Object.entries(config.ops.tokens).map(([name, { role, expires_at }]) => ({ name, role, expires_at }));
  return {
    is_sandbox: config.upstream === 'sandbox',
    public: { url, listens_on: `${host}:${port}`, is_loopback: isLoopback(host) },
    certificate: tls.certificate_file === null ? null : certificateOf(tls.certificate_file),
    ops: { people: [...owner, ...people], second_approver: config.moves.second_approver },
  };
}

/** The first one of the chain, which is the door's own. */
function certificateOf(file: string): Certificate {
  try {
    const { subjectAltName = '', validTo } = new X509Certificate(readFileSync(file));
    const names = [...subjectAltName.matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => name ?? '');
    return { file, names, until: Date.parse(validTo) };
  } catch {
    return { file, names: [], until: null };
  }
}
