/** How `npm start` runs Puente: what is measured runs the same way. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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
  return { environment: Object.fromEntries(variables), options: words.filter((word) => word.startsWith('--')) };
}
