/** Masks tokens, cards and personal data in free text, in clear or in a common encoding. */

export const MASK = '[masked]';

/** Masks secrets and personal data, and cuts URLs to the origin. @param opaqueIsFine a long run is an id, not a key. */
export function maskText(text: string, opaqueIsFine: boolean): string {
  if (KNOWN_ID.test(text) || !SUSPECT.test(text)) return text;
  const short = text.includes('://') ? text.replaceAll(URL_TEXT, originOf) : text;
  // Encoded text is searched before masking: masking a part of it would leave the rest readable.
  if (hiddenIn(short, shows)) return MASK;
  const masked = maskPlain(short);
  return opaqueIsFine ? masked : masked.replaceAll(OPAQUE, (run) => (isKey(run) ? MASK : run));
}

/** True for a text with a token, a named secret, or digits that can be a card's (`test/faults/README.md` F134). */
export function showsSecret(text: string): boolean {
  for (const [run] of text.matchAll(DIGITS)) if (maskRun(run, false) !== run) return true;
  if (text.search(SPELLED_TOKENS) !== -1 || text.search(NAMED_SECRET) !== -1) return true;
  return /eyj/i.test(text) && text.search(SIGNED_TOKEN) !== -1;
}

/** Masks what a person's sentence must not store: tokens, cards, passwords. Links, and words such as "token: expired", stay. */
export function maskWritten(text: string): string {
  return maskCards(text, false)
    .replaceAll(TOKENS, MASK)
    .replaceAll(NAMED_SECRET, (all, name: string, sign: string) =>
      /\d/.test(all.slice(name.length + sign.length)) ? `${name}${sign}${MASK}` : all,
    )
    .replaceAll(USER_INFO, `//${MASK}@`);
}

/** Keeps the first six and the last four digits of a card, and the length. */
export function maskCards(text: string, isId: boolean): string {
  return text.replaceAll(DIGITS, (run) => maskRun(run, isId));
}

function maskRun(run: string, isId: boolean): string {
  const digits = run.replaceAll(/[ -]/g, '');
  if (digits.length > LONGEST_CARD) return maskLong(run, isId);
  if (isCard(digits, isId)) return maskedDigits(run);
  return run === digits ? run : maskGroups(run, isId);
}

/** More digits than a card has: a magnetic stripe, or several numbers, one of which may be a card. */
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

/** A UUID, a reference derived from one, an order, payment or refund id of the orders API: the most common values. */
const KNOWN_ID =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|pnt[0-9a-f]{12}7[0-9a-f]{19}|ORD(?:TST)?[0-9A-Z]{26}|(?:PAY|REF)[0-9A-HJKMNP-TV-Z]{26})$/i;
/** A text without a match needs no masking; most values of a body have none. */
const SUSPECT =
  /[@%\0\\=]|:\/\/|\+\d|\d(?:[ ./-]?\d){7}|[\w+/-]{11}|\.\d{3}-[\dk]|TG-|(?:secret|token|passw|pwd|senha|signature|api_?key|cvv|bearer|basic|dni|cpf|cnpj|cui[tl]|rut|rfc|curp)/i;

const URL_TEXT = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>\\]+/gi;
const SPELLED_TOKENS =
  /(?:APP_USR|TG)-[\w-]{6,}|TEST-\d{6,}-\d{4,}-[\w-]{8,}|Bearer\s+[\w.~+/-]{8,}=*|Basic\s+[\w+/-]{8,}=*|(?:sk|pk|rk|whsec|ghp|xox[abp])[_-][\w-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*/gi;
/**
 * A signed token (`eyJ…`), searched once per word, because a word may contain `eyJ` thousands of times. It costs more
 * than all other patterns together, so `showsSecret` uses it only for texts with `eyJ`.
 */
const SIGNED_TOKEN = /(?<![\w-])(?=[\w-]+\.[\w-]{4,}\.)(?=[\w-]*eyJ[\w-]{8})[\w-]+\.[\w-]{4,}\.[\w-]*/gi;
const TOKENS = new RegExp(`${SIGNED_TOKEN.source}|${SPELLED_TOKENS.source}`, 'gi');
const NAMED_SECRET =
  /(secret|token|passw(?:or)?d|senha|authorization|signature|api_?key|cvv|pwd)(["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[masked\])[^\s"'&,;}]{3,}/gi;
/** User and password of a URL. */
const USER_INFO = /\/\/[^\s/@]{1,400}@/g;
const EMAIL = /[^\s@"'<>()[\]{}:;,=&?]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,5}/gi;
/** CPF, CNPJ, CUIT and RUT with their usual punctuation. */
const DOCUMENT =
  /(?<!\d)(?:\d{3}\.\d{3}\.\d{3}-\d{2}|\d{2}\.\d{3}\.\d{3}\/\d{4}-\d{2}|(?:2[0-7]|3[034])-\d{8}-\d|\d{1,2}\.\d{3}\.\d{3}-[\dk])(?!\d)/gi;
const NAMED_DOCUMENT = /(\b(?:DNI|CPF|CNPJ|CUIT|CUIL|RUT|RFC|CURP)\b\W{0,3})[A-Z0-9][A-Z0-9./-]{5,19}/gi;
const PHONE = /\+\d[\d\s().-]{6,17}\d/g;

/** Thirteen digits or more, with a blank or a dash between groups. */
const DIGITS = /\d(?:[ -]?\d){12,}/g;
const SHORTEST_CARD = 13;
const LONGEST_CARD = 19;
/** Hexadecimal or base64 of 24 bytes or more; ids of the APIs are shorter. */
const OPAQUE = /[\w+/-]{32,}={0,2}/g;

/** A run with `__` is a name, not a key. */
function isKey(run: string): boolean {
  if (KNOWN_ID.test(run)) return false;
  const digits = run.replaceAll(/\D/g, '').length;
  return digits >= 4 && /[A-Za-z]/.test(run) && !/__/.test(run);
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url === null || url.host === '' ? MASK : `${url.protocol}//${url.host}/`;
}

/** @param isId excludes payment and synthetic numbers: cards in use here begin with 2 to 6 (ISO/IEC 7812). */
function isCard(digits: string, isId: boolean): boolean {
  if (digits.length < SHORTEST_CARD || digits.length > LONGEST_CARD || !luhn(digits)) return false;
  if (/^0*$/.test(digits)) return false;
  // Thirteen digits that begin with 1 are epoch milliseconds: many tills number their sales by them.
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

/** Tests every stretch of whole groups: another number may precede a card. One pass, as a body may have many groups. */
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

/** The index behind the shortest card that begins at a group; separators have indices too. */
function endOfCard(groups: readonly string[], from: number, isId: boolean): number | null {
  let digits = '';
  for (let end = from + 1; end <= groups.length && digits.length <= LONGEST_CARD; end += 2) {
    digits += groups[end - 1];
    if (isCard(digits, isId)) return end;
  }
  return null;
}

/** True for a run that contains a card of sixteen digits, as a magnetic stripe does. */
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

const ROUNDS = 3; // nested encodings

/** True when `shows` accepts the decoded text (percent, escapes, UTF-16, base64, hexadecimal), not the text itself. */
export function hiddenIn(text: string, shows: (inner: string) => boolean, rounds = ROUNDS): boolean {
  if (rounds === 0) return false;
  const again = (inner: string): boolean => shows(inner) || hiddenIn(inner, shows, rounds - 1);
  const plain = unescaped(text);
  if (plain !== text && again(plain)) return true;
  for (const [run] of text.matchAll(HEX)) if (anyOffset(run, 2, 'hex', again)) return true;
  for (const [run] of text.matchAll(BASE64)) if (anyOffset(run, 4, 'base64', again)) return true;
  return false;
}

/** Decodes percent signs and `\u` escapes, and drops the zero bytes of UTF-16. */
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
/** Eight bytes or more, as the shortest e-mail address has. */
const HEX = /[0-9a-f]{16,}/gi;
const BASE64 = /[\w+/-]{11,}/g;

/** The encoding may begin anywhere in a run. */
function anyOffset(run: string, width: number, encoding: 'hex' | 'base64', shows: (inner: string) => boolean): boolean {
  // Base64 of a text has upper and lower case, which most words and codes have not.
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

/** Shorter stretches of text occur by chance. */
const SHORTEST_STRETCH = 6;

/** The readable stretches; UTF-16 has a zero byte beside every letter. */
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

const HIDDEN = '…';

/** Scheme, host and port, for display and storage. Path, query and credentials may be secrets, and are hidden. */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'not a URL';
  const path = url.pathname === '/' || url.pathname === '' ? '/' : `/${HIDDEN}`;
  return `${url.protocol}//${url.host}${path}${url.search === '' ? '' : `?${HIDDEN}`}`;
}
