/** Undoes the usual encodings of a text, so that what hides in one is found: percent, escapes, UTF-16, base64, hexadecimal. */

/** An encoding inside of an encoding is looked into so often. */
const ROUNDS = 3;

/** True when the text says in an encoding what `shows` finds; the text as it stands is not asked about. */
export function hiddenIn(text: string, shows: (inner: string) => boolean, rounds = ROUNDS): boolean {
  if (rounds === 0) return false;
  const again = (inner: string): boolean => shows(inner) || hiddenIn(inner, shows, rounds - 1);
  const plain = unescaped(text);
  if (plain !== text && again(plain)) return true;
  for (const [run] of text.matchAll(HEX)) if (anyOffset(run, 2, 'hex', again)) return true;
  for (const [run] of text.matchAll(BASE64)) if (anyOffset(run, 4, 'base64', again)) return true;
  return false;
}

/** Percent signs, `\u` escapes and the zero bytes of UTF-16 undone. */
function unescaped(text: string): string {
  let plain = text;
  if (plain.includes('%')) plain = plain.replaceAll(PERCENT, (run) => bytesOf(run.replaceAll('%', ''), 'hex'));
  if (plain.includes('\\')) {
    plain = plain.replaceAll(ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
  return plain.includes('\0') ? plain.replaceAll('\0', '') : plain;
}

const PERCENT = /(?:%[0-9a-f]{2})+/gi;
const ESCAPE = /\\(?:u|x)(?:00)?([0-9a-f]{2})/gi;
/** Eight bytes and more: the shortest address of a person has so many. */
const HEX = /[0-9a-f]{16,}/gi;
const BASE64 = /[\w+/-]{11,}/g;

/** Where in a run the encoding begins is not known; anything before it shifts it. */
function anyOffset(run: string, width: number, encoding: 'hex' | 'base64', shows: (inner: string) => boolean): boolean {
  // Base64 of a text always has letters of both sizes, which most words and codes have not.
  if (encoding === 'base64' && (run === run.toLowerCase() || run === run.toUpperCase())) return false;
  for (let offset = 0; offset < width; offset++) {
    const inner = printable(Buffer.from(run.slice(offset), encoding));
    if (inner !== '' && shows(inner)) return true;
  }
  return false;
}

function bytesOf(text: string, encoding: 'hex' | 'base64'): string {
  return Buffer.from(text, encoding).toString('latin1');
}

/** Shorter stretches of text are chance, in bytes that were none. */
const SHORTEST_STRETCH = 6;

/** The longest stretches that are text; UTF-16 has a zero beside every letter. */
function printable(bytes: Buffer): string {
  let stretch = 0;
  let longest = 0;
  for (const byte of bytes) {
    if (byte === 0) continue;
    stretch = byte >= 0x20 && byte < 0x7f ? stretch + 1 : 0;
    if (stretch > longest) longest = stretch;
  }
  if (longest < SHORTEST_STRETCH) return '';
  const text = bytes.toString('latin1').replaceAll('\0', '');
  return [...text.matchAll(/[\x20-\x7e]{6,}/g)].map(([run]) => run).join('\n');
}
