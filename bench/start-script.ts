/** How `npm start` runs Puente: what is measured runs the same way. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface StartScript {
  environment: Record<string, string>;
  /** Options of Node itself. */
  options: string[];
}

/** Read from `scripts.start` of `package.json`: variables, `exec node`, options, and the script. */
export function readStartScript(root: string): StartScript {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const words = String(scripts.start).split(' ');
  const variables = words.slice(0, words.indexOf('exec')).map((word) => word.split('=') as [string, string]); // NAME=value
  const environment: Record<string, string> = Object.fromEntries(variables);
  // npm runs it in the root; a contestant runs in its own folder, and would compile everything at each start.
  const { NODE_COMPILE_CACHE: cache } = environment;
  if (cache !== undefined) environment.NODE_COMPILE_CACHE = resolve(root, cache);
  return { environment, options: words.filter((word) => word.startsWith('--')) };
}
