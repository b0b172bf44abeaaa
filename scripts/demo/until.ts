/** Polls until a value holds, for work that Puente does in the background. */

/** Background work takes fractions of a second; after this limit the story goes on, and its check shows the value. */
const LIMIT_MS = 30_000;
const PAUSE_MS = 25;

/** @returns the first value that holds, or the last one seen. */
export async function until<Value>(look: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
  for (const end = performance.now() + LIMIT_MS; ; ) {
    const value = await look();
    if (holds(value) || performance.now() > end) return value;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
