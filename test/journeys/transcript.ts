/** What a till sees, as lines of text: numbers, ids, times and hosts by order of appearance, the rest unchanged. */
import type { Answer, Delivery } from '../kit.ts';

/** Status, content type, headers that clients act on, and body text: key order and value types count. */
export function shownAnswer({ status, headers, text }: Answer): string {
  const type = String(headers['content-type'] ?? 'no type').split(';')[0];
  const retry = headers['retry-after'] === undefined ? '' : ` retry-after ${headers['retry-after']}`;
  return `${status} ${type}${retry} ${text}`.trim();
}

export function shownBody(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Query in its order, sender and body text. Without the signature, which no receiver can verify (`docs/field-notes.md` QR finding 7). */
export function shownDelivery({ query, headers, text }: Delivery): string {
  const asked = [...query].map(([name, value]) => `${name}=${value}`).join('&');
  const request_id = headers['x-request-id'] === undefined ? '' : ' with request id';
  return `?${asked} ${headers['content-type']} ${headers['user-agent']}${request_id} ${text}`;
}

export function differences(one: readonly string[], other: readonly string[]): string[] {
  const found: string[] = [];
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    if (one[index] === other[index]) continue;
    if (one[index] !== undefined) found.push(`- ${one[index]}`);
    if (other[index] !== undefined) found.push(`+ ${other[index]}`);
  }
  return found;
}

/** Differences of two transcripts of one script, each pair of lines without its equal head and tail. */
export function narrowDifferences(one: readonly string[], other: readonly string[]): string[] {
  const found: string[] = [];
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [left, right] = [one[index], other[index]];
    if (left === right) continue;
    if (left === undefined || right === undefined) found.push(left === undefined ? `+ ${right}` : `- ${left}`);
    else found.push(...narrowed(left, right));
  }
  return found;
}

/** Cuts only before or after a comma or brace, so members stay whole. */
function narrowed(left: string, right: string): string[] {
  const head = cut(left, commonLength(left, right), left.length);
  const ends: [string, string] = [left.slice(head), right.slice(head)];
  const backwards = ends.map((text) => [...text].reverse().join('')) as [string, string]; // a pair
  const tail = cut(backwards[0], commonLength(...backwards), Math.min(...ends.map(({ length }) => length)));
  const shown = ends.map((text) => `${head > 0 ? '…' : ''}${text.slice(0, text.length - tail)}${tail > 0 ? '…' : ''}`);
  return [`- ${shown[0]}`, `+ ${shown[1]}`];
}

function commonLength(left: string, right: string): number {
  let length = 0;
  while (length < Math.min(left.length, right.length) && left[length] === right[length]) length++;
  return length;
}

/** @returns the largest length up to `most` at which a member ends. */
function cut(text: string, most: number, longest: number): number {
  let length = Math.min(most, longest);
  while (length > 0 && !',{}['.includes(text[length - 1] ?? '')) length--;
  return length;
}

/** Patterns replaced by numbers in order of appearance, so equal values stay equal. */
type Numbers = readonly (readonly [RegExp, string])[];
export const POINT_NUMBERS: Numbers = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, 'id'],
  [/\bORD[0-9A-Z]{26}\b/g, 'order'],
  [/\bpnt[0-9a-f]{32}\b/g, 'derived reference'],
  [/\b131\d{9}\b/g, 'payment'],
];
const QR_NUMBERS: Numbers = [
  ...POINT_NUMBERS,
  // Eleven digits in legacy's numbers, sixteen in Puente's.
  [/\b(?:40\d{9}|8\d{15})\b/g, 'merchant order'],
  [/\b19\d{8}\b/g, 'refund'],
];
/** Other values that change from run to run. */
type Changing = readonly (readonly [RegExp, (...found: string[]) => string])[];
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g;
const fractionOf = (fraction: string | undefined): string => (fraction === undefined ? '' : ' with fraction');
export const POINT_TIMES: Changing = [
  [INSTANT, (_whole, fraction, zone) => `<instant${fractionOf(fraction)}${zone === 'Z' ? '' : zone}>`],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, () => '<date time>'],
];

/** @param before replacements made before the numbers. */
export function normaliser({
  numbers,
  times,
  before = (text) => text,
}: {
  numbers: Numbers;
  times: Changing;
  before?: (text: string) => string;
}): (text: string) => string {
  const seen = new Map(numbers.map(([, kind]) => [kind, new Map<string, number>()]));
  return (text) => {
    let normal = before(text);
    for (const [pattern, kind] of numbers) {
      const known = seen.get(kind) ?? new Map<string, number>();
      normal = normal.replaceAll(pattern, (found) => {
        if (!known.has(found)) known.set(found, known.size + 1);
        return `<${kind} ${known.get(found)}>`;
      });
    }
    return times.reduce((so_far, [pattern, shown]) => so_far.replaceAll(pattern, shown), normal);
  };
}

/** The payer of a merchant order; Puente's show none (LIM-38). A payment's own payer has more fields and stays. */
const PAYER = /"payer":(?:null|\{"id":\d+,"email":""\})/g;

/**
 * @param own_url URL of this world's receiver; its port differs by world.
 * @param shows_payer true where LIM-38 itself is tested.
 */
export function qrNormaliser(own_url: string, shows_payer = false): (text: string) => string {
  return normaliser({
    numbers: QR_NUMBERS,
    times: [
      [INSTANT, (_whole, fraction, zone) => `<instant${fractionOf(fraction)} ${zone}>`],
      [/"\d{6}"/g, () => '"<six digits>"'],
    ],
    before: (text) =>
      text
        .replaceAll(own_url, '<receiver>')
        .replaceAll(PAYER, (found) => (shows_payer ? found : '"payer":<payer>'))
        .replaceAll(/https?:\/\/[^/"]+(?=\/merchant_orders\/)/g, '<host>')
        .replaceAll(/"qr_data":"([^"]*)"/g, (_whole, code: string) => `"qr_data":"${maskedCode(code)}"`),
  });
}

/** The wallet's payment reference and the checksum differ in each code. */
function maskedCode(code: string): string {
  return code
    .replace(/[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/, '<wallet reference>')
    .replace(/6304[0-9A-F]{4}$/, '6304<checksum>');
}
