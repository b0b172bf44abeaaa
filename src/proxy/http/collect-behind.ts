/** Frees what large bodies leave behind while they are carried, before V8 looks through its whole heap for it. */
import type { IncomingMessage } from 'node:http';

/** So many bytes of large bodies, and then a collection of the young: it takes some milliseconds, whatever else is in memory. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;
/** What tills send and are answered is far below; only a body that may be longer is counted. */
const LARGE_BYTES = 256 * 1024;

let carried_bytes = 0;

/**
 * Counts a body that is large, or does not say how long it is, beside the pipe that carries it; to be called in the turn in
 * which that pipe is set, before or after it, so that both get every byte. Node reads a body in pieces outside V8's heap. They
 * die young, but nothing that is young tells V8 to look; what does is their sum, every 32 MB or so, and then it collects the
 * whole heap, which is far larger than the pieces. Nothing is done where the process was started without `--expose-gc`. A body
 * of 10 MB to a till, beside a Puente without it: 0.52 × the processor time and 1.8 to 2.2 × the bodies a second (one core,
 * 1 and 8 in flight).
 */
export function collectBehind(body: IncomingMessage): void {
  if (globalThis.gc !== undefined && mayBeLarge(body)) body.on('data', count);
}

function mayBeLarge({ headers }: IncomingMessage): boolean {
  const { 'content-length': length } = headers;
  return length === undefined ? headers['transfer-encoding'] !== undefined : Number(length) >= LARGE_BYTES;
}

function count(piece: Buffer): void {
  carried_bytes += piece.length;
  if (carried_bytes < COLLECT_AFTER_BYTES) return;
  carried_bytes = 0;
  globalThis.gc?.({ type: 'minor', execution: 'sync' });
}
