/** Finds planted texts in bytes, in six encodings and at any offset (`docs/protocol.md` P9). */

/** Texts that must not be found, by name. */
export type Canaries = Readonly<Record<string, string>>;

export const encodings = ['raw', 'base64', 'base64url', 'hex', 'percent', 'utf16'] as const;
export type Encoding = (typeof encodings)[number];

export function encoded(text: string, encoding: Encoding): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (encoding === 'raw') return bytes;
  if (encoding === 'utf16') return Buffer.from(text, 'utf16le');
  if (encoding === 'percent')
    return Buffer.from([...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join(''));
  return Buffer.from(bytes.toString(encoding));
}

interface Trace {
  name: string;
  encoding: Encoding;
  /** Lower case, one character per byte. */
  text: string;
}

/** Prepares a search once, for many sinks. */
export function searchFor(canaries: Canaries): (bytes: Buffer | string) => string[] {
  const traces = Object.entries(canaries).flatMap(([name, canary]) => tracesOf(name, canary));
  return (bytes) => {
    const text = (typeof bytes === 'string' ? Buffer.from(bytes) : bytes).toString('latin1').toLowerCase();
    const found = traces.filter((trace) => text.includes(trace.text));
    return [...new Set(found.map(({ name, encoding }) => `${name} (${encoding})`))];
  };
}

/** Case is ignored, because hexadecimal and percent-encoding may use either case. */
function tracesOf(name: string, canary: string): Trace[] {
  const trace = (encoding: Encoding, bytes: Buffer | string): Trace => ({
    name,
    encoding,
    text: (typeof bytes === 'string' ? bytes : bytes.toString('latin1')).toLowerCase(),
  });
  const whole = encodings
    .filter((encoding) => encoding !== 'base64' && encoding !== 'base64url')
    .map((encoding) => trace(encoding, encoded(canary, encoding)));
  const inside = (['base64', 'base64url'] as const).flatMap((encoding) =>
    [0, 1, 2].map((shift) => trace(encoding, innerBase64(canary, encoding, shift))),
  );
  return [
    ...whole,
    ...inside,
    trace('raw', JSON.stringify(canary).slice(1, -1)),
    trace('percent', encodeURIComponent(canary)),
    trace('utf16', Buffer.from(canary, 'utf16le').swap16()),
  ];
}

/** The part of a base64 text that does not depend on neighbouring bytes, for each of the three byte offsets. */
function innerBase64(canary: string, encoding: 'base64' | 'base64url', shift: number): string {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(canary, 'utf8')]);
  const text = bytes.toString(encoding).replaceAll('=', '');
  const first = shift === 0 ? 0 : shift + 1;
  const last = bytes.length % 3 === 0 ? text.length : text.length - 1;
  return text.slice(first, last);
}
