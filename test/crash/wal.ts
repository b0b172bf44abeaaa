/** Reads where the commits of an SQLite write-ahead log end, by the file format alone (sqlite.org/fileformat2.html, §4). */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export interface LogEnd {
  /** Changes when the log begins again from its start, after its pages were written back. */
  salts: string;
  /** Bytes up to the end of the last frame that ends a commit; 0 for an empty log. */
  bytes: number;
}

/** Frames of an earlier round of the log carry other salts and don't count. Checksums are SQLite's own business. */
export function endOfCommits(log: Buffer): LogEnd {
  if (log.length < HEADER_BYTES) return { salts: '', bytes: 0 };
  const page_bytes = log.readUInt32BE(8);
  const salts = log.toString('hex', 16, 24);
  let bytes = 0;
  const step = FRAME_HEADER_BYTES + page_bytes;
  for (let frame = HEADER_BYTES; frame + step <= log.length; frame += step) {
    if (log.toString('hex', frame + 8, frame + 16) !== salts) break;
    const isCommit = log.readUInt32BE(frame + 4) !== 0;
    if (isCommit) bytes = frame + step;
  }
  return { salts, bytes };
}
