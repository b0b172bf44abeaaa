/** Runs one of our programs and passes its output on line by line. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import type { Say } from './part.ts';

/**
 * @param argv the file for Node, and its arguments.
 * @returns the exit code; null when a signal ended it.
 */
export async function runProgram(
  argv: readonly string[],
  env: Record<string, string>,
  say: Say,
): Promise<number | null> {
  const child = spawn(process.execPath, argv, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', say);
  // SIGTERM to this process alone, unlike Ctrl-C to the group, must end the child too.
  const endBoth = (): void => {
    child.once('exit', () => process.exit(128 + constants.signals.SIGTERM)).kill('SIGTERM');
  };
  process.once('SIGTERM', endBoth);
  try {
    return await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  } finally {
    process.off('SIGTERM', endBoth);
  }
}
