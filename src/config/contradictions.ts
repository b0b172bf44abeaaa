/** The rules between settings, and between settings and files, beyond the rules of each setting. */
import { accessSync, constants, statSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { complaintOf } from '../error.ts';
import { SOLE_OWNER } from '../ops/api/person.ts';
import { parseWindow } from '../ops/moves/window.ts';
import { isSlack } from '../proxy/records/incidents.ts';
import type { Secret } from '../proxy/vault.ts';
import { type Settings, SHORTEST_KEY } from './schema.ts';

/** One sentence for each broken rule, with the repair; never with a secret. Paths are absolute. */
export function contradictions(config: Settings): string[] {
  const found: string[] = [];
  const { public: door, ops, create } = config;
  const { window } = config.moves;
  // A window that can't be read would block all moves, or none.
  const wrong_window = window === null ? null : complaintOf(() => parseWindow(window));
  if (hasNoPeople(ops) && !isLoopback(ops.host)) {
    found.push(
      `ops.host is ${ops.host}, which others can reach, and neither ops.token nor ops.tokens is set; set PUENTE_OPS_TOKEN (or PUENTE_OPS_TOKEN_FILE), or leave ops.host on 127.0.0.1.`,
    );
  }
  found.push(...opsTokens(ops), ...(wrong_window === null ? [] : [wrong_window]));
  if (config.upstream !== 'sandbox' && config.secret_key === null) {
    found.push(
      `upstream is a real service, and neither secret_key nor secret_key_file is set; set PUENTE_SECRET_KEY to ${SHORTEST_KEY} or more random characters, and keep it.`,
    );
  }
  if ((door.tls.certificate_file === null) !== (door.tls.key_file === null)) {
    const missing = door.tls.key_file === null ? 'key_file' : 'certificate_file';
    found.push(`public.tls.${missing} is not set, but the other file is; TLS needs both, plain HTTP neither.`);
  }
  if (config.webhook.unverified === 'refuse' && config.webhook.secret === null && config.upstream !== 'sandbox') {
    found.push(
      'webhook.unverified is refuse, and webhook.secret is not set, so no event could be verified; set PUENTE_WEBHOOK_SECRET (or PUENTE_WEBHOOK_SECRET_FILE), or leave it at read.',
    );
  }
  for (const [name, { url, secret }] of Object.entries(config.alerts.receivers))
    if (secret === null && !isSlack(url.reveal()))
      found.push(
        `alerts.receivers.${name} has no secret, so its receiver could not tell an alert of Puente from any other; give it a \`secret\`, or a \`secret_file\` that holds one.`,
      );
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
  const longest_ms = Math.max(config.retention.links_ms, config.evidence.kept_ms);
  if (config.retention.sums_ms < longest_ms) {
    found.push(
      `retention.sums_ms is ${config.retention.sums_ms}, less than retention.links_ms or evidence.kept_ms (${longest_ms}); sums show of which days calls and sales have been deleted.`,
    );
  }
  if (config.store.ballast_bytes > config.store.low_bytes) {
    found.push(
      `store.ballast_bytes is ${config.store.ballast_bytes}, more than store.low_bytes (${config.store.low_bytes}); the reserve is a part of what is kept free.`,
    );
  }
  const files = {
    'public.tls.certificate_file': door.tls.certificate_file,
    'public.tls.key_file': door.tls.key_file,
  };
  for (const [name, file] of Object.entries(files)) {
    if (file !== null && !isReadable(file)) {
      found.push(`${name} is ${file}, which can't be read; name a file that exists and that this user may read.`);
    }
  }
  return found;
}

/** A token identifies a person, so two people can have neither the same token nor the same name. */
function opsTokens({ token, tokens }: Settings['ops']): string[] {
  const found: string[] = [];
  if (token !== null && Object.hasOwn(tokens, SOLE_OWNER.name)) {
    found.push(
      `ops.tokens names ${SOLE_OWNER.name}, which is the name behind ops.token; choose another name, or take ops.token away.`,
    );
  }
  const owners = new Map<string, string>(token === null ? [] : [[token.reveal(), 'ops.token']]);
  for (const [name, entry] of Object.entries(tokens)) {
    const other = owners.get(entry.token.reveal());
    if (other !== undefined)
      found.push(
        `ops.tokens.${name} has the same token as ${other}; give each person a token of their own, and start Puente in a shell without the PUENTE_OPS_TOKEN of the commands.`,
      );
    else owners.set(entry.token.reveal(), `ops.tokens.${name}`);
  }
  return found;
}

/** Nobody can sign in: neither `ops.token` nor one of `ops.tokens` is set. */
export function hasNoPeople({ token, tokens }: { token: Secret | null; tokens: object }): boolean {
  return token === null && Object.keys(tokens).length === 0;
}

/** @param host a name, or an address without brackets. */
export function isLoopback(host: string): boolean {
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
