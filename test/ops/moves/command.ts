/** Runs a `puente` command in this process, which saves the half second that a process of its own takes. */
import { CommanderError } from 'commander';
import { vi } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { exitCodes, refusalText } from '../../../src/ops/cli/output.ts';
import { programHere } from '../../program.ts';
import type { Ran } from '../../run-cli.ts';

let last: Promise<unknown> = Promise.resolve();

/** Commands run one at a time, because standard output and the exit code belong to the process. */
export function command(argv: string[], env: Record<string, string> = {}): Promise<Ran> {
  const ran = last.then(() => run(argv, env));
  last = ran.catch(() => undefined);
  return ran;
}

async function run(argv: string[], env: Record<string, string>): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const forget = listenersOf(process.stdout);
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation(kept(out));
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(kept(err));
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const program = programHere();
    await program.parseAsync(argv, { from: 'user' });
    return { code: Number(process.exitCode ?? exitCodes.done), out: out.join(''), err: err.join('') };
  } catch (error) {
    if (error instanceof CommanderError) return { code: exitCodes.usage, out: out.join(''), err: err.join('') };
    if (error instanceof PuenteError) return { code: exitCodes.failed, out: out.join(''), err: refusalText(error) };
    throw error;
  } finally {
    process.exitCode = undefined;
    stdout.mockRestore();
    stderr.mockRestore();
    vi.unstubAllEnvs();
    forget();
  }
}

/** A pipe into standard output leaves listeners on it. @returns removes those added since the call. */
function listenersOf(stream: NodeJS.WriteStream): () => void {
  const before = new Map(stream.eventNames().map((name) => [name, new Set(stream.rawListeners(name))]));
  return () => {
    for (const name of stream.eventNames()) {
      for (const listener of stream.rawListeners(name)) {
        if (before.get(name)?.has(listener) !== true) stream.off(name, listener as () => void); // typed by its event
      }
    }
  };
}

/** Writes into a list; calls the write callback, for which a piped stream waits. */
function kept(list: string[]): typeof process.stdout.write {
  return (text: unknown, ...rest: unknown[]) => {
    const written = rest.at(-1);
    if (typeof written === 'function') queueMicrotask(() => written());
    return list.push(String(text)) > 0;
  };
}
