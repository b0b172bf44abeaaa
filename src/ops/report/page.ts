/** The frame of every HTML file that Puente makes: one page, no script, nothing to load. */
import type { Language, Words } from '../../locales/words.ts';
import { CHART_STYLE } from '../charts/charts.ts';
import { type Content, code, type Html, html } from '../html.ts';
import type { Finding, Readiness } from '../readiness/facts.ts';

export function htmlPage(language: Language, title: string, body: readonly Content[]): string {
  return String(html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${body.map((part) => html`${part}\n`)}</body>
</html>
`);
}

/** A heading, a sentence and its content. @param none shown where there is no content. */
export function htmlSection(title: string, content: Content, lead: string, none: string): Html {
  // A table wider than the screen scrolls in its own frame, also by the keyboard.
  const frame = html`<div class="frame" role="region" tabindex="0" aria-label="${title}">${content}</div>`;
  const shown = content === null ? html`<p class="none">${none}</p>` : frame;
  return html`<section><h2>${title}</h2><p>${lead}</p>${shown}</section>`;
}

/** The verdict on a merchant with its findings. @param shown the sentence of a finding. */
export function htmlVerdict({ t }: Words, readiness: Readiness, shown: (one: Finding) => Content): Html {
  const { about, verdict, blockers, unproven, remarks } = readiness;
  const item = (one: Finding): Html =>
    html`<li>${shown(one)}${one.command === null ? null : html` ${code(one.command)}`}</li>`;
  const list = (name: string, findings: readonly Finding[]): Content =>
    findings.length === 0 ? null : html`<h3>${t(name)}</h3><ul>${findings.map(item)}</ul>`;
  const lists = [list('readiness.blockers', blockers), list('readiness.unproven', unproven)];
  return html`<p class="verdict ${verdict}">${t(about === 'completion' ? `completion.${verdict}` : `report.verdict.${verdict}`)}</p>${lists}${list('report.remarks', remarks)}`;
}

/** The style of a report: dense, dark where the reader's screen is dark, and always light on paper. */
const STYLE = html`
:root { color-scheme: light; --ground: #fff; --panel: #f6f8fa; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --fault: #b3261e; --good: #1a7f37; --warn: #9a6700; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ground: #14171a; --panel: #22272c; --ink: #e6e9ec; --soft: #a0a9b2; --line: #363d44; --fault: #ff7b72; --good: #56c27d; --warn: #e0b354; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
p { margin: .3rem 0; } p, li { overflow-wrap: anywhere; } .none, footer { color: var(--soft); }
.verdict { font-weight: 600; padding: .5rem .8rem; border-left: .4rem solid var(--soft); background: var(--panel); }
.verdict.ready { border-color: var(--good); } .verdict.blocked { border-color: var(--fault); } .verdict.inconclusive { border-color: var(--warn); }
.certificate { border: 2px solid var(--ink); padding: 0 1rem 1rem; margin-top: 2rem; break-inside: avoid; } .certificate tbody tr { height: 3rem; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td.text { overflow-wrap: anywhere; min-width: 9rem; } th.number { text-align: right; }
thead th { background: var(--panel); } tbody th { font-weight: 500; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:has(.money) { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; } .annexes { break-before: page; margin-top: 3rem; }
code { font: .85em ui-monospace, monospace; background: var(--panel); padding: .05rem .25rem; overflow-wrap: anywhere; }
${CHART_STYLE}.narrow { display: none; } @media screen { .frame { overflow-x: auto; } }
@media screen and (max-width: 34rem) { body { padding: .8rem; } .wide { display: none; } .narrow { display: block; } }
@page { size: A4 landscape; margin: 12mm; }
@media print { table { font-size: 8pt; } body { max-width: none; padding: 0; font-size: 10pt; } section { break-inside: auto; } h2, h2 + p { break-after: avoid; } h2 + p { break-inside: avoid; } tr { break-inside: avoid; } thead { display: table-header-group; } }
`;
