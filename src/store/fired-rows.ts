/** Rows that fired, as they are kept: `point.get.answer#1-4,6`, because in words they are more than half of an exchange. */

/** What a short form can be read back from: no blank, and in the row no `-`, which says a range. */
const SHORT = /^[\w.-]+#[\w.]+$/;
const NUMBER = /^[1-9]\d{0,5}$/;

/** Of lists that calls of one way share, which nobody may change (`proxy/evidence/evaluation.ts`). */
const known = new WeakMap<readonly string[], string>();

/** @param fired rows as `table#row`, in their order. @returns the short form; JSON for what has none, null for no row. */
export function firedText(fired: readonly string[]): string | null {
  if (fired.length === 0) return null;
  if (!Object.isFrozen(fired)) return textOf(fired);
  const text = known.get(fired) ?? textOf(fired);
  known.set(fired, text);
  return text;
}

function textOf(fired: readonly string[]): string {
  if (!fired.every((row) => SHORT.test(row))) return JSON.stringify(fired);
  let text = '';
  let table = '';
  let first = 0;
  let last = 0;
  for (const one of fired) {
    const mark = one.indexOf('#');
    const row = one.slice(mark + 1);
    const number = NUMBER.test(row) ? Number(row) : 0;
    if (number > 0 && number === last + 1 && one.startsWith(table) && mark === table.length) {
      last = number;
      continue;
    }
    if (last > first) text += `-${last}`;
    if (mark === table.length && one.startsWith(table)) text += `,${row}`;
    else {
      table = one.slice(0, mark);
      text += text === '' ? one : ` ${one}`;
    }
    first = number;
    last = number === 0 ? NONE : number;
  }
  return last > first ? `${text}-${last}` : text;
}

/** Before a row that no number follows. */
const NONE = -1;

/** What `firedText` kept, and what earlier versions did: a JSON list. */
export function firedRows(text: string | null): string[] {
  if (text === null) return [];
  if (text.startsWith('[')) return JSON.parse(text) as string[]; // the column holds nothing else
  return text.split(' ').flatMap((part) => {
    const mark = part.indexOf('#') + 1;
    const table = part.slice(0, mark);
    return part
      .slice(mark)
      .split(',')
      .flatMap(numbersIn)
      .map((row) => table + row);
  });
}

function numbersIn(rows: string): string[] {
  const [first = '', last] = rows.split('-');
  if (last === undefined) return [first];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => String(Number(first) + index));
}
