/** Known words that a mistyped one may have meant: names of converters, fields and files, ids of merchants. Pure. */

/** Near words of one wrong one that are named. */
export const MOST_NEAR = 5;
/** Two slips: further ones find unrelated words. */
const MOST_SLIPS = 2;
/** More words than a person reads in one sentence. */
const MOST_LISTED = 14;

/**
 * What would have fitted, as the end of a sentence about a wrong word: near words, those that it is a part of or that
 * are a part of it, or else all.
 */
export function whatFits(wanted: string, known: readonly string[]): string {
  const near = nearTo(wanted, known);
  const alike = near.length > 0 ? near : known.filter((one) => isAlike(wanted, one)).slice(0, MOST_NEAR);
  if (alike.length > 0) return `; did you mean ${alike.join(' or ')}?`;
  if (known.length === 0) return '';
  const more = known.length - MOST_LISTED;
  return `; there ${known.length === 1 ? 'is' : 'are'} ${known.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The last part of a path counts: `body.text` is like `body.items[].text`. */
function isAlike(wanted: string, known: string): boolean {
  const [last, other] = [wanted, known].map((path) => path.slice(path.lastIndexOf('.') + 1)) as [string, string]; // two in, two out
  if (last.length < 3 || other.length < 3) return false;
  return other.includes(last) || last.includes(other) || nearTo(last, [other]).length > 0;
}

/** The known words that the fewest slips, two at most, turn into the wanted one. */
export function nearTo(wanted: string, known: readonly string[]): string[] {
  const counted = known
    .filter((one) => Math.abs(one.length - wanted.length) <= MOST_SLIPS)
    .map((one) => ({ one, slips: slipsBetween(wanted, one) }))
    .filter(({ slips }) => slips <= MOST_SLIPS);
  const fewest = Math.min(...counted.map(({ slips }) => slips));
  return counted
    .filter(({ slips }) => slips === fewest)
    .slice(0, MOST_NEAR)
    .map(({ one }) => one);
}

/**
 * Characters that are missing, added or wrong, and neighbours that are swapped (optimal string alignment); more than `MOST_SLIPS` are
 * counted no further.
 */
function slipsBetween(from: string, to: string): number {
  let [before, last, now] = [0, 0, 0].map(() => Array.from({ length: to.length + 1 }, (_, column) => column)) as Counts;
  for (let row = 1; row <= from.length; row++) {
    now[0] = row;
    let fewest = row;
    for (let column = 1; column <= to.length; column++) {
      const wrong = from[row - 1] === to[column - 1] ? 0 : 1;
      let slips = Math.min(at(last, column) + 1, at(now, column - 1) + 1, at(last, column - 1) + wrong);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) slips = Math.min(slips, at(before, column - 2) + 1);
      now[column] = slips;
      fewest = Math.min(fewest, slips);
    }
    // No later row has fewer.
    if (fewest > MOST_SLIPS) return fewest;
    [before, last, now] = [last, now, before];
  }
  return at(last, to.length);
}

/** The row before the last, the last, and the one that is filled. */
type Counts = [number[], number[], number[]];

function at(counts: readonly number[], column: number): number {
  return counts[column] as number; // of a row that is filled up to there
}

/** Without case and accents, for comparing what people type. */
export function folded(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').trim().toLowerCase();
}
