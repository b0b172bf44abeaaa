/** What `puente init` does with its answers: a configuration with its reasons, and each secret in a file of its own. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { complaintAbout, type Draft, isSecret, renderDraft, yamlValueOf } from '../config/draft.ts';
import { FILE_VARIABLE } from '../config/layers.ts';
import { PuenteError } from '../error.ts';
import type { Role } from '../ops/api/person.ts';
import { type InstallationSecrets, isGiven, type SecretFile, secretsOf } from './init-secrets.ts';
import { readTls } from './public.ts';

const CONFIG_NAME = 'puente.yaml';
const SECRETS_NAME = 'secrets';
/** 256 bits; in base64 above every shortest length that a setting asks for. */
const SECRET_BYTES = 32;
/** What an operator wants to set next, shown with its default. */
const OFFERED = [
  'webhook.secret_file',
  'merchants.notice_url',
  'merchants.safety_stop',
  'moves.second_approver',
  'moves.window',
  'backup.directory',
];

/** The answers; every text was checked by `check`. */
export interface InstallationOrder {
  /** The folder of the configuration, the secrets and, unless `data_dir` says otherwise, the database. */
  into: string;
  /** Whether files that are there may be written anew. */
  force: boolean;
  /** Texts by setting, such as `public.port`. */
  settings: Readonly<Record<string, string>>;
  /** Null: the vendor's panel has not given one yet. */
  webhook_secret: string | null;
  /** Null keeps everything in a file. */
  postgres_url: string | null;
  /** Nobody: one token for the sole owner. */
  people: readonly { name: string; role: Role }[];
}

export interface WrittenInstallation {
  config: string;
  /** Files of secrets that were written, with what each is for. */
  secrets: { path: string; about: string }[];
  /** Files of secrets that were there, and stay. */
  kept: string[];
  /** The file of a token for the commands. */
  token_file: string;
  /** What an installation still lacks, each with its repair. */
  missing: string[];
}

/** What `puente init` is handed. */
export const installer = { check: complaintAbout, isSecret, checkPair, refuseOverwriting, write: writeInstallation };

/** What is wrong with a certificate chain and its key, as the start of the door would say it; null when they belong together. */
function checkPair(certificate_file: string, key_file: string): string | null {
  try {
    readTls({ public: { tls: { certificate_file, key_file } } });
    return null;
  } catch (error) {
    if (error instanceof PuenteError) return error.message;
    throw error;
  }
}

/** @throws PuenteError refused when a configuration is there that may not be written anew. */
function refuseOverwriting({ into, force }: Pick<InstallationOrder, 'into' | 'force'>): void {
  const path = join(resolve(into), CONFIG_NAME);
  if (force || !existsSync(path)) return;
  throw new PuenteError(
    'refused',
    `${path} is there already. Name another folder with --into, or write it anew with --force: keys and tokens stay as they are.`,
  );
}

/**
 * Judges everything beside what is there, and puts it in its place afterwards: a refusal leaves every file as it was.
 * @throws PuenteError refused when something is there already, bad_setting with the sentences of the settings.
 */
function writeInstallation(order: InstallationOrder): WrittenInstallation {
  refuseOverwriting(order);
  const into = resolve(order.into);
  const config = join(into, CONFIG_NAME);
  const secrets = secretsOf(order, join(into, SECRETS_NAME));
  const kept = secrets.files.filter(({ path, text }) => text === null && existsSync(path)).map(({ path }) => path);
  const written = secrets.files.filter(({ path }) => !kept.includes(path));
  refuseGivenTwice(written, order.force);
  for (const path of [config, ...written.map((file) => file.path)]) refuseNoFile(path);

  // A Puente that is started meanwhile sees the old ones or the new ones.
  const beside = (path: string): string => `${path}.${process.pid}.new`;
  const isWritten = new Set(written.map(({ path }) => path));
  const proved = (path: string): string => (isWritten.has(path) ? beside(path) : path);
  const drawn = (placed: (path: string) => string): string =>
    renderDraft(draftOf(order, into, secrets.settings(placed)), head(config), OFFERED);
  const partial = [...isWritten, config].map(beside);
  const made = missingFolders(join(into, SECRETS_NAME));
  try {
    mkdirSync(join(into, SECRETS_NAME), { recursive: true, mode: 0o700 });
    for (const { path, text } of written)
      writePrivate(beside(path), `${text ?? randomBytes(SECRET_BYTES).toString('base64url')}\n`);
    writePrivate(beside(config), drawn(proved));
    loadConfig({ env: { [FILE_VARIABLE]: beside(config) }, cwd: into });
    rmSync(beside(config));
    writePrivate(beside(config), drawn(String));
    for (const path of [...isWritten, config]) renameSync(beside(path), path);
  } catch (error) {
    for (const path of partial.filter((one) => existsSync(one))) rmSync(path);
    removeEmpty(made);
    throw error instanceof PuenteError ? error : unwritable(into, error);
  }
  return {
    config,
    secrets: written.map(({ path, about }) => ({ path, about })),
    kept,
    token_file: secrets.token_file,
    missing: missing(order, secrets),
  };
}

function refuseGivenTwice(files: readonly SecretFile[], force: boolean): void {
  const there = files.find(({ path }) => existsSync(path));
  if (there === undefined || force) return;
  throw new PuenteError('refused', `${there.path} is there already; write it anew with --force, or move it away.`);
}

/** Nothing takes the place of a folder, and half of the files would have been replaced when that shows. */
function refuseNoFile(path: string): void {
  if (!existsSync(path) || statSync(path).isFile()) return;
  throw new PuenteError(
    'refused',
    `${path} is there and is no file; move it away, or name another folder with --into.`,
  );
}

function draftOf(order: InstallationOrder, into: string, secrets: readonly (readonly [string, unknown])[]): Draft {
  return new Map<string, unknown>([
    ['data_dir', join(into, 'data')],
    ...Object.entries(order.settings).map(([path, text]): [string, unknown] => [
      path,
      yamlValueOf(path, anywhere(path, text)),
    ]),
    ...secrets,
  ]);
}

/** Relative paths would count from wherever Puente is started. */
function anywhere(path: string, text: string): string {
  return text !== '' && /(_file|_dir|\.directory)$/.test(path) ? resolve(text) : text;
}

function head(config: string): string[] {
  return [
    'This installation of Puente, as `puente init` wrote it. It is yours to change.',
    `Start with it:  PUENTE_CONFIG=${config} npm start`,
    'What it does not name is as in config/default.yaml; variables PUENTE_… win over it. config/README.md lists all settings.',
    'Secrets stand in files of their own, which nobody but the user that runs Puente may read.',
  ];
}

function missing({ settings }: InstallationOrder, { has_webhook_secret }: InstallationSecrets): string[] {
  const events =
    "The webhook secret: point the application's `order` webhook at <public.url>/webhooks/orders, and put its secret into a file that webhook.secret_file names (chmod 600). Until then events only lead to reads.";
  const door =
    'TLS: nothing speaks it here, so something in front of Puente must; or set public.tls.certificate_file and public.tls.key_file.';
  const notices =
    'Where notices go: set merchants.notice_url, or each with `puente merchants set <merchant> --notify URL --reason …`. Until then they are held back, none is lost.';
  return [
    ...(has_webhook_secret ? [] : [events]),
    ...(isGiven(settings, 'public.tls.certificate_file') ? [] : [door]),
    ...(isGiven(settings, 'merchants.notice_url') ? [] : [notices]),
  ];
}

/** The folders on the way to a path that are not there yet, the deepest first. */
function missingFolders(path: string): string[] {
  return existsSync(path) ? [] : [path, ...missingFolders(dirname(path))];
}

/** @param folders the deepest first; one that was never made, or that somebody else uses by now, stays as it is. */
function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders) if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** For this user alone. */
function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
}

function unwritable(into: string, error: unknown): PuenteError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new PuenteError('refused', `${into} can't be written (${code}); name a folder of yours with --into.`, {
    cause: error,
  });
}
