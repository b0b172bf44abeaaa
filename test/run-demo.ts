/** Runs `npm run demo` as a real process in a directory of its own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Ran } from './run-cli.ts';

const DEMO = join(import.meta.dirname, '..', 'scripts', 'demo.ts');
/** Only ends a test that hangs: two at once take less than a minute on two cores. */
export const DEMO_LIMIT_MS = 300_000;

export interface Told {
  holds: boolean;
  report: string;
  entries: { kind: string; text: string; holds?: boolean }[];
}

/** @param directory working directory and directory for temporary files, so that a test sees all files left behind. */
export function runDemo(directory: string, ...options: string[]): Promise<Ran> {
  const env = { ...process.env, TMPDIR: directory, NO_COLOR: '' };
  return new Promise((resolve) => {
    const limits = { timeout: DEMO_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [DEMO, ...options], { env, cwd: directory, ...limits }, (error, out, err) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, out, err });
    });
  });
}
