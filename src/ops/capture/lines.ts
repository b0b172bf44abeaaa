/** A stream of bytes as numbered lines, one at a time: files of any size are read in bounded memory. */

export interface Line {
  /** From 1, blank lines counted. */
  number: number;
  /** Null for a line that is longer than any exchange is; it was not kept. */
  text: string | null;
}

/** Two bodies of the largest size that the doors take, written as JSON inside of JSON, are below it. */
export const MAX_LINE_CHARACTERS = 16_000_000;

/** Lines as `\n` or `\r\n` ends them; blank ones are left out, and so is a byte order mark. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void, undefined> {
  const decoder = new TextDecoder('utf-8');
  let number = 0;
  let parts: string[] = [];
  let length = 0;
  const close = (last: string): Line | null => {
    number++;
    const long = length + last.length > MAX_LINE_CHARACTERS;
    const text = long ? null : parts.join('') + last;
    parts = [];
    length = 0;
    return text !== null && text.trim() === '' ? null : { number, text: text === null ? null : text.trim() };
  };
  for await (const chunk of bytes) {
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n');
    let open = first;
    for (const next of rest) {
      const line = close(open);
      if (line !== null) yield line;
      open = next;
    }
    length += open.length;
    // What is too long already is counted on and not kept.
    if (length <= MAX_LINE_CHARACTERS) parts.push(open);
  }
  const tail = decoder.decode();
  const line = close(tail);
  if (line !== null) yield line;
}
