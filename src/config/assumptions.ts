/** The settings that decide what the specification leaves open, with their values in force (DESIGN decision 14). */

import type { Assumption } from '../ops/report/report.ts';
import { shownUrl } from '../proxy/notices/guard.ts';
import type { Config } from './config.ts';
import { describeSettings } from './describe.ts';

/** Sections whose settings change what tills see or what is promised; addresses and secrets are in none of them. */
const SECTIONS: readonly string[] = [
  'routing',
  'moves',
  'safety',
  'shadow',
  'evidence',
  'merchants',
  'create',
  'reads',
  'tokens',
  'reconcile',
  'notices',
];

/** The sentences are read from the files of this build; only who asks for them waits for that, and only once. */
let described: ReturnType<typeof describeSettings> | null = null;

/** In the order of the settings. */
export function assumptionsOf(config: Config): Assumption[] {
  described ??= describeSettings();
  return described
    .filter(({ path }) => SECTIONS.includes(path.split('.')[0] ?? ''))
    .map(({ path, comment }) => ({ name: path, value: shown(valueAt(config, path)), sentence: comment }));
}

function valueAt(config: Config, path: string): unknown {
  return path.split('.').reduce<unknown>((section, name) => (section as Record<string, unknown>)[name], config); // the schema's own paths
}

/** A receiver's URL may carry keys in its path and query. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^https?:/i.test(value) ? shownUrl(value) : String(value);
}
