/** A program in a real pseudo-terminal (`script` of util-linux), and somebody who reads it and types. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { HOUSE } from '../../run-cli.ts';

/** Keys as a terminal sends them. */
export const keys = { enter: '\r', tab: '\t', down: '\u001b[B', cancel: '\u0003', clear: '\u0015' } as const;

/** A person is slower; this only ends what hangs. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 20;

export interface Terminal {
  /** Waits until this text is shown after what was answered before, then types. */
  answer(shown: string, typed: string): Promise<void>;
  /** All that was shown, without colours. */
  shown(): string;
  /** Resolves with the exit code. */
  ended(): Promise<number>;
}

/** `puente` with these arguments, from the house. */
export function puenteInTerminal(argv: readonly string[]): Terminal {
  return inTerminal([process.execPath, 'src/cli.ts', ...argv]);
}

/** A program with its arguments, from the house; it ends with the test. */
export function inTerminal(words: readonly string[], env: Record<string, string> = {}): Terminal {
  const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const usual = { PATH: process.env.PATH, TERM: 'xterm' };
  // Of its own accord this terminal has no rows, and what is drawn on it would not show.
  const child = spawn('script', ['-qec', `stty rows 60 cols 200; ${command}`, '/dev/null'], {
    cwd: HOUSE,
    env: { ...usual, ...env },
  });
  const over = once(child, 'exit');
  // A shell that waits for a person heeds nothing less; what it runs goes with its terminal.
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  let seen = 0;
  // A shell may ring its bell while it completes.
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
  };
}
