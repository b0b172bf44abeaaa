/** Watches an answer of the legacy upstream go by, without touching or delaying a byte of it. */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { decodeUtf8, parseJson } from '../../contract/json.ts';
import { singleHeaders } from './request.ts';

/** The largest legacy answer that is looked at, a page of fifty sales, is below 256 KiB; a larger one goes by unread. */
const MAX_WATCHED_BYTES = 256 * 1024;
/** A compressed answer may grow to so much; what grows further was made to. */
const MAX_UNPACKED_BYTES = 2 * 1024 * 1024;

/** An answer that is going by, or has gone by. */
export interface WatchedAnswer {
  status: number;
  headers: Record<string, string>;
  /** What came so far; null when it was too much. */
  chunks: Buffer[] | null;
  length: number;
  /** All of it came; false for one that broke off, and for one that is still coming. */
  whole: boolean;
}

/**
 * Listens to an answer beside the pipe that carries it: the listeners only keep references, and can't throw. They are set
 * in the same turn as the pipe, so both get every byte.
 */
export function watchAnswer(answer: IncomingMessage): WatchedAnswer {
  const watched: WatchedAnswer = {
    status: answer.statusCode ?? 0,
    headers: singleHeaders(answer),
    chunks: [],
    length: 0,
    whole: false,
  };
  answer.on('data', (chunk: Buffer) => {
    watched.length += chunk.length;
    if (watched.length > MAX_WATCHED_BYTES) watched.chunks = null;
    else watched.chunks?.push(chunk);
  });
  answer.once('end', () => {
    watched.whole = answer.complete;
  });
  return watched;
}

/** The body as parsed JSON, or as text where it is none; null when it can't be read. Never throws; runs after the answer has left. */
export async function bodyOf(watched: WatchedAnswer): Promise<unknown> {
  if (!watched.whole || watched.chunks === null) return null;
  try {
    const bytes = await unpacked(Buffer.concat(watched.chunks), watched.headers['content-encoding']);
    return bytes === null ? null : readBody(bytes);
  } catch {
    return null;
  }
}

/** @throws TypeError when the bytes are not UTF-8. */
function readBody(bytes: Buffer): unknown {
  const text = decodeUtf8(bytes);
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const limit = { maxOutputLength: MAX_UNPACKED_BYTES };
const unpackers: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: (bytes) => promisify(gunzip)(bytes, limit),
  'x-gzip': (bytes) => promisify(gunzip)(bytes, limit),
  // Some servers mean the bare stream, without its envelope (RFC 9110 §8.4.1.2).
  deflate: (bytes) => promisify(inflate)(bytes, limit).catch(() => promisify(inflateRaw)(bytes, limit)),
  br: (bytes) => promisify(brotliDecompress)(bytes, limit),
  zstd: (bytes) => promisify(zstdDecompress)(bytes, limit),
};

/** Null for an encoding, or several of them, that nobody asked for. */
async function unpacked(bytes: Buffer, encoding: string | undefined): Promise<Buffer | null> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity' || bytes.length === 0) return bytes;
  return (await unpackers[name]?.(bytes)) ?? null;
}
