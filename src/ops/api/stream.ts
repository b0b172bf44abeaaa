/** Streams an answer no faster than the client reads, and stops making it when the client disconnects. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { Log } from '../../proxy/log.ts';

/** An answer that is sent part by part; any other is sent as JSON. */
export function isStreamed(answer: unknown): answer is Streamed {
  return typeof answer === 'object' && answer !== null && 'streamed' in answer && answer.streamed === true;
}

/**
 * An error before the first part is thrown, and answered as any other. A later one cuts the connection, so that the
 * partial answer does not look complete.
 */
export async function sendStream(response: Response, answer: Streamed, log: Log): Promise<void> {
  const parts = answer.parts[Symbol.asyncIterator]();
  const first = await parts.next();
  response.status(200).set('Content-Type', answer.content_type);
  if (answer.file_name !== null)
    response.attachment(safeName(answer.file_name)).set('Content-Type', answer.content_type);
  try {
    await pipeline(Readable.from(withFirst(first, parts)), response);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    log.error('an ops answer was cut off', { cause: String(error), path: response.req.path });
    response.destroy();
  } finally {
    // A client that left before the second part was read leaves a generator that never began to read the rest.
    await parts.return?.();
  }
}

/** Aborted when the client disconnects before it has the complete answer. */
export function untilGone(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

async function* withFirst(
  first: IteratorResult<string>,
  parts: AsyncIterator<string>,
): AsyncGenerator<string, void, undefined> {
  for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
}

/** A file name that no system takes for a path or a command. */
function safeName(name: string): string {
  return name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 100);
}

/** An answer that is not one JSON value: its parts are sent as they are made, never gathered in memory. */
export interface Streamed {
  streamed: true;
  content_type: string;
  /** The file name offered to a browser; null: the browser shows the answer in place. */
  file_name: string | null;
  parts: AsyncIterable<string>;
}
