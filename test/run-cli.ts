/** Runs the command line as a real process; returns its output and exit code. */
import { type ChildProcess, execFile } from 'node:child_process';
import { join } from 'node:path';

export const HOUSE = join(import.meta.dirname, '..');

export interface Ran {
  code: number;
  out: string;
  err: string;
}

interface Options {
  input?: string;
  env?: Record<string, string>;
  /** Run by this user; only root can. */
  uid?: number;
  /** Is handed the running process, for a test that ends it. */
  started?: (child: ChildProcess) => void;
}

/** One `puente` command; its environment holds only PATH and `env`. */
export function puente(argv: string[], options: Options = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, ...options.env };
    const user = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid };
    const how = { cwd: HOUSE, env, ...user };
    const child = execFile(process.execPath, ['bin/puente.js', ...argv], how, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : 1, out, err });
    });
    options.started?.(child);
    child.stdin?.end(options.input ?? '');
  });
}
