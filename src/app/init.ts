/** What `puente init` does with its answers: a configuration with its reasons, and each secret in a file of its own. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { complaintAbout, type Draft, isSecret, renderDraft, yamlValueOf } from '../config/draft.ts';
import { FILE_VARIABLE } from '../config/layers.ts';
import { loadConfig } from '../config.ts';
import type { Role } from '../core/person.ts';
import { PuenteError } from '../error.ts';
import { readTls } from './public.ts';

const CONFIG_NAME = 'puente.yaml';
const SECRETS_NAME = 'secrets';
const WEBHOOK_NAME = 'webhook-secret';
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

interface SecretFile {
  path: string;
  about: string;
  /** Null: what is there stays, since others rely on it; where nothing is, a random one is made. */
  text: string | null;
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
 * Writes everything; or, when the settings do not hold together, takes away again what was not there before.
 * @throws PuenteError refused when something is there already, bad_setting with the sentences of the settings.
 */
function writeInstallation(order: InstallationOrder): WrittenInstallation {
  refuseOverwriting(order);
  const into = resolve(order.into);
  const config = join(into, CONFIG_NAME);
  const files = secretFiles(order, join(into, SECRETS_NAME));
  const kept = files.filter(({ path, text }) => text === null && existsSync(path)).map(({ path }) => path);
  const written = files.filter(({ path }) => !kept.includes(path));
  refuseGivenTwice(written, order.force);

  // Beside the real one until it has proved itself: a Puente that is started meanwhile sees the old one or the new one.
  const proof = `${config}.${process.pid}.new`;
  const made: string[] = [];
  makeFolder(into);
  try {
    for (const { path, text } of written) {
      if (!existsSync(path)) made.push(path);
      writePrivate(path, `${text ?? randomBytes(SECRET_BYTES).toString('base64url')}\n`);
    }
    writePrivate(proof, renderDraft(draftOf(order, into), head(config), OFFERED));
    loadConfig({ env: { [FILE_VARIABLE]: proof }, cwd: into });
    renameSync(proof, config);
  } catch (error) {
    for (const path of [proof, ...made]) rmSync(path, { force: true });
    throw error instanceof PuenteError ? error : unwritable(into, error);
  }
  const secrets = written.map(({ path, about }) => ({ path, about }));
  return { config, secrets, kept, token_file: files[1]?.path ?? '', missing: missing(order, join(into, SECRETS_NAME)) };
}

/** The secret key first, then the tokens of people, the first of them for whoever set this up. */
function secretFiles({ people, webhook_secret, postgres_url }: InstallationOrder, folder: string): SecretFile[] {
  const key = 'seals what is kept: keep a copy apart from the data, since no backup opens without it';
  const tokens = people.map(({ name, role }) => ({
    path: tokenFile(folder, name),
    about: `the token of ${name}, ${role} of the ops door`,
    text: null,
  }));
  const owner = { path: join(folder, 'ops-token'), about: 'the token of the ops door', text: null };
  return [
    { path: join(folder, 'secret-key'), about: key, text: null },
    ...(tokens.length === 0 ? [owner] : tokens),
    ...(hasWebhookSecret(folder, webhook_secret)
      ? [{ path: join(folder, WEBHOOK_NAME), about: "proves the vendor's events", text: webhook_secret }]
      : []),
    ...(postgres_url === null
      ? []
      : [
          {
            path: join(folder, 'postgres-url'),
            about: 'the address of the database, with its password',
            text: postgres_url,
          },
        ]),
  ];
}

/** One that was given before is kept, as the generated ones are. */
function hasWebhookSecret(folder: string, given: string | null): boolean {
  return given !== null || existsSync(join(folder, WEBHOOK_NAME));
}

function tokenFile(folder: string, name: string): string {
  return join(folder, `ops-token-${name}`);
}

function refuseGivenTwice(files: readonly SecretFile[], force: boolean): void {
  const there = files.find(({ path }) => existsSync(path));
  if (there === undefined || force) return;
  throw new PuenteError('refused', `${there.path} is there already; write it anew with --force, or move it away.`);
}

function draftOf(order: InstallationOrder, into: string): Draft {
  const folder = join(into, SECRETS_NAME);
  const people = order.people.map(({ name, role }) => [name, { role, token_file: tokenFile(folder, name) }]);
  return new Map<string, unknown>([
    ['data_dir', join(into, 'data')],
    ...Object.entries(order.settings).map(([path, text]): [string, unknown] => [
      path,
      yamlValueOf(path, anywhere(path, text)),
    ]),
    ['secret_key_file', join(folder, 'secret-key')],
    people.length === 0
      ? ['ops.token_file', join(folder, 'ops-token')]
      : ['ops.tokens', Object.fromEntries(people) as unknown],
    ...(hasWebhookSecret(folder, order.webhook_secret)
      ? [['webhook.secret_file', join(folder, WEBHOOK_NAME)] as [string, unknown]]
      : []),
    ...(order.postgres_url === null ? [] : [['postgres.url_file', join(folder, 'postgres-url')] as [string, unknown]]),
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

function missing({ settings, webhook_secret }: InstallationOrder, folder: string): string[] {
  const events =
    "The webhook secret: point the application's `order` webhook at <public.url>/webhooks/orders, and put its secret into a file that webhook.secret_file names (chmod 600). Until then events only lead to reads.";
  const door =
    'TLS: nothing speaks it here, so something in front of Puente must; or set public.tls.certificate_file and public.tls.key_file.';
  const notices =
    'Where notices go: set merchants.notice_url, or each with `puente merchants set <merchant> --notify URL --reason …`. Until then they are held back, none is lost.';
  return [
    ...(hasWebhookSecret(folder, webhook_secret) ? [] : [events]),
    ...(settings['public.tls.certificate_file'] === undefined ? [door] : []),
    ...(settings['merchants.notice_url'] === undefined ? [notices] : []),
  ];
}

function makeFolder(into: string): void {
  try {
    mkdirSync(join(into, SECRETS_NAME), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unwritable(into, error);
  }
}

/** For this user alone, and never half written. */
function writePrivate(path: string, text: string): void {
  const partial = `${path}.${process.pid}.partial`;
  writeFileSync(partial, text, { mode: 0o600, flag: 'wx' });
  renameSync(partial, path);
}

function unwritable(into: string, error: unknown): PuenteError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new PuenteError('refused', `${into} can't be written (${code}); name a folder of yours with --into.`, {
    cause: error,
  });
}
