/** HTML from values: every text is escaped, and what is HTML already says so by its type. */

/** Text that is HTML already. */
export type Html = string & { readonly html: unique symbol };

export function raw(html: string): Html {
  return html as Html; // the caller has escaped what came from outside
}

export function escaped(value: string | number): string {
  return withoutControls(String(value))
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Text that can't drive a terminal that somebody prints a file on (`reliability.md` F132); tabs and line breaks stay. */
export function withoutControls(text: string): string {
  return text.replace(/[^\P{Cc}\t\r\n]/gu, '\ufffd');
}

/** A text that is HTML already, in a cell. */
export interface Marked {
  html: Html;
  /** How many it shows. */
  letters: number;
}
export type Cell = string | number | Marked;

/**
 * A table with a header row, and the first cell of each row as its name; '' when it would have no rows. A column of numbers
 * is set to the right, its head too; long texts may break anywhere, short ones (names, ids, dates) only between words.
 * @param number writes a number as the reader's language does.
 */
export function htmlTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  number: (value: number) => string = String,
): Html {
  if (rows.length === 0) return raw('');
  const title = (name: string, column: number): string =>
    `<th scope="col"${rows.every((row) => typeof row[column] === 'number') ? ' class="number"' : ''}>${escaped(name)}</th>`;
  const shown = (one: Cell): string =>
    typeof one === 'object' ? one.html : escaped(typeof one === 'number' ? number(one) : one);
  const cells = ([name = '', ...values]: readonly Cell[]): string =>
    `<th scope="row">${shown(name)}</th>${values.map((one) => `<td${kindOf(one)}>${shown(one)}</td>`).join('')}`;
  return raw(
    `<table><thead><tr>${head.map(title).join('')}</tr></thead>` +
      `<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody></table>`,
  );
}

/** Characters beyond which a text is prose, or a value, and not a name: the longest operation and UUIDs are shorter. */
const SHORT = 40;

function kindOf(one: Cell): string {
  if (typeof one === 'number') return ' class="number"';
  const letters = typeof one === 'string' ? one.length : one.letters;
  return letters > SHORT ? ' class="text"' : '';
}
