/** Commands that a person is told to run next, as they are typed where this Puente is installed. */
import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

/** The package, or the clone: two folders above the one of this file's layer. */
const HERE = join(import.meta.dirname, '..', '..', '..');

interface Launcher {
  /** Runs a command. `npx puente` stands only where npm finds this Puente: elsewhere it would ask the registry for one. */
  puente: string;
  start: string;
  is_clone: boolean;
}

/**
 * @param here the package's folder: a clone, the image (which has no `bin`), or one that npm installed, for everybody
 *   (`<prefix>/lib/node_modules/puente`) or in a folder.
 */
export function launcher(here = HERE, { PATH = '' } = process.env, cwd = process.cwd()): Launcher {
  const modules = dirname(here);
  if (basename(modules) !== 'node_modules')
    return existsSync(join(here, 'bin'))
      ? { puente: 'npx puente', start: 'npm start', is_clone: true }
      : { puente: 'node src/cli.ts', start: 'node src/main.ts', is_clone: false };
  const own = join(modules, '.bin', 'puente');
  const global = join(modules, '..', '..', 'bin', 'puente');
  const puente = existsSync(own)
    ? join(cwd, 'node_modules') === modules
      ? 'npx puente'
      : quoted(own)
    : PATH.split(delimiter).includes(dirname(global))
      ? 'puente'
      : existsSync(global)
        ? global
        : `node ${quoted(join(here, 'bin', 'puente.js'))}`;
  return { puente, start: `${puente} serve`, is_clone: false };
}

/** Commands with what each is for, one under the other. */
export function aligned(steps: readonly (readonly [command: string, about: string])[]): string[] {
  const width = Math.max(...steps.map(([command]) => command.length));
  return steps.map(([command, about]) => `  ${command.padEnd(width)}  ${about}`);
}

/** Quoted for a shell such as bash or zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
