/** The look of a report: plain, dense, the same on paper. */
import { CHART_STYLE } from '../../chart/style.ts';

export const STYLE = `
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --fault: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: #fff; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
p { margin: .3rem 0; } .none, footer { color: var(--soft); }
.verdict { font-weight: 600; padding: .5rem .8rem; border-left: .4rem solid var(--soft); background: #f6f8fa; }
.verdict.ready { border-color: #1a7f37; } .verdict.blocked { border-color: var(--fault); } .verdict.inconclusive { border-color: #9a6700; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td.text { overflow-wrap: anywhere; min-width: 9rem; } th.number { text-align: right; }
thead th { background: #f6f8fa; } tbody th { font-weight: 500; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: .85em ui-monospace, monospace; background: #f6f8fa; padding: .05rem .25rem; overflow-wrap: anywhere; }
${CHART_STYLE.trim()}
@page { size: A4 landscape; margin: 12mm; }
@media print { table { font-size: 8pt; } body { max-width: none; padding: 0; font-size: 10pt; } section { break-inside: auto; } h2, h2 + p { break-after: avoid; } h2 + p { break-inside: avoid; } tr { break-inside: avoid; } thead { display: table-header-group; } }
`;
