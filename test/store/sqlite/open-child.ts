/** A second process: opens the store named on the command line, prints the result, and holds it until it ends. */
import { PuenteError } from '../../../src/error.ts';
import { openStore } from './kit.ts';

const [path = ''] = process.argv.slice(2);
try {
  await openStore(path, { create: false });
  console.log('opened');
  process.stdin.resume();
} catch (error) {
  console.log(error instanceof PuenteError ? `${error.code} ${error.message}` : `unexpected ${String(error)}`);
}
