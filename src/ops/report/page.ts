/** The frame of every HTML file that Puente makes: one page, no script, nothing to load. */
import type { Language, Words } from '../../locales/words.ts';
import { CHART_STYLE } from '../charts/charts.ts';
import { type Content, code, type Html, html } from '../html.ts';
import type { Finding, Readiness } from '../readiness/facts.ts';

/** One file that loads nothing, with a policy that forbids it. */
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

/**
 * A heading, a sentence and its content.
 * @param none shown where there is no content.
 * @param place its class: on paper `half` or `quarter` of a row, or on a screen alone.
 */
export function htmlSection(title: string, content: Content, lead: Content, none: string, place = ''): Html {
  // What is wider than the screen, such as a table on a tablet, scrolls in its own frame, also by the keyboard.
  const frame = html`<div class="frame" role="region" tabindex="0" aria-label="${title}">${content}</div>`;
  const shown = content === null ? html`<p class="none">${none}</p>` : frame;
  const kind = `${place} ${content === null ? 'empty' : ''}`.trim();
  return html`<section class="${kind}"><h2>${title}</h2><p>${lead}</p>${shown}</section>`;
}

type Sentence = Pick<Finding, 'what' | 'said'> & Partial<Pick<Finding, 'command'>>;

/** The verdict on a merchant with its findings. @param shown the sentence of a finding. @param most of each list. */
export function htmlVerdict(
  { t }: Words,
  readiness: Readiness,
  shown: (one: Sentence) => Content,
  most = Number.POSITIVE_INFINITY,
): Html {
  const { about, verdict, blockers, unproven, acknowledged, remarks } = readiness;
  const item = (one: Sentence): Html => {
    const { command = null } = one;
    return html`<li>${shown(one)}${command === null ? null : html` ${code(command)}`}</li>`;
  };
  const more = (count: number): Content => (count > 0 ? html`<p>${t('report.more_in_annexes', { count })}</p>` : null);
  const list = (name: string, findings: readonly Sentence[]): Content =>
    findings.length === 0
      ? null
      : html`<h3>${t(name)}</h3><ul>${findings.slice(0, most).map(item)}</ul>${more(findings.length - most)}`;
  const lists = [
    list('readiness.blockers', blockers),
    list('readiness.unproven', unproven),
    list('readiness.accepted', acknowledged),
  ];
  return html`<p class="verdict ${verdict}">${t(about === 'completion' ? `completion.${verdict}` : `report.verdict.${verdict}`)}</p>${lists}${list('report.remarks', remarks)}`;
}

/** The style of a report: dense, dark where the reader's screen is dark, and always light on paper. */
const STYLE = html`
:root { color-scheme: light; --ground: #fff; --panel: #f6f8fa; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --fault: #b3261e; --good: #1a7f37; --warn: #9a6700; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ground: #14171a; --panel: #22272c; --ink: #e6e9ec; --soft: #a0a9b2; --line: #363d44; --fault: #ff7b72; --good: #56c27d; --warn: #e0b354; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
p { margin: .3rem 0; } p, li { overflow-wrap: anywhere; } .none, footer { color: var(--soft); }
.verdict { font-weight: 600; padding: .5rem .8rem; border-left: .4rem solid var(--soft); background: var(--panel); }
.verdict.ready { border-color: var(--good); } .verdict.blocked { border-color: var(--fault); } .verdict.inconclusive { border-color: var(--warn); }
.certificate { border: 2px solid var(--ink); padding: 0 1rem 1rem; margin-top: 2rem; break-inside: avoid; } .certificate tbody tr { height: 3rem; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td.text { min-width: 9rem; } th.number { text-align: right; }
thead th { background: var(--panel); } tbody th { font-weight: 500; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
:is(td, th) time { display: inline-block; min-width: 6em; } .annexes { margin-top: 3rem; }
code { font: .85em ui-monospace, monospace; background: var(--panel); padding: .05rem .25rem; overflow-wrap: anywhere; }
${CHART_STYLE}@media screen { .frame { overflow-x: auto; } }
/* On a phone a row is a card: its cells stand below one another, each with its column's name. */
@media screen and (max-width: 34rem) {
body { padding: .8rem; } .frame :is(thead, td:empty) { display: none; }
.frame :is(table, tbody, tr, th, td) { display: block; border: 0; text-align: left; white-space: normal; } .frame tr { padding: .3rem 0; border-bottom: 1px solid var(--line); }
.frame td.text { min-width: 0; } .frame td::before { display: block; content: attr(data-name); color: var(--soft); font-size: .87em; }
}
@media screen { .printed { display: none; } }
@page { size: A4 landscape; margin: 9mm; }
@media print {
.screen, .annex .empty, tr:has(.usual), .spans :is(th, td):last-child { display: none; } body { max-width: none; padding: 0; font-size: 9pt; line-height: 1.35; } p, li, code { overflow-wrap: break-word; } td.text { min-width: 0; } :is(td, th) time { white-space: nowrap; }
h1 { font-size: 14pt; } h2 { font-size: 10.5pt; margin: .6rem 0 .1rem; } h3 { font-size: 9pt; margin: .4rem 0 .1rem; } p { margin: .15rem 0; } ul { margin: .1rem 0; }
table { font-size: 7.5pt; margin: .25rem 0; } th, td { padding: .1rem .35rem; } code { padding: 0; background: none; }
.findings, .annexes { break-before: page; } .findings table { font-size: 7pt; line-height: 1.25; } .annexes { margin-top: 0; } .annex :is(p, li) { orphans: 2; widows: 2; } .annex { orphans: 1; widows: 1; font-size: 7pt; line-height: 1.25; } .annex table { font-size: 6.8pt; } .annex :is(th, td) { padding: .06rem .3rem; } .annex h2 { font-size: 9.5pt; margin-top: .35rem; }
.annex section:is(.half, .quarter) { display: inline-block; vertical-align: top; width: 49%; margin-right: .6%; } .annex section.quarter { width: 24%; } .quarter .frame > table { display: none; }
.annex .wide { display: none; } .annex .narrow { display: block; } .annex .chart { margin: 0; width: 215px; }
.annex .frame:has(> .narrow + table) { display: grid; grid-template-columns: 225px 1fr; gap: .6rem; align-items: start; break-inside: avoid; } .annex .quarter .frame:has(> .narrow + table) { display: block; }
.compact { columns: 5; column-gap: 4mm; font-size: 6pt; line-height: 1.25; list-style: none; padding: 0; } .evidence { display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; overflow: hidden; } .unseen .compact { columns: 4; font-size: 6.5pt; } .compact li { break-inside: avoid; }
section { break-inside: auto; } h2, h2 + p { break-after: avoid; } h2 + p { break-inside: avoid; } tr { break-inside: avoid; } thead { display: table-header-group; } .certificate { font-size: 9pt; }
}
`;
