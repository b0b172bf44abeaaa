/** What an answer of `puente init` meets on this machine: ports, addresses, folders, certificates, the database, users. */
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { constants, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { settingOf } from '../config/describe.ts';
import { codeOf, complaintOf } from '../error.ts';
import type { Role } from '../ops/api/person.ts';
import { checkUrl } from '../proxy/notices/guard.ts';
import { faultOfDirectory } from '../store/directory.ts';
import { readTls } from './public.ts';

/** How long a database server may take; a wrong address is often one that never answers. */
const CONNECT_TIMEOUT_MS = 5_000;
/** What `puente init` writes. Every text has been checked. */
export interface InitOrder {
  /** Folder of the configuration, the secrets and, without `data_dir`, the database. */
  into: string;
  /** Overwrites existing files, whose Puente may hold its ports. */
  force: boolean;
  /** By name of the setting, such as `public.port`. */
  settings: Record<string, string>;
  /** By name of the setting, to be written into files. */
  secrets: Record<string, string>;
  /** Empty: one token for a single owner. */
  people: { name: string; role: Role }[];
  /** The system user that runs Puente; null: the one that runs `puente init`. */
  user: string | null;
  /** The configuration is for another machine: nothing of this one is tried. */
  elsewhere: boolean;
}

const DOORS = ['public', 'ops', 'health'] as const;
export const CERTIFICATE = 'public.tls.certificate_file';
export const KEY = 'public.tls.key_file';

/**
 * The sentence about a value that has the form of its setting; null when this machine takes it, or the order is for
 * another one. Leaves nothing behind. @param order of what is known so far.
 */
export async function tryHere(setting: string, text: string, order: InitOrder): Promise<string | null> {
  const { settings, force, elsewhere } = order;
  if (elsewhere) return null;
  const door = DOORS.find((name) => setting === `${name}.port` || setting === `${name}.host`);
  if (door !== undefined) {
    const known = { ...settings, [setting]: text };
    const [host, port] = [textOf(known, `${door}.host`), textOf(known, `${door}.port`)];
    if (setting.endsWith('.host')) return refusedAddress(host, await listenError(host, 0));
    return sharedPort(door, host, port, settings) ?? (force ? null : busyPort(host, port));
  }
  switch (setting) {
    case 'data_dir':
    case 'backup.directory':
      return refusedDirectory(text);
    case CERTIFICATE:
      return refusedCertificate(text);
    case 'merchants.notice_url':
      return refusedUrl(text, settings);
    default:
      return null;
  }
}

/** The text of a setting: as given, or its default. */
export function textOf(settings: InitOrder['settings'], name: string): string {
  return settings[name] ?? settingOf(name)?.default ?? '';
}

/** Tries to listen for a moment. @returns the code of the error, such as `EADDRINUSE`; null without one. */
export async function listenError(host: string, port: number): Promise<string | null> {
  // Nobody is served in that moment, nor kept.
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return null;
  } catch (error) {
    return codeOf(error);
  } finally {
    server.close();
  }
}

function refusedAddress(host: string, code: string | null): string | null {
  if (code === null) return null;
  return `This machine has no address ${host} (${code}). Name one of its own, or 0.0.0.0 for all.`;
}

/** Port 0 takes a free one. A port below 1024 may be allowed to the service's user alone, so it is not refused. */
async function busyPort(host: string, port: string): Promise<string | null> {
  const code = await listenError(host, Number(port));
  if (code !== 'EADDRINUSE') return null;
  return `Something listens on ${host}:${port} already, perhaps a Puente that you tried. Stop it, or name another port.`;
}

/** Two doors may have the same port on two addresses. */
function sharedPort(door: string, host: string, port: string, settings: InitOrder['settings']): string | null {
  const isAll = (address: string): boolean => address === '0.0.0.0' || address === '::';
  const taken = DOORS.find((other) => {
    const beside = textOf(settings, `${other}.host`);
    return (
      other !== door && textOf(settings, `${other}.port`) === port && (beside === host || isAll(beside) || isAll(host))
    );
  });
  if (taken === undefined || port === '0') return null;
  return `It is the port of the ${taken} door (${taken}.port). Name another.`;
}

function refusedDirectory(text: string): string | null {
  const why = text === '' ? null : faultOfDirectory(resolve(text));
  return why === null ? null : `${resolve(text)} can't be written (${why}). Name a folder that this user may write to.`;
}

function refusedCertificate(file: string): string | null {
  try {
    new X509Certificate(readFileSync(resolve(file)));
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (/^E[A-Z]+$/.test(code))
      return `${file} can't be read (${code}). Name a file that exists, and that this user may read.`;
    return `${file} is no certificate. Name the chain in PEM, the door's own certificate first.`;
  }
}

/** As the guard would refuse it when a notice is due. */
function refusedUrl(text: string, settings: InitOrder['settings']): string | null {
  if (text === '') return null;
  const guard = {
    allow_private: settings['outbound.allow_private'] === 'true',
    allow_http: settings['outbound.allow_http'] === 'true',
    ports: textOf(settings, 'outbound.ports').match(/\d+/g)?.map(Number) ?? [],
    own_hosts: [URL.parse(settings['public.url'] ?? '')?.host ?? []].flat(),
  };
  const why = complaintOf(() => checkUrl(text, guard));
  const repair = 'Name a public address of the receiver; --set outbound.allow_private=true allows private ones.';
  return why === null ? null : `${why} ${repair}`;
}

/** What is wrong with a certificate chain and its key, in the words of a failed start; null without both. */
export function refusedPair({
  [CERTIFICATE]: certificate_file,
  [KEY]: key_file,
}: InitOrder['settings']): string | null {
  if (certificate_file === undefined || key_file === undefined) return null;
  return complaintOf(() => readTls({ public: { tls: { certificate_file, key_file } } }));
}

/** Why the database server does not take this address; null when it does. Never with the password. */
export async function tryServer(url: string): Promise<string | null> {
  const { examineServer } = await import('../store/postgres/upkeep.ts');
  return (await examineServer(url, CONNECT_TIMEOUT_MS)).wrong;
}

// System users: who may read what.

export interface ServiceUser {
  name: string;
  uid: number;
  gid: number;
  group: string;
}

/** The complaint about the name of a system user; null when there is one, or none is named. */
export function refusedUser(name: string): string | null {
  if (name === '' || serviceUser(name) !== null) return null;
  return `This machine has no user ${name}. Make it first (useradd --system ${name}), or name another.`;
}

/** The user of this name, with its own group; null when this machine has none. */
export function serviceUser(name: string): ServiceUser | null {
  const idOf = (option: string): string | null => {
    const { status, stdout } = spawnSync('id', [option, '--', name], { encoding: 'utf8' });
    return status === 0 ? stdout.trim() : null;
  };
  const [uid, gid, group] = ['-u', '-g', '-gn'].map(idOf);
  if (!/^[a-z_]/i.test(name) || !uid || !gid || !group) return null;
  return { name, uid: Number(uid), gid: Number(gid), group };
}

/** With all groups of the user, as its service has them: a child that only has its user and group sees less. */
const TRY_PATHS = `
const { name, uid, gid, mode, paths } = JSON.parse(process.argv[1]);
process.initgroups(name, gid);
process.setgid(gid);
process.setuid(uid);
const { accessSync } = require('node:fs');
const isClosed = (path) => { try { accessSync(path, mode); return false; } catch { return true; } };
process.stdout.write(JSON.stringify(paths.filter(isClosed)));`;

/** Of these paths the ones that the user may not read or write, tried as that user; only root can try. */
export function closedTo(user: ServiceUser, may: 'read' | 'write', paths: readonly string[]): string[] {
  const order = JSON.stringify({ ...user, mode: may === 'read' ? constants.R_OK : constants.W_OK, paths });
  const { status, stdout } = spawnSync(process.execPath, ['--eval', TRY_PATHS, '--', order], { encoding: 'utf8' });
  return status === 0 ? (JSON.parse(stdout) as string[]) : [...paths]; // the form above
}
