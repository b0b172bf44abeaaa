/** Lengths as people count them: in characters (Unicode code points), not in the UTF-16 units of JavaScript. */

/** How many characters the text has: `🧾` is one. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}

/** Whether it has at most so many. */
export function isWithinCharacters(text: string, most: number): boolean {
  return text.length <= most || (text.length <= 2 * most && characterCount(text) <= most);
}

/** Its first characters, none of them halved. */
export function firstCharacters(text: string, most: number): string {
  return [...text].slice(0, most).join('');
}
