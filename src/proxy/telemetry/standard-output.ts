/** Standard output that blocks no call, however slow its reader is (`test/faults/README.md` F63). */
import pino from 'pino';

/** Lines that wait for a slow reader of our output: a quarter of a minute of a busy process. */
const MAX_WAITING_BYTES = 1_048_576;
/** Lines are gathered up to so many bytes, or for so long: a write for each costs more than making it. One more still fits the write. */
const GATHERED_BYTES = 3_584;
/** Workers share one pipe, which keeps a write whole only up to so many bytes (`PIPE_BUF` of pipe(7)). */
const WRITTEN_BYTES = 4_096;
const GATHERED_MS = 100;

/**
 * While its reader is stuck lines wait, then they are dropped; once it is closed all are.
 * @param dropped called for each line that is lost.
 */
export function standardOutput(dropped: () => void): { write(line: string): void } {
  const output = pino.destination({
    fd: 1,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    minLength: GATHERED_BYTES,
    maxWrite: WRITTEN_BYTES,
    periodicFlush: GATHERED_MS,
  });
  let isClosed = false;
  output.on('drop', dropped);
  output.on('error', () => {
    isClosed = true;
  });
  return {
    write(line) {
      if (isClosed) dropped();
      else output.write(line);
    },
  };
}
