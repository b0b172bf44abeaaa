/** The settings of this process: read from files and environment, checked whole, or refused with sentences that help. */
import { resolve } from 'node:path';
import { PuenteError } from '../error.ts';
import type { Secret } from '../proxy/secret.ts';
import { contradictions } from './contradictions.ts';
import { factsOf } from './kinds.ts';
import { type Environment, FILE_VARIABLE, type Layer, readEnvironmentLayer, readFileLayer, stack } from './layers.ts';
import { leaves, type Settings, settings, variableOf } from './schema.ts';
import { settleForms, withSecretsOfFiles } from './secret-files.ts';

type DeepReadonly<T> = T extends Secret ? T : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/**
 * All settings, checked. A secret is set wherever it came from, its `…_file` too; `secret_key` is null only with the sandbox.
 * `legacy_upstream` is never null: it is `upstream` unless it was set. Paths are absolute.
 */
export type Config = DeepReadonly<Omit<Settings, 'legacy_upstream'> & { legacy_upstream: string }>;

/** A longer value is cut in sentences. */
const LONGEST_SHOWN = 80;

/**
 * Loads and checks the settings: `config/default.yaml`, `config/sandbox.yaml` while `upstream` is `sandbox`, the file
 * that PUENTE_CONFIG names, the environment; later ones win.
 * @throws PuenteError bad_setting with one sentence for each bad or unknown setting; never with a secret.
 */
export function loadConfig(options: { env: Environment; cwd: string }): Config {
  const { env, cwd } = options;
  const defaults = readFileLayer(new URL('../../config/default.yaml', import.meta.url), 'config/default.yaml');
  const file = env[FILE_VARIABLE];
  const own: Layer[] = file ? [readFileLayer(resolve(cwd, file), `${file} (${FILE_VARIABLE})`)] : [];
  own.push(readEnvironmentLayer(env));
  const isSandbox = stack([defaults, ...own]).values.get('upstream')?.value === 'sandbox';
  const profile = isSandbox
    ? [readFileLayer(new URL('../../config/sandbox.yaml', import.meta.url), 'config/sandbox.yaml')]
    : [];
  const layer = withSecretsOfFiles(stack([defaults, ...profile, ...own].map(settleForms)), cwd);

  const parsed = settings.safeParse(nested(layer));
  const bad = parsed.error?.issues.map((issue) => sentence(issue.path, layer)) ?? [];
  if (!parsed.success || layer.refusals.length > 0) throw refusal([...layer.refusals, ...bad]);
  const config = withAbsolutePaths(parsed.data, cwd);
  const contradictory = contradictions(config);
  if (contradictory.length > 0) throw refusal(contradictory);
  const loaded: Config = { ...config, legacy_upstream: config.legacy_upstream ?? config.upstream };
  sources.set(loaded, new Map([...layer.values].map(([name, { source }]) => [name, source])));
  return loaded;
}

/** Kept beside the settings, so that nothing but the doctor has to know of it. */
const sources = new WeakMap<Config, ReadonlyMap<string, string>>();

/** Which file or variable each setting of `loadConfig` came from, by dotted path. */
export function sourcesOf(config: Config): ReadonlyMap<string, string> {
  return sources.get(config) ?? new Map();
}

/** What zod found at a path, as a sentence: setting, source, what was found, what is allowed. */
function sentence(issuePath: readonly PropertyKey[], layer: Layer): string {
  const leaf = leaves().find(({ path }) => path.every((name, index) => name === issuePath[index]));
  if (leaf === undefined) return `${issuePath.join('.')} is no setting of Puente.`;
  const name = leaf.path.join('.');
  const { allowed, secret } = factsOf(leaf.kind);
  const found = layer.values.get(name);
  if (found === undefined) return `${name} (${variableOf(leaf.path)}) has no value; allowed is ${allowed}.`;
  const shown = secret ? 'a value that is not shown' : show(found.value);
  return `${name} from ${found.source} is ${shown}; allowed is ${allowed}.`;
}

/** A value as people may see it: URLs lose credentials and query, long ones their end. */
function show(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  const safe = text.replace(/\/\/.*@/s, '//[hidden]@').replace(/\?.*/s, '?[hidden]"');
  return safe.length > LONGEST_SHOWN ? `${safe.slice(0, LONGEST_SHOWN)}…` : safe;
}

function nested(layer: Layer): unknown {
  const root: Record<string, unknown> = {};
  for (const { path } of leaves()) {
    const value = layer.values.get(path.join('.'))?.value;
    let section = root;
    for (const name of path.slice(0, -1)) {
      section[name] ??= {};
      section = section[name] as Record<string, unknown>; // made on the line above, or for an earlier leaf
    }
    section[path.at(-1) ?? ''] = value;
  }
  return root;
}

function withAbsolutePaths(config: Settings, cwd: string): Settings {
  const absolute = (file: string | null) => (file === null ? null : resolve(cwd, file));
  const { certificate_file, key_file } = config.public.tls;
  return {
    ...config,
    data_dir: resolve(cwd, config.data_dir),
    backup: { ...config.backup, directory: absolute(config.backup.directory) },
    secret_key_file: absolute(config.secret_key_file),
    ops: { ...config.ops, token_file: absolute(config.ops.token_file) },
    postgres: { ...config.postgres, url_file: absolute(config.postgres.url_file) },
    webhook: { ...config.webhook, secret_file: absolute(config.webhook.secret_file) },
    public: { ...config.public, tls: { certificate_file: absolute(certificate_file), key_file: absolute(key_file) } },
  };
}

function refusal(sentences: readonly string[]): PuenteError {
  return new PuenteError('bad_setting', [...new Set(sentences)].join('\n'));
}
