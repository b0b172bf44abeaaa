/** Finds the end of the commits in an SQLite write-ahead log, by the file format (sqlite.org/fileformat2.html, §4). */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export interface LogEnd {
  /** Changes when the log restarts from its beginning, after its pages were written back. */
  salts: string;
  /** Bytes up to the end of the last commit frame; 0 for an empty log. */
  bytes: number;
}

/** Frames of an earlier round have other salts and do not count. Checksums are not verified. */
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
