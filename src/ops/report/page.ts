/** The frame of every HTML file that Puente hands out: one page, no script, nothing to load. */
import type { Language } from '../../locales/words.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { CHART_STYLE } from '../charts/charts.ts';

/** @param body HTML of sections. */
export function htmlPage(language: Language, title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body.filter((part) => part !== '').join('\n')}
</body>
</html>
`;
}

/** A heading, a sentence and its content; what is empty says so. */
export function htmlSection(title: string, content: Html, lead: string, none: string): string {
  // A table that is wider than the screen is moved by itself, also by the keyboard.
  const frame = `<div class="frame" role="region" tabindex="0" aria-label="${escaped(title)}">${content}</div>`;
  const shown = content === '' ? `<p class="none">${escaped(none)}</p>` : frame;
  return `<section><h2>${escaped(title)}</h2><p>${escaped(lead)}</p>${shown}</section>`;
}

/** What was found, with the command that shows or mends it. */
export interface ShownFinding {
  what: Marked;
  command: string | null;
}

/** A verdict with its findings, in lists by their names. */
export function htmlVerdict(
  verdict: Verdict,
  sentence: string,
  lists: readonly (readonly [name: string, findings: readonly ShownFinding[]])[],
): Html {
  const shown = lists
    .filter(([, findings]) => findings.length > 0)
    .map(([name, findings]) => `<h3>${escaped(name)}</h3><ul>${findings.map(htmlFinding).join('')}</ul>`);
  return raw(`<p class="verdict ${verdict}">${escaped(sentence)}</p>${shown.join('')}`);
}

function htmlFinding({ what, command }: ShownFinding): string {
  return `<li>${what.html}${command === null ? '' : ` <code>${escaped(command)}</code>`}</li>`;
}

// HTML from values: every text is escaped, and what is HTML already says so by its type.

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

/** Text that can't drive a terminal that somebody prints a file on (`test/faults/README.md` F132); tabs and line breaks stay. */
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

// The look of a report: plain, dense, dark where the reader's screen is, and always light on paper.

export const STYLE = `
:root { color-scheme: light; --ground: #fff; --panel: #f6f8fa; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --fault: #b3261e; --good: #1a7f37; --warn: #9a6700; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ground: #14171a; --panel: #22272c; --ink: #e6e9ec; --soft: #a0a9b2; --line: #363d44; --fault: #ff7b72; --good: #56c27d; --warn: #e0b354; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
p { margin: .3rem 0; } p, li { overflow-wrap: anywhere; } .none, footer { color: var(--soft); }
.verdict { font-weight: 600; padding: .5rem .8rem; border-left: .4rem solid var(--soft); background: var(--panel); }
.verdict.ready { border-color: var(--good); } .verdict.blocked { border-color: var(--fault); } .verdict.inconclusive { border-color: var(--warn); }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td.text { overflow-wrap: anywhere; min-width: 9rem; } th.number { text-align: right; }
thead th { background: var(--panel); } tbody th { font-weight: 500; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: .85em ui-monospace, monospace; background: var(--panel); padding: .05rem .25rem; overflow-wrap: anywhere; }
${CHART_STYLE.trim()}
.narrow { display: none; } @media screen { .frame { overflow-x: auto; } }
@media screen and (max-width: 34rem) { body { padding: .8rem; } .wide { display: none; } .narrow { display: block; } }
@page { size: A4 landscape; margin: 12mm; }
@media print { table { font-size: 8pt; } body { max-width: none; padding: 0; font-size: 10pt; } section { break-inside: auto; } h2, h2 + p { break-after: avoid; } h2 + p { break-inside: avoid; } tr { break-inside: avoid; } thead { display: table-header-group; } }
`;
