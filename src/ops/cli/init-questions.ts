/** The questions of `puente init`: each answer is checked at once; settings given as options are skipped. */
import { cancel, confirm, intro, isCancel, log, note, password, select, spinner, text } from '@clack/prompts';
import { PuenteError } from '../../error.ts';
import { type Role, roles } from '../api/person.ts';

const NEEDED = 'It is needed.';
const ROLE_HINTS: Readonly<Record<Role, string>> = {
  viewer: 'reads',
  operator: 'also changes and moves merchants',
  approver: 'also approves moves, and may override missing evidence',
  rollback: 'of a program: rolls back by alert, and nothing else',
};

/** Returns the order with the operator's answers. @throws PuenteError refused when the operator cancels. */
export async function ask(order: InitOrder, installer: Installer): Promise<InitOrder> {
  intro('puente init: a configuration for a real installation');
  note(
    `It goes to ${order.into}. Nothing is written before the last question; Ctrl-C cancels.\nEvery answer can be changed in the file afterwards.`,
    'Before you begin',
  );
  const settings = { ...order.settings };
  const asked: Asked = { settings, installer, order };
  await askDoor(asked);
  const webhook_secret = order.webhook_secret ?? (await askWebhookSecret(asked));
  await setting(asked, 'merchants.notice_url', {
    message: 'Notice URL of merchants without their own? (empty: their notices wait until one is set)',
    optional: true,
  });
  const postgres_url = order.postgres_url ?? (await askStore(asked));
  const people = order.people.length > 0 ? order.people : await askPeople(asked);
  const user = order.user ?? (order.elsewhere ? null : await askUser(installer));
  const summary = Object.entries(settings).map(([name, value]) => `${name}: ${value}`);
  note(summary.join('\n'), 'Settings');
  if (!(await answered(confirm({ message: 'Write them?' })))) leave();
  return { ...order, settings, webhook_secret, postgres_url, people, user };
}

interface Asked {
  settings: Record<string, string>;
  installer: Installer;
  order: InitOrder;
}

interface Question {
  message: string;
  initial?: string;
  optional?: boolean;
  /** The complaint of a check against other settings; undefined when it passes. */
  also?: (value: string) => string | undefined;
}

async function askDoor(asked: Asked): Promise<void> {
  const { settings, installer } = asked;
  await setting(asked, 'upstream', { message: 'Base URL of the orders API?', initial: VENDOR_URL });
  const initial = settings.upstream ?? VENDOR_URL;
  // With the sandbox, legacy is the sandbox's own, which is no base URL.
  if (initial !== 'sandbox')
    await setting(asked, 'legacy_upstream', { message: 'Base URL of the legacy API, where all else goes?', initial });
  const reached = 'How do tills and the vendor reach Puente, such as https://puente.shop.example?';
  await setting(asked, 'public.url', { message: reached });
  const certificate = 'public.tls.certificate_file';
  const question = { message: CERTIFICATE_QUESTION, initialValue: settings['public.tls.key_file'] !== undefined };
  if (settings[certificate] === undefined && (await answered(confirm(question))))
    await setting(asked, certificate, { message: 'File of the certificate chain, PEM?' });
  const chain = settings[certificate];
  if (chain !== undefined)
    await setting(asked, 'public.tls.key_file', {
      message: 'File of its private key, PEM?',
      also: (key) => installer.checkPair(chain, key) ?? undefined,
    });
  const usual = usualAddress(chain !== undefined);
  await setting(asked, 'public.host', { message: 'Address to listen on (0.0.0.0: all)?', initial: usual.host });
  await setting(asked, 'public.port', { message: 'Port to listen on?', initial: usual.port });
  if (settings['ops.port'] === undefined && (await wrongHere(asked, 'ops.port', USUAL_OPS_PORT)) !== null)
    await setting(asked, 'ops.port', { message: `Port of the operators' door? (${USUAL_OPS_PORT} is taken)` });
}

/** What this machine says of a value; null as well when the configuration is for another one. */
async function wrongHere({ installer, settings, order }: Asked, setting: string, text: string): Promise<string | null> {
  const { force, elsewhere } = order;
  return elsewhere ? null : installer.tryHere({ setting, text, settings, force });
}

const CERTIFICATE_QUESTION =
  'Does Puente terminate TLS itself? (no: a proxy in front of it does; tills that hard-code the vendor need a certificate for its name)';

async function askWebhookSecret({ settings, installer }: Asked): Promise<string | null> {
  if (isNamed(settings, 'webhook.secret_file')) return null;
  return hidden({
    message: "Secret of the application's order webhook, from the vendor's panel? (empty: later)",
    complaint: (value) => installer.check('webhook.secret', value),
  });
}

async function askStore(asked: Asked): Promise<string | null> {
  if (isNamed(asked.settings, 'postgres.url_file')) return null;
  const engine = await answered(
    select({
      message: 'Where does Puente store its data?',
      options: [
        { value: 'sqlite', label: 'In a file', hint: 'one process on one host; move to a server later at any time' },
        { value: 'postgres', label: 'On a PostgreSQL server', hint: 'any number of processes and hosts' },
      ],
    }),
  );
  if (engine === 'sqlite') {
    await setting(asked, 'data_dir', {
      message: 'Folder of the file (empty: beside the configuration)?',
      optional: true,
    });
    return null;
  }
  return askServer(asked);
}

/** A server that does not answer is told at once: it is tried again, named otherwise, or left for later. */
async function askServer({ installer, order }: Asked): Promise<string | null> {
  let url: string | null = null;
  for (;;) {
    url ??= await hidden({
      message: 'Address of the database, such as postgres://puente:password@db.example:5432/puente?sslmode=verify-full',
      complaint: (value) => (value === '' ? NEEDED : installer.check('postgres.url', value)),
    });
    if (url === null || order.elsewhere) return url;
    const waiting = spinner();
    waiting.start('Asking the server');
    const wrong = await installer.tryServer(url);
    waiting.stop(wrong === null ? 'The server takes this user.' : 'The server was asked.');
    if (wrong === null) return url;
    log.error(wrong);
    const next = await answered(
      select({
        message: 'What now?',
        options: [
          { value: 'again', label: 'Try it again' },
          { value: 'other', label: 'Name another address' },
          { value: 'on', label: 'Go on with it', hint: 'no start succeeds before the server takes it' },
        ],
      }),
    );
    if (next === 'on') return url;
    if (next === 'other') url = null;
  }
}

async function askUser(installer: Installer): Promise<string | null> {
  const name = await answered(
    text({
      message: 'Which system user runs Puente? (empty: the one that you are now)',
      validate: (given) => wrongUser(given?.trim() ?? '', installer),
    }),
  );
  return (name ?? '').trim() === '' ? null : name.trim();
}

/** The complaint about the name of a system user; undefined when there is one, or none is named. */
export function wrongUser(name: string, installer: Installer): string | undefined {
  if (name === '' || installer.serviceUser(name) !== null) return undefined;
  return `This machine has no user ${name}. Make it first (useradd --system ${name}), or name another.`;
}

async function askPeople({ settings, installer }: Asked): Promise<InitOrder['people']> {
  if (isNamed(settings, 'ops.token_file')) return [];
  const many = await answered(
    select({
      message: 'Who operates Puente?',
      options: [
        { value: false, label: 'One person, or one team with one token' },
        {
          value: true,
          label: 'Several people',
          hint: 'each with a name in the audit, a role, and a token of their own',
        },
      ],
    }),
  );
  const people: InitOrder['people'] = [];
  while (many && (people.length === 0 || (await answered(confirm({ message: 'Another person?' }))))) {
    const name = await answered(text({ message: 'Name?', validate: (value) => wrongName(value, people, installer) }));
    const options = roles.map((value) => ({ value, label: value, hint: ROLE_HINTS[value] }));
    people.push({ name, role: await answered(select({ message: `Role of ${name}?`, options })) });
  }
  return people;
}

function wrongName(name: string | undefined, people: InitOrder['people'], installer: Installer): string | undefined {
  if (people.some((one) => one.name === name)) return `${name} is named already.`;
  return installer.check('ops.tokens', tokensOf([{ name: name ?? '', role: roles[0] }])) ?? undefined;
}

/** The setting `ops.tokens` with placeholders for tokens: for checking names and roles. */
export function tokensOf(people: InitOrder['people']): string {
  return JSON.stringify(Object.fromEntries(people.map(({ name, role }) => [name, { role, token: 'x'.repeat(32) }])));
}

/** True when an option names the file of the secret, so that the question is skipped. */
function isNamed(settings: Asked['settings'], file: string): boolean {
  const path = settings[file];
  if (path === undefined) return false;
  log.info(`${file}: ${path}`);
  return true;
}

/** Asks for a setting that has no value yet; an empty answer leaves an optional one unset. */
async function setting(asked: Asked, name: string, question: Question): Promise<void> {
  const { settings, installer } = asked;
  if (settings[name] !== undefined) return log.info(`${name}: ${settings[name]}`);
  const { message, initial, optional, also } = question;
  const complaint = async (value: string): Promise<string | undefined> => {
    if (value === '') return optional ? undefined : NEEDED;
    return installer.check(name, value) ?? also?.(value) ?? (await wrongHere(asked, name, value)) ?? undefined;
  };
  const value = await answered(
    text({
      message,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (given) => complaint(given?.trim() ?? ''),
    }),
  );
  if ((value ?? '').trim() !== '') settings[name] = value.trim();
}

/** Reads a masked secret; null for an empty answer. */
async function hidden(question: {
  message: string;
  complaint: (value: string) => string | null;
}): Promise<string | null> {
  const { message, complaint } = question;
  const value = await answered(password({ message, validate: (given) => complaint(given ?? '') ?? undefined }));
  return value === undefined || value === '' ? null : value;
}

async function answered<Value>(asked: Promise<Value>): Promise<Exclude<Value, symbol>> {
  const value = await asked;
  if (isCancel(value)) leave();
  return value as Exclude<Value, symbol>; // the only symbol is that of a cancel, handled above
}

function leave(): never {
  cancel('Canceled.');
  throw new PuenteError('refused', 'Nothing was written.');
}

// The order of `puente init`, from options, environment and answers, and the port that writes it.

/** Every text has been checked. */
export interface InitOrder {
  /** Folder of the configuration, the secrets and, without `data_dir`, the database. */
  into: string;
  /** Overwrites existing files. */
  force: boolean;
  /** By name of the setting, such as `public.port`. */
  settings: Record<string, string>;
  /** Null: in a file that a setting names, or not issued by the vendor's panel yet. */
  webhook_secret: string | null;
  /** Null: in a file that a setting names, or the store is a file. */
  postgres_url: string | null;
  /** Empty: one token for a single owner. */
  people: { name: string; role: Role }[];
  /** The system user that runs Puente; null: the one that runs `puente init`. */
  user: string | null;
  /** The configuration is for another machine: nothing of this one is tried. */
  elsewhere: boolean;
}

export interface ServiceUser {
  name: string;
  uid: number;
  gid: number;
  group: string;
}

/** A value of a setting, to be tried on this machine. */
export interface Trial {
  setting: string;
  text: string;
  /** The settings that are known so far. */
  settings: Readonly<Record<string, string>>;
  /** An installation is written over, whose Puente may hold its ports. */
  force: boolean;
}

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

/** The port to settings and files; `src/cli.ts` provides it. */
export interface Installer {
  /** The complaint about a setting's text; null when it is valid. */
  check(setting: string, text: string): string | null;
  isSecret(setting: string): boolean;
  /** The complaint about a certificate chain and its key; null when they match. */
  checkPair(certificate_file: string, key_file: string): string | null;
  /** The complaint of this machine about a value of a valid form; null when there is none. */
  tryHere(trial: Trial): Promise<string | null>;
  /** Why a database server does not take this address; null when it does. */
  tryServer(url: string): Promise<string | null>;
  /** Null when this machine has no user of this name. */
  serviceUser(name: string): ServiceUser | null;
  /** @throws PuenteError refused when the folder can't be written. */
  refuseUnwritable(into: string): void;
  /** @throws PuenteError refused when a configuration is there already. */
  refuseOverwriting(order: Pick<InitOrder, 'into' | 'force'>): void;
  /** @throws PuenteError refused or bad_setting; then nothing was written. */
  write(order: InitOrder): InitOutcome;
}

/** Loaded lazily: only `puente init` needs the definitions of all settings. */
export type LoadInstaller = () => Promise<Installer>;

/** The default of `ops.port` in `config/default.yaml`. */
export const USUAL_OPS_PORT = '8081';

/** The vendor's API, which tills were written for. */
export const VENDOR_URL = 'https://api.mercadopago.com';

/** With a certificate tills reach Puente directly; without one a TLS proxy is in front, mostly on the same machine. */
export function usualAddress(has_certificate: boolean): { host: string; port: string } {
  return has_certificate ? { host: '0.0.0.0', port: '443' } : { host: '127.0.0.1', port: '8080' };
}
