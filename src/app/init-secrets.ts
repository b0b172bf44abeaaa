/** Where the secrets of an installation stand that `puente init` writes: what a person names is taken, the rest is made. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { InstallationOrder } from './init.ts';

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
