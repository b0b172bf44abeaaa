/** Captures for tests: text as a byte stream, and the entries read from it. */
import { type Entry, readCapture } from '../../../src/ops/capture/read.ts';

export async function* bytes(text: string, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text, 'utf8');
  for (let from = 0; from < all.length; from += size) yield all.subarray(from, from + size);
}

export async function entriesOf(text: string, size?: number): Promise<Entry[]> {
  return all(readCapture(bytes(text, size)));
}

export function lines(...values: unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
}

export async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const found: Value[] = [];
  for await (const value of values) found.push(value);
  return found;
}
