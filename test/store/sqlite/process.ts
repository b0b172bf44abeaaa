/** Child processes of the store tests, on the tests' own Node. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** `nobody`: a test that runs as root must drop its rights, or every file is writable. */
const NOBODY = 65_534;

export function startChild(
  script: 'open-child.ts' | 'crash-child.ts',
  path: string,
  unprivileged = false,
): ChildProcess {
  const identity = unprivileged && process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  return spawn(process.execPath, [join(import.meta.dirname, script), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...identity,
  });
}

export async function firstLine(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'));
  }
  throw new Error(`The child ended without a word: ${text}`);
}

export async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
