/** Settings as a start reads them, from files in a folder of the test. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Config, FILE_VARIABLE, loadConfig } from '../../src/config/config.ts';

export const KEY = 'hush-key-of-the-tests-0123456789abcdef';
export const TOKEN = 'hush-ops-token-of-the-tests';

export function openSettings() {
  const directory = mkdtempSync(join(tmpdir(), 'puente-settings-'));
  let files = 0;
  /** Writes a file; returns its name relative to the folder. */
  const file = (text: string, mode = 0o600): string => {
    const name = `file-${++files}.yaml`;
    writeFileSync(join(directory, name), text);
    chmodSync(join(directory, name), mode);
    return name;
  };
  const load = (env: Record<string, string> = {}, yaml?: string): Config => {
    const own = yaml === undefined ? {} : { [FILE_VARIABLE]: file(yaml) };
    return loadConfig({ env: { ...env, ...own }, cwd: directory });
  };
  /** The sentences of a start that is refused; no secret is in them. */
  const refusal = (env: Record<string, string>, yaml?: string): string => {
    try {
      load(env, yaml);
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_setting', message: expect.not.stringContaining('hush') });
      return (error as Error).message; // checked on the line above
    }
    throw new Error('the settings were accepted');
  };
  return { directory, file, load, refusal };
}
