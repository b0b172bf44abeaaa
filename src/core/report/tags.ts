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

/** A table with a header row, and the first cell of each row as its name; '' when it would have no rows. Numbers are set to the right. */
export function htmlTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): Html {
  if (rows.length === 0) return raw('');
  const cells = ([name = '', ...values]: readonly (string | number)[]): string =>
    `<th scope="row">${escaped(name)}</th>${values.map(cell).join('')}`;
  return raw(
    `<table><thead><tr>${head.map((name) => `<th scope="col">${escaped(name)}</th>`).join('')}</tr></thead>` +
      `<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody></table>`,
  );
}

function cell(value: string | number): string {
  return `<td${typeof value === 'number' ? ' class="number"' : ''}>${escaped(value)}</td>`;
}
