/** The rules between settings, and between settings and files: what each setting allows on its own is not enough. */
import { accessSync, constants, statSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { type Settings, SHORTEST_KEY } from './schema.ts';

/** One sentence for each broken rule, with the repair; never with a secret. Paths are absolute. */
export function contradictions(config: Settings): string[] {
  const found: string[] = [];
  const { public: door, ops, create } = config;
  if (ops.token === null && !isLoopback(ops.host)) {
    found.push(
      `ops.host is ${ops.host}, which others can reach, and ops.token is not set; set PUENTE_OPS_TOKEN, or leave ops.host on 127.0.0.1.`,
    );
  }
  if (config.secret_key !== null && config.secret_key_file !== null) {
    found.push('secret_key and secret_key_file are both set; keep one of them.');
  }
  if (config.upstream !== 'sandbox' && config.secret_key === null && config.secret_key_file === null) {
    found.push(
      `upstream is a real service, and neither secret_key nor secret_key_file is set; set PUENTE_SECRET_KEY to ${SHORTEST_KEY} or more random characters, and keep it.`,
    );
  }
  if ((door.tls.certificate_file === null) !== (door.tls.key_file === null)) {
    const missing = door.tls.key_file === null ? 'key_file' : 'certificate_file';
    found.push(`public.tls.${missing} is not set, but the other file is; TLS needs both, plain HTTP neither.`);
  }
  if (create.attempt_timeout_ms > create.deadline_ms) {
    found.push(
      `create.attempt_timeout_ms is ${create.attempt_timeout_ms}, more than create.deadline_ms (${create.deadline_ms}); one try must fit into the deadline.`,
    );
  }
  if (config.reconcile.point_interval_ms > config.reconcile.max_interval_ms) {
    found.push(
      'reconcile.point_interval_ms is more than reconcile.max_interval_ms; the first look comes before the last.',
    );
  }
  const files = {
    'public.tls.certificate_file': door.tls.certificate_file,
    'public.tls.key_file': door.tls.key_file,
    secret_key_file: config.secret_key_file,
  };
  for (const [name, file] of Object.entries(files)) {
    if (file !== null && !isReadable(file)) {
      found.push(`${name} is ${file}, which can't be read; name a file that exists and that this user may read.`);
    }
  }
  return found;
}

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
