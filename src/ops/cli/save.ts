/** Where a long answer goes: a file that only appears when it is whole, or standard output. */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PuenteError } from '../../error.ts';
import type { Progress } from './progress.ts';

/**
 * Writes the pieces as fast as the target takes them.
 * @param file null is standard output.
 * @returns characters written.
 * @throws PuenteError bad_request when the file can't be written; and what the pieces throw: then there is no file.
 */
export async function save(pieces: AsyncIterable<string>, file: string | null, progress: Progress): Promise<number> {
  let written = 0;
  const counted = async function* (): AsyncGenerator<string> {
    for await (const piece of pieces) {
      written += piece.length;
      progress.tell(`${sizeOf(written)} received`);
      yield piece;
    }
  };
  try {
    if (file === null) await pipeline(Readable.from(counted()), process.stdout, { end: false });
    else await toFile(Readable.from(counted()), file);
  } finally {
    progress.end();
  }
  return written;
}

/** What is half written has another name, so that nobody takes it for the whole. */
async function toFile(source: Readable, file: string): Promise<void> {
  const partial = `${file}.${process.pid}.partial`;
  try {
    await pipeline(source, createWriteStream(partial, { flags: 'wx', mode: 0o600 }));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof PuenteError) throw error;
    throw new PuenteError(
      'bad_request',
      `${file} can't be written (${codeOf(error)}); name a file in a directory of yours.`,
      {
        cause: error,
      },
    );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

function sizeOf(characters: number): string {
  return characters < 1_000_000 ? `${Math.ceil(characters / 1000)} kB` : `${(characters / 1_000_000).toFixed(1)} MB`;
}
