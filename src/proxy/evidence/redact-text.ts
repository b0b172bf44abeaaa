/** Finds in free text what must not be kept, in the clear or in one of the usual encodings. */

export const MASK = '[masked]';

/**
 * The text with tokens, cards, addresses, phones and document numbers masked; of URLs their origin stays.
 * @param opaqueIsFine whether a long run of letters and digits is an id here; elsewhere it counts as a key.
 */
export function maskText(text: string, opaqueIsFine: boolean): string {
  if (KNOWN_ID.test(text) || !SUSPECT.test(text)) return text;
  const short = text.includes('://') ? text.replaceAll(URL_TEXT, originOf) : text;
  // What is encoded is looked for before anything is masked, because a part of it would still be readable.
  if (hiddenIn(short, shows)) return MASK;
  const masked = maskPlain(short);
  return opaqueIsFine ? masked : masked.replaceAll(OPAQUE, (run) => (isKey(run) ? MASK : run));
}

/** Whether a text shows a token, something under the name of a secret, or digits that can be a card's (`test/faults/README.md` F134). */
export function showsSecret(text: string): boolean {
  for (const [run] of text.matchAll(DIGITS)) if (maskRun(run, false) !== run) return true;
  if (text.search(SPELLED_TOKENS) !== -1 || text.search(NAMED_SECRET) !== -1) return true;
  return /eyj/i.test(text) && text.search(SIGNED_TOKEN) !== -1;
}

/** The first six and the last four digits of a card stay; letters stand for the rest, so that lengths stay as they were. */
export function maskCards(text: string, isId: boolean): string {
  return text.replaceAll(DIGITS, (run) => maskRun(run, isId));
}

function maskRun(run: string, isId: boolean): string {
  const digits = run.replaceAll(/[ -]/g, '');
  if (digits.length > LONGEST_CARD) return maskLong(run, isId);
  if (isCard(digits, isId)) return maskedDigits(run);
  return run === digits ? run : maskGroups(run, isId);
}

/** More digits than any card has: a stripe, or numbers one after the other of which one may be a card. */
function maskLong(run: string, isId: boolean): string {
  const parts = run.split(/(\d{20,})/).map((part, index) => {
    if (index % 2 === 0) return maskGroups(part, isId);
    return holdsCard(part) ? MASK : part;
  });
  return parts.join('');
}

function shows(inner: string): boolean {
  return maskPlain(inner) !== inner || inner.replaceAll(URL_TEXT, originOf) !== inner;
}

function maskPlain(text: string): string {
  let masked = text.replaceAll(TOKENS, MASK);
  if (/[=:]/.test(masked)) masked = masked.replaceAll(NAMED_SECRET, `$1$2${MASK}`);
  if (masked.includes('@')) masked = masked.replaceAll(EMAIL, MASK);
  if (!/\d(?:[ ./-]?\d){4}/.test(masked)) return masked;
  masked = masked.replaceAll(NAMED_DOCUMENT, `$1${MASK}`).replaceAll(DOCUMENT, MASK);
  if (masked.includes('+')) masked = masked.replaceAll(PHONE, MASK);
  return maskCards(masked, false);
}

/** A UUID, a reference derived of one, an order, a payment or a refund of the orders API: by far the commonest values. */
const KNOWN_ID =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|pnt[0-9a-f]{12}7[0-9a-f]{19}|ORD(?:TST)?[0-9A-Z]{26}|(?:PAY|REF)[0-9A-HJKMNP-TV-Z]{26})$/i;
/** What no text without it can be masked for; most values of a body have nothing of it. */
const SUSPECT =
  /[@%\0\\=]|:\/\/|\+\d|\d(?:[ ./-]?\d){7}|[\w+/-]{11}|\.\d{3}-[\dk]|TG-|(?:secret|token|passw|pwd|senha|signature|api_?key|cvv|bearer|basic|dni|cpf|cnpj|cui[tl]|rut|rfc|curp)/i;

const URL_TEXT = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>\\]+/gi;
const SPELLED_TOKENS =
  /(?:APP_USR|TG)-[\w-]{6,}|TEST-\d{6,}-\d{4,}-[\w-]{8,}|Bearer\s+[\w.~+/-]{8,}=*|Basic\s+[\w+/-]{8,}=*|(?:sk|pk|rk|whsec|ghp|xox[abp])[_-][\w-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*/gi;
/**
 * A signed token (`eyJ…`) is looked for once in each word, because a word may say `eyJ` thousands of times. That costs more
 * than everything else here together, so what is stored with every sale is only looked through when it says `eyJ` at all.
 */
const SIGNED_TOKEN = /(?<![\w-])(?=[\w-]+\.[\w-]{4,}\.)(?=[\w-]*eyJ[\w-]{8})[\w-]+\.[\w-]{4,}\.[\w-]*/gi;
const TOKENS = new RegExp(`${SIGNED_TOKEN.source}|${SPELLED_TOKENS.source}`, 'gi');
const NAMED_SECRET =
  /(secret|token|passw(?:or)?d|senha|authorization|signature|api_?key|cvv|pwd)(["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[masked\])[^\s"'&,;}]{3,}/gi;
const EMAIL = /[^\s@"'<>()[\]{}:;,=&?]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,5}/gi;
/** CPF, CNPJ, CUIT and RUT as they are written for people. */
const DOCUMENT =
  /(?<!\d)(?:\d{3}\.\d{3}\.\d{3}-\d{2}|\d{2}\.\d{3}\.\d{3}\/\d{4}-\d{2}|(?:2[0-7]|3[034])-\d{8}-\d|\d{1,2}\.\d{3}\.\d{3}-[\dk])(?!\d)/gi;
const NAMED_DOCUMENT = /(\b(?:DNI|CPF|CNPJ|CUIT|CUIL|RUT|RFC|CURP)\b\W{0,3})[A-Z0-9][A-Z0-9./-]{5,19}/gi;
const PHONE = /\+\d[\d\s().-]{6,17}\d/g;

/** Thirteen digits and more, with a blank or a dash between groups. */
const DIGITS = /\d(?:[ -]?\d){12,}/g;
const SHORTEST_CARD = 13;
const LONGEST_CARD = 19;
/** Hexadecimal or base64 of 24 bytes, and longer; ids of the two APIs are shorter. */
const OPAQUE = /[\w+/-]{32,}={0,2}/g;

/** A run with words in it is a text without blanks. */
function isKey(run: string): boolean {
  if (KNOWN_ID.test(run)) return false;
  const digits = run.replaceAll(/\D/g, '').length;
  return digits >= 4 && /[A-Za-z]/.test(run) && !/__/.test(run);
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url === null || url.host === '' ? MASK : `${url.protocol}//${url.host}/`;
}

/** `(isId)`: numbers of payments and of our own mint are no cards; theirs begin with 2 to 6 (ISO/IEC 7812, in use here). */
function isCard(digits: string, isId: boolean): boolean {
  if (digits.length < SHORTEST_CARD || digits.length > LONGEST_CARD || !luhn(digits)) return false;
  if (/^0*$/.test(digits)) return false;
  // Thirteen digits with a one in front are epoch milliseconds, by which many tills number their sales.
  if (digits.length === SHORTEST_CARD && digits.startsWith('1')) return false;
  return !isId || /^[2-6]/.test(digits);
}

/** ISO/IEC 7812-1, annex B. */
function luhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48;
    const twice = index % 2 === 1 ? digit * 2 : digit;
    sum += twice > 9 ? twice - 9 : twice;
  }
  return sum % 10 === 0;
}

/**
 * A number of the till in front of a card, with a blank between: every stretch of whole groups is looked at. One pass: a till
 * may send as many groups as a body has room for, and payments wait meanwhile.
 */
function maskGroups(run: string, isId: boolean): string {
  const groups = run.split(/([ -])/);
  let masked = '';
  for (let from = 0; from < groups.length; ) {
    const card_end = endOfCard(groups, from, isId);
    const end = card_end ?? from + 1;
    const stretch = groups.slice(from, end).join('');
    masked += (card_end === null ? stretch : maskedDigits(stretch)) + (groups[end] ?? '');
    from = end + 1;
  }
  return masked;
}

/** Behind which group the shortest card ends that begins at one of them; what stands between two groups is one too. */
function endOfCard(groups: readonly string[], from: number, isId: boolean): number | null {
  let digits = '';
  for (let end = from + 1; end <= groups.length && digits.length <= LONGEST_CARD; end += 2) {
    digits += groups[end - 1];
    if (isCard(digits, isId)) return end;
  }
  return null;
}

/** Whether a longer run holds a card of the usual sixteen digits, as data of a magnetic stripe does. */
function holdsCard(long: string): boolean {
  for (let from = 0; from + 16 <= long.length; from++) {
    if (isCard(long.slice(from, from + 16), true)) return true;
  }
  return false;
}

function maskedDigits(run: string): string {
  const digits = run.replaceAll(/\D/g, '').length;
  let seen = 0;
  return run.replaceAll(/\d/g, (digit) => {
    seen++;
    return seen <= 6 || seen > digits - 4 ? digit : 'X';
  });
}

// Undoes the usual encodings of a text, so that what hides in one is found: percent, escapes, UTF-16, base64,
// hexadecimal.

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
