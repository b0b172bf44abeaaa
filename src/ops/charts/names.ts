/** Long names beside lying bars: in several lines where they have joints, and shortened only where that is not enough. */
import { printable } from '../../locales/says.ts';

/** Of one name: an operation, and the two halves of a field's path, where the chart is narrow. */
const MOST_LINES = 3;
/** A name may be broken behind these. */
const PIECES = /[^ ._/-]*[ ._/-]|[^ ._/-]+/g;

/** Lines of at most so many letters, three of them at most; `…` stands for what is left out of its middle. */
export function nameLines(name: string, most: number): string[] {
  const lines: string[] = [];
  for (const piece of printable(name).match(PIECES) ?? []) {
    const last = lines.pop() ?? '';
    if (last === '' || lettersOf(last + piece) <= most) lines.push(last + piece);
    else lines.push(last, piece);
  }
  const [first = '', ...rest] = lines.map((line) => line.trimEnd());
  if (rest.length < MOST_LINES) return [first, ...rest].map((line) => cut(line, most));
  const [second = '', ...end] = rest.slice(1 - MOST_LINES);
  return [cut(first, most), `…${[...second].slice(1 - most).join('')}`, ...end.map((line) => cut(line, most))];
}

/** The end of a long name says more than its middle: fields differ there. */
function cut(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = Math.floor(most / 2) - 1;
  return `${letters.slice(0, head).join('')}…${letters.slice(head + 1 - most).join('')}`;
}

/** A blank at the end takes no room. */
function lettersOf(text: string): number {
  return [...text.trimEnd()].length;
}
