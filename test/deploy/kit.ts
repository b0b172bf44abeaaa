/** The files of an installation, read as their programs read them. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeSettings } from '../../src/config/describe.ts';
import { HOUSE } from '../run-cli.ts';

export function read(file: string): string {
  return readFileSync(join(HOUSE, file), 'utf8');
}

/** Why a program cannot be run; null if it can. `.ci/run` installs the programs that the tests need. */
export function missing(program: string): string | null {
  const { error } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return error === undefined ? null : `${program} can't be run: ${error.message}`;
}

export function unknownVariables(names: Iterable<string>): string[] {
  const known = new Set(describeSettings().map(({ variable }) => variable));
  known.add('PUENTE_CONFIG');
  return [...names].filter((name) => name.startsWith('PUENTE_') && !known.has(name));
}

export function usualOptions(): string[] {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } }; // our file
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}
