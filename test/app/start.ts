/** Puente as the real process, as `npm start` runs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll } from 'vitest';
import { eventually } from '../kit.ts';
import { HOUSE } from '../run-cli.ts';

/**
 * Ends what it has started after the tests, and before whatever was opened earlier goes.
 * @returns starts Puente; resolves with its output once one of these texts is in it, or it has ended.
 */
export function starter() {
  const children: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of children) {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    }
  });
  return (env: Record<string, string>, until = ['What next', 'did not start'], uid?: number): Promise<string> => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const user = uid === undefined ? {} : { uid, gid: uid };
    const child = spawn(process.execPath, ['src/main.ts'], {
      cwd: HOUSE,
      env: { PATH, NODE_COMPILE_CACHE, ...env },
      ...user,
    });
    children.push(child);
    let out = '';
    let is_over = false;
    child.once('close', () => {
      is_over = true;
    });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
    return eventually(
      async () => out,
      (text) => until.some((last) => text.includes(last)) || is_over,
    );
  };
}
