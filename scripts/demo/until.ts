/** Looks again until something holds: what Puente does by itself is off the path of any call. */

/** Background work takes parts of a second; after this the story goes on, and its check tells what was found. */
const LIMIT_MS = 30_000;
const PAUSE_MS = 25;

/** @returns the first value that holds, or the last one that was seen. */
export async function until<Value>(look: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
  for (const end = performance.now() + LIMIT_MS; ; ) {
    const value = await look();
    if (holds(value) || performance.now() > end) return value;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
