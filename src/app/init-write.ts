/** Writes what `puente init` collected: a configuration with comments, and each secret in its own file. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { FILE_VARIABLE, loadConfig } from '../config/config.ts';
import { type Draft, describeSettings, renderDraft, yamlValueOf } from '../config/describe.ts';
import { codeOf, PuenteError } from '../error.ts';
import { isEnough, type Role } from '../ops/api/person.ts';
import { quoted } from '../ops/cli/next-steps.ts';
import { faultOfDirectory, makeDirectory } from '../store/directory.ts';
import { CERTIFICATE, closedTo, type InitOrder, type ServiceUser, serviceUser } from './init-here.ts';

const CONFIG_NAME = 'puente.yaml';
const SECRETS_NAME = 'secrets';
/** 256 bits; in base64 longer than the minimum of any setting. */
const SECRET_BYTES = 32;
/** Settings that operators usually set next; the file shows them with their defaults. */
const OFFERED = [
  'webhook.secret_file',
  'merchants.notice_url',
  'merchants.safety_stop',
  'moves.second_approver',
  'moves.window',
  'backup.directory',
];

export interface InitOutcome {
  config: string;
  secrets: { path: string; about: string }[];
  /** Secret files that existed and were left unchanged. */
  kept: string[];
  /** The file of a token for PUENTE_OPS_TOKEN. */
  token_file: string;
  /** Whose token that is: the sole owner's (no name), or that of the person who may do most; null when none may read. */
  speaker: { name: string | null; role: Role } | null;
  /** What the installation still lacks, each with its repair. */
  missing: string[];
  /** Commands for root, after which the service's user may read its files; empty when it may. */
  commands: string[];
}

/** @throws PuenteError refused when the folder can't be made or written. */
export function refuseUnwritable(into: string): void {
  const why = faultOfDirectory(resolve(into));
  if (why !== null) throw unwritable(resolve(into), why);
}

/** @throws PuenteError refused when a configuration exists and `force` is not set. */
export function refuseOverwriting({ into, force }: Pick<InitOrder, 'into' | 'force'>): void {
  const path = join(resolve(into), CONFIG_NAME);
  if (force || !existsSync(path)) return;
  throw new PuenteError(
    'refused',
    `${path} is there already. Name another folder with --into, or write it anew with --force: keys and tokens stay as they are.`,
  );
}

/**
 * Writes and validates temporary files, then renames them: a refusal leaves every existing file unchanged.
 * @throws PuenteError refused when a file exists already, bad_setting with the messages of the settings.
 */
export function writeInstallation(order: InitOrder): InitOutcome {
  refuseOverwriting(order);
  const into = resolve(order.into);
  const config = join(into, CONFIG_NAME);
  const secrets = secretsOf(order, join(into, SECRETS_NAME));
  const kept = secrets.files.filter(({ path, text }) => text === null && existsSync(path)).map(({ path }) => path);
  const written = secrets.files.filter(({ path }) => !kept.includes(path));
  refuseGivenTwice(written, order.force);
  for (const path of [config, ...written.map((file) => file.path)]) refuseNoFile(path);

  // A Puente that starts meanwhile reads complete files, old or new.
  const beside = (path: string): string => `${path}.${process.pid}.new`;
  const isWritten = new Set(written.map(({ path }) => path));
  const proved = (path: string): string => (isWritten.has(path) ? beside(path) : path);
  const partial = [...isWritten, config].map(beside);
  const made = missingFolders(join(into, SECRETS_NAME));
  try {
    mkdirSync(join(into, SECRETS_NAME), { recursive: true, mode: 0o700 });
    for (const { path, text } of written)
      writePrivate(beside(path), `${text ?? randomBytes(SECRET_BYTES).toString('base64url')}\n`);
    writePrivate(beside(config), renderInstallation(order, proved));
    loadConfig({ env: { [FILE_VARIABLE]: beside(config) }, cwd: into });
    rmSync(beside(config));
    writePrivate(beside(config), renderInstallation(order));
    for (const path of [...isWritten, config]) renameSync(beside(path), path);
  } catch (error) {
    for (const path of partial.filter((one) => existsSync(one))) rmSync(path);
    removeEmpty(made);
    throw error instanceof PuenteError ? error : unwritable(into, codeOf(error), error);
  }
  const opened = openFor(order, { config, folders: [into, join(into, SECRETS_NAME)], made, files: secrets.files });
  return {
    config,
    secrets: written.map(({ path, about }) => ({ path, about })),
    kept,
    token_file: secrets.token_file,
    speaker: speakerOf(order),
    missing: [...missing(order, secrets), ...opened.closed],
    commands: opened.commands,
  };
}

/** The text of the configuration. @param placed maps the final path of a secret's file to its path now. */
export function renderInstallation(order: InitOrder, placed: (path: string) => string = String): string {
  const into = resolve(order.into);
  const secrets = secretsOf(order, join(into, SECRETS_NAME)).settings(placed);
  return renderDraft(draftOf(order, secrets), head(join(into, CONFIG_NAME)), OFFERED);
}

/** Whose token the next commands take: of those with a role that reads, the one who may do most. */
function speakerOf({ people, settings }: InitOrder): InitOutcome['speaker'] {
  if (people.length === 0 || isGiven(settings, 'ops.token_file')) return { name: null, role: 'approver' };
  const [most] = people
    .filter(({ role }) => isEnough(role, 'viewer'))
    .toSorted((one, other) => rank(other) - rank(one));
  return most ?? null;
}

function rank({ role }: InitOrder['people'][number]): number {
  return (['viewer', 'operator', 'approver'] as const).filter((needed) => isEnough(role, needed)).length;
}

// The service's user: the files stay their owner's, and the group of that user may read them.

/** @param made folders of this run. */
interface Places {
  config: string;
  folders: readonly string[];
  made: readonly string[];
  files: readonly SecretFile[];
}

/** Opens what was written for the service's user, or says by which commands root does it, and what stays closed to it. */
function openFor(order: InitOrder, { config, folders, made, files }: Places): { closed: string[]; commands: string[] } {
  const nothing = { closed: [], commands: [] };
  const user = order.user === null ? null : (serviceUser(order.user) ?? strangerOf(order.user));
  if (user === null || user.uid === process.getuid?.()) return nothing;
  const data_dir = dataDirOf(order);
  const paths = [config, ...files.map(({ path }) => path)].filter((path) => existsSync(path));
  // A folder that was there before has other files, and other users.
  const own = folders.filter((folder) => folder.endsWith(SECRETS_NAME) || made.includes(folder));
  if (process.getuid?.() !== 0 || user.uid < 0) {
    const all = (names: readonly string[]): string => names.map(quoted).join(' ');
    return {
      closed: [],
      commands: [
        `chgrp ${user.group} ${all([...own, ...paths])}`,
        `chmod 0750 ${all(own)} && chmod 0640 ${all(paths)}`,
        `test -d ${quoted(data_dir)} || install -d -m 0700 -o ${user.name} -g ${user.group} ${quoted(data_dir)}`,
      ],
    };
  }
  for (const path of paths) give(path, user, 0o640);
  for (const folder of own) give(folder, user, 0o750);
  const [deepest, ...above] = missingFolders(data_dir);
  if (deepest !== undefined) {
    makeDirectory(data_dir);
    chownSync(data_dir, user.uid, user.gid);
    for (const folder of above) chmodSync(folder, 0o755); // as `install -d` does, so that the user may enter them
  }
  const named = Object.entries(order.settings).filter(([name, file]) => name.endsWith('_file') && file !== '');
  const unread = closedTo(user, 'read', [...paths, ...named.map(([, file]) => resolve(file))]);
  const unwritten = closedTo(user, 'write', [data_dir]);
  // No command that would take a file or a folder from others who use it.
  const copied = (path: string): string =>
    `Leave it to those who use it: \`install -g ${user.group} -m 0640 ${quoted(path)} ${quoted(dirname(config))}\` makes a copy to name instead, anew with each certificate.`;
  const entered = `${user.name} may not enter a folder above: name another with --into, such as /etc/puente.`;
  return {
    commands: [],
    closed: [
      ...unread.map((path) => `${user.name} can't read ${path}. ${paths.includes(path) ? entered : copied(path)}`),
      ...unwritten.map(
        (path) =>
          `${user.name} can't write to ${path}: name a folder of its own with --data-dir, such as ${join(path, 'puente')}.`,
      ),
    ],
  };
}

function give(path: string, { gid }: ServiceUser, mode: number): void {
  chownSync(path, 0, gid);
  chmodSync(path, mode);
}

/** A user of another machine, whose numbers are not known here; its group mostly has its name. */
function strangerOf(name: string): ServiceUser {
  return { name, uid: -1, gid: -1, group: name };
}

function dataDirOf({ settings, into }: InitOrder): string {
  const named = settings.data_dir ?? '';
  return named === '' ? join(resolve(into), 'data') : resolve(named);
}

function refuseGivenTwice(files: readonly SecretFile[], force: boolean): void {
  const there = files.find(({ path }) => existsSync(path));
  if (there === undefined || force) return;
  throw new PuenteError('refused', `${there.path} is there already; write it anew with --force, or move it away.`);
}

/** Checked first, because a rename onto a folder fails after half of the files were replaced. */
function refuseNoFile(path: string): void {
  if (!existsSync(path) || statSync(path).isFile()) return;
  throw new PuenteError(
    'refused',
    `${path} is there and is no file; move it away, or name another folder with --into.`,
  );
}

function draftOf(order: InitOrder, secrets: readonly (readonly [string, unknown])[]): Draft {
  return new Map<string, unknown>([
    ['data_dir', dataDirOf(order)],
    ...Object.entries(order.settings).map(([path, text]): [string, unknown] => [path, yamlValueOf(path, text)]),
    ...secrets,
  ]);
}

function head(config: string): string[] {
  return [
    'This installation of Puente, as `puente init` wrote it. It is yours to change.',
    `Start with it:  PUENTE_CONFIG=${config} puente serve   (in a clone: npm start)`,
    'What it does not name is as in config/default.yaml; variables PUENTE_… win over it. config/README.md lists all settings.',
    'Secrets are in files of their own, for the user that runs Puente and root alone.',
  ];
}

function missing({ settings, user }: InitOrder, { has_webhook_secret }: InstallationSecrets): string[] {
  const events = `The webhook secret: point the application's \`order\` webhook at <public.url>/webhooks/orders, and put its secret into a file that webhook.secret_file names (${user === null ? 'chmod 600' : `mode 0640, for ${user} to read`}). Until then no event is trusted: each only makes Puente read its order.`;
  const door =
    'TLS: this door has none, so a proxy in front of Puente must have it; or set public.tls.certificate_file and public.tls.key_file.';
  const notices =
    'Where notices go: set merchants.notice_url, or each with `puente merchants set <merchant> --notify URL --reason …`. Until then they are held back, none is lost.';
  return [
    ...(has_webhook_secret || settings.upstream === 'sandbox' ? [] : [events]),
    ...(isGiven(settings, CERTIFICATE) ? [] : [door]),
    ...(isGiven(settings, 'merchants.notice_url') ? [] : [notices]),
  ];
}

/** The missing folders of a path, deepest first. */
function missingFolders(path: string): string[] {
  return existsSync(path) ? [] : [path, ...missingFolders(dirname(path))];
}

/** @param folders deepest first; a folder that is missing or not empty is left alone. */
function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders) if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
}

function unwritable(into: string, why: string, cause?: unknown): PuenteError {
  return new PuenteError('refused', `${into} can't be written (${why}); name a folder of yours with --into.`, {
    cause,
  });
}

// Secret files: files that the operator names are used, the others are generated.

interface SecretFile {
  setting: string;
  path: string;
  about: string;
  /** Null: an existing file is kept, since others rely on it; a missing one gets a random secret. */
  text: string | null;
}

interface InstallationSecrets {
  /** Files that Puente writes, or wrote before: the secret key first, then the operators' tokens. */
  files: SecretFile[];
  /** The settings that name these files. @param placed maps the final path of a file to its path now. */
  settings(placed: (path: string) => string): (readonly [setting: string, value: unknown])[];
  /** The token file of the sole owner, or of the person who may do most. */
  token_file: string;
  has_webhook_secret: boolean;
}

function isGiven(settings: InitOrder['settings'], name: string): boolean {
  return (settings[name] ?? '') !== '';
}

function secretsOf(order: InitOrder, folder: string): InstallationSecrets {
  const { people, settings, secrets } = order;
  const tokens = people.map(({ name, role }) => ({
    name,
    role,
    setting: `ops.tokens.${name}`,
    path: join(folder, `ops-token-${name}`),
    about: `the token of ${name} (${role}) for the ops door`,
    text: null,
  }));
  // Puente makes what is its own; the vendor's secrets are given, or left by an earlier run.
  const isDue = (name: string, path: string): boolean => {
    if (name === 'secret_key') return true;
    if (name === 'ops.token') return people.length === 0;
    return secrets[name] !== undefined || (name === 'webhook.secret' && existsSync(path));
  };
  const named = describeSettings().flatMap(({ path: name, init }): SecretFile[] => {
    const setting = `${name}_file`;
    const path = join(folder, name.replaceAll(/[._]/g, '-'));
    if (init?.file === undefined || isGiven(settings, setting) || !isDue(name, path)) return [];
    return [{ setting, path, about: init.file, text: secrets[name] ?? null }];
  });
  const isKey = ({ setting }: SecretFile): boolean => setting === 'secret_key_file';
  const owner = settings['ops.token_file'] ?? '';
  const first = people.find(({ name }) => name === speakerOf(order)?.name) ?? people[0];
  const spoken = first === undefined ? undefined : tokens.find(({ name }) => name === first.name);
  return {
    files: [...named.filter(isKey), ...tokens, ...named.filter((one) => !isKey(one))],
    settings(placed) {
      const files = named.map(({ setting, path }) => [setting, placed(path)] as const);
      const roles = tokens.map(({ name, role, path }) => [name, { role, token_file: placed(path) }]);
      return roles.length === 0 ? files : [...files, ['ops.tokens', Object.fromEntries(roles)]];
    },
    token_file: spoken?.path ?? (owner === '' ? join(folder, 'ops-token') : resolve(owner)),
    has_webhook_secret:
      isGiven(settings, 'webhook.secret_file') || named.some(({ setting }) => setting === 'webhook.secret_file'),
  };
}
