/** Runs a `puente` command in this process: the same program, without the half second that a process of its own takes. */
import { CommanderError } from 'commander';
import { vi } from 'vitest';
import { exitCodes } from '../../src/cli/output.ts';
import { puenteProgram } from '../../src/cli/program.ts';
import { PuenteError } from '../../src/error.ts';
import type { Ran } from '../run-cli.ts';
import { elsewhere } from '../run-cli.ts';

/** One command at a time: output and exit code are the process's own. */
export async function command(argv: string[], env: Record<string, string>): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const program = puenteProgram({
      version: '0.0.0',
      serve: elsewhere,
      restore: elsewhere,
      examineOffline: elsewhere,
    });
    await program.parseAsync(argv, { from: 'user' });
    return { code: Number(process.exitCode ?? exitCodes.done), out: out.join(''), err: err.join('') };
  } catch (error) {
    if (error instanceof CommanderError) return { code: exitCodes.usage, out: out.join(''), err: err.join('') };
    if (error instanceof PuenteError) return { code: exitCodes.failed, out: out.join(''), err: error.message };
    throw error;
  } finally {
    process.exitCode = undefined;
    stdout.mockRestore();
    stderr.mockRestore();
    vi.unstubAllEnvs();
  }
}
