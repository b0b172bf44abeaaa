/** Secrets of commands: from a variable, or from the file that the same name with `_FILE` gives. */
import { readFileSync } from 'node:fs';
import { PuenteError } from '../../error.ts';

/**
 * @param variable such as `PUENTE_CREDENTIAL`. @returns the value without the white space around it; null when neither
 * is set. @throws PuenteError bad_request when both are set, or the file can't be read.
 */
export function secretOf(variable: string): string | null {
  const value = process.env[variable] ?? '';
  const file = process.env[`${variable}_FILE`] ?? '';
  if (value !== '' && file !== '')
    throw new PuenteError('bad_request', `${variable} and ${variable}_FILE are both set; keep one of them.`);
  if (file === '') return value === '' ? null : value;
  try {
    const text = readFileSync(file, 'utf8').trim();
    return text === '' ? null : text;
  } catch (error) {
    const message = `${variable}_FILE is ${file}, which can't be read; name a file that exists and that this user may read.`;
    throw new PuenteError('bad_request', message, { cause: error });
  }
}
