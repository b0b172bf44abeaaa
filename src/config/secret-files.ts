/** Secrets that stand in files of their own: read at the start, refused where others of this machine could read them too. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Layer } from './layers.ts';

/** Each secret setting and the one that names its file instead. `ops.tokens` has a `token_file` for each person. */
const SECRETS: readonly (readonly [secret: string, file: string])[] = [
  ['secret_key', 'secret_key_file'],
  ['ops.token', 'ops.token_file'],
  ['postgres.url', 'postgres.url_file'],
  ['webhook.secret', 'webhook.secret_file'],
];
const PEOPLE = 'ops.tokens';
/** Reading by anybody of the machine. The owner's group may: container platforms mount secrets for one. */
const READ_BY_OTHERS = 0o004;

/**
 * Makes the two forms of a secret rivals in one layer of settings, so that a later layer's form wins over an earlier one's.
 * Both in one layer are refused.
 */
export function settleForms({ values, refusals }: Layer): Layer {
  const settled = new Map(values);
  const found = [...refusals];
  for (const forms of SECRETS) {
    const given = forms.filter((name) => (values.get(name)?.value ?? null) !== null);
    if (given.length > 1) found.push(`${forms.join(' and ')} are both set; keep one of them.`);
    const [name, file] = forms;
    const winner = given[0] === undefined ? undefined : values.get(given[0]);
    const loser = given[0] === name ? file : name;
    if (winner !== undefined && given.length === 1) settled.set(loser, { value: null, source: winner.source });
  }
  return { values: settled, refusals: found };
}

/**
 * Reads every file that a setting names for its secret, without the white space around it.
 * @param cwd relative paths count from it.
 * @returns the layer with the secrets in place; with a sentence for each file that can't be used.
 */
export function withSecretsOfFiles({ values, refusals }: Layer, cwd: string): Layer {
  const filled = new Map(values);
  const found = [...refusals];
  for (const [name, file] of SECRETS) {
    const path = values.get(file)?.value;
    if (typeof path !== 'string' || path === '') continue; // the schema refuses what is no path
    const source = `the file ${resolve(cwd, path)} (${file})`;
    filled.set(name, { value: readSecret(resolve(cwd, path), file, found), source });
  }
  const people = values.get(PEOPLE);
  if (people !== undefined)
    filled.set(PEOPLE, { ...people, value: peopleOfFiles(people.value, { cwd, refusals: found }) });
  return { values: filled, refusals: found };
}

/** People in any shape the schema may refuse; a `token_file` becomes the token. */
function peopleOfFiles(people: unknown, at: { cwd: string; refusals: string[] }): unknown {
  if (!isRecord(people)) return people;
  return Object.fromEntries(Object.entries(people).map(([name, entry]) => [name, personOfFile(name, entry, at)]));
}

function personOfFile(name: string, entry: unknown, { cwd, refusals }: { cwd: string; refusals: string[] }): unknown {
  if (!isRecord(entry) || typeof entry.token_file !== 'string') return entry;
  const { token_file, ...rest } = entry;
  const setting = `${PEOPLE}.${name}.token_file`;
  if ('token' in rest) refusals.push(`${PEOPLE}.${name} has a token and a token_file; keep one of them.`);
  return { ...rest, token: readSecret(resolve(cwd, token_file), setting, refusals) };
}

/** The text, or null with a sentence more among the refusals. */
function readSecret(path: string, setting: string, refusals: string[]): string | null {
  try {
    const { mode } = statSync(path);
    if ((mode & READ_BY_OTHERS) !== 0) {
      refusals.push(
        `${setting} is ${path}, which every user of this machine may read; run \`chmod 600 ${path}\`, or mount it with mode 0400 or 0440.`,
      );
      return null;
    }
    return readFileSync(path, 'utf8').trim();
  } catch {
    refusals.push(`${setting} is ${path}, which can't be read; name a file that exists and that this user may read.`);
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
