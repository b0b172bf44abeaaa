/** The look of a report: plain, dense, dark where the reader's screen is, and always light on paper. */
import { CHART_STYLE } from '../charts/style.ts';

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
