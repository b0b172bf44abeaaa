/** A program in a real pseudo-terminal (`script` of util-linux), with helpers that read its screen and type. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { HOUSE } from '../../run-cli.ts';

export const keys = { enter: '\r', tab: '\t', down: '\u001b[B', cancel: '\u0003', clear: '\u0015' } as const;

/** Only ends a test that hangs. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 20;

export interface Terminal {
  /** Waits until this text appears after the previous answer, then types. */
  answer(shown: string, typed: string): Promise<void>;
  shown(): string;
  ended(): Promise<number>;
  /** As a window that is closed: its programs get SIGHUP from the kernel. */
  close(): void;
}

/** `puente` with these arguments, run in the repository root. */
export function puenteInTerminal(argv: readonly string[]): Terminal {
  return inTerminal([process.execPath, 'bin/puente.js', ...argv]);
}

/** A program with its arguments, run in the repository root; it is killed when the test ends. */
export function inTerminal(words: readonly string[], env: Record<string, string> = {}, columns = 200): Terminal {
  const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const usual = { PATH: process.env.PATH, TERM: 'xterm' };
  // By default this terminal has no rows, and output drawn on it would not show.
  const child = spawn('script', ['-qec', `stty rows 60 cols ${columns}; ${command}`, '/dev/null'], {
    cwd: HOUSE,
    env: { ...usual, ...env },
  });
  const over = once(child, 'exit');
  // An interactive shell ignores SIGTERM; its children end with the terminal.
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  let seen = 0;
  // A shell may ring the bell while it completes.
  const shown = (): string => stripVTControlCharacters(out).replaceAll('\u0007', '');
  return {
    async answer(text, typed) {
      const end = performance.now() + PATIENCE_MS;
      while (!shown().slice(seen).includes(text)) {
        if (performance.now() > end || child.exitCode !== null)
          throw new Error(`waited for "${text}" and saw:\n${shown().slice(seen)}`);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      seen = shown().length;
      child.stdin.write(typed);
    },
    shown,
    async ended() {
      const [code] = (await over) as [number];
      return code;
    },
    close: () => void child.kill('SIGKILL'),
  };
}
