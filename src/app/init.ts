/** What `puente init` does with its answers: a configuration with its reasons, and each secret in a file of its own. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { FILE_VARIABLE, loadConfig } from '../config/config.ts';
import { complaintAbout, type Draft, isSecret, renderDraft, yamlValueOf } from '../config/describe.ts';
import { PuenteError } from '../error.ts';
import type { Role } from '../ops/api/person.ts';
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

// Where the secrets of an installation stand that `puente init` writes: what a person names is taken, the rest is
// made.

const WEBHOOK_NAME = 'webhook-secret';

export interface SecretFile {
  path: string;
  about: string;
  /** Null: what is there stays, since others rely on it; where nothing is, a random one is made. */
  text: string | null;
}

export interface InstallationSecrets {
  /** Those that Puente writes, or has written before: the secret key first, then the tokens of people. */
  files: SecretFile[];
  /**
   * The settings that name these files.
   * @param placed where a file lies.
   */
  settings(placed: (path: string) => string): (readonly [setting: string, value: unknown])[];
  /** For whoever set this up: the sole owner's, or the first person's. */
  token_file: string;
  has_webhook_secret: boolean;
}

interface NamedFile extends SecretFile {
  setting: string;
}

/** What is given as nothing is not given. */
export function isGiven(settings: InstallationOrder['settings'], name: string): boolean {
  return (settings[name] ?? '') !== '';
}

/** @param folder of the secrets. */
export function secretsOf(order: InstallationOrder, folder: string): InstallationSecrets {
  const people = order.people.map(({ name, role }) => ({
    name,
    role,
    path: join(folder, `ops-token-${name}`),
    about: `the token of ${name}, ${role} of the ops door`,
    text: null,
  }));
  const named = namedFiles(order, folder).filter(({ setting }) => !isGiven(order.settings, setting));
  const [key, others] = [named.filter(isKey), named.filter((file) => !isKey(file))];
  const given_token = order.settings['ops.token_file'] ?? '';
  const owner = given_token === '' ? join(folder, 'ops-token') : resolve(given_token);
  return {
    files: [...key, ...people, ...others].map(({ path, about, text }) => ({ path, about, text })),
    settings(placed) {
      const tokens = people.map(({ name, role, path }) => [name, { role, token_file: placed(path) }]);
      const files = named.map(({ setting, path }) => [setting, placed(path)] as const);
      return people.length === 0 ? files : [...files, ['ops.tokens', Object.fromEntries(tokens)]];
    },
    token_file: people[0]?.path ?? owner,
    has_webhook_secret:
      isGiven(order.settings, 'webhook.secret_file') || named.some(({ setting }) => setting === 'webhook.secret_file'),
  };
}

/** Each with the setting that names it, unless somebody names another file in it. */
function namedFiles({ people, webhook_secret, postgres_url }: InstallationOrder, folder: string): NamedFile[] {
  const key = 'seals what is kept: keep a copy apart from the data, since no backup opens without it';
  const webhook = join(folder, WEBHOOK_NAME);
  // One that was given before is kept, as the generated ones are.
  const has_webhook = webhook_secret !== null || existsSync(webhook);
  return [
    { setting: 'secret_key_file', path: join(folder, 'secret-key'), about: key, text: null },
    ...(people.length > 0
      ? []
      : [
          {
            setting: 'ops.token_file',
            path: join(folder, 'ops-token'),
            about: 'the token of the ops door',
            text: null,
          },
        ]),
    ...(has_webhook
      ? [
          {
            setting: 'webhook.secret_file',
            path: webhook,
            about: "proves the vendor's events",
            text: webhook_secret,
          },
        ]
      : []),
    ...(postgres_url === null
      ? []
      : [
          {
            setting: 'postgres.url_file',
            path: join(folder, 'postgres-url'),
            about: 'the address of the database, with its password',
            text: postgres_url,
          },
        ]),
  ];
}

function isKey({ setting }: NamedFile): boolean {
  return setting === 'secret_key_file';
}
