/** The settings in force, each with the place it came from; secrets say only whether they are set. */

import type { SettingInForce } from '../ops/doctor/installation.ts';
import { shownUrl } from '../proxy/notices/guard.ts';
import { type Config, sourcesOf } from './config.ts';
import { factsOf } from './kinds.ts';
import { leaves } from './schema.ts';

/** Longer values are cut: a list of a hundred host names helps nobody. */
const LONGEST_SHOWN = 200;

/** In the order of the schema. @param config as `loadConfig` gave it. */
export function settingsInForce(config: Config): SettingInForce[] {
  const sources = sourcesOf(config);
  return leaves().map(({ path, kind }) => {
    const name = path.join('.');
    const value = valueAt(config, path);
    const text = factsOf(kind).secret === true ? (isSet(value) ? 'set' : 'not set') : shown(value);
    return { name, value: text.slice(0, LONGEST_SHOWN), source: sources.get(name) ?? 'made at the start' };
  });
}

function valueAt(config: Config, path: readonly string[]): unknown {
  return path.reduce<unknown>((section, name) => (section as Record<string, unknown>)[name], config); // the schema's own paths
}

function isSet(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return typeof value !== 'object' || value.constructor !== Object || Object.keys(value).length > 0;
}

/** A URL may carry keys in its path and query. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return /^https?:/i.test(value) ? shownUrl(value) : value;
}
