/** The colours of charts, for a page's style sheet: a chart carries none inside, so that a strict policy lets it be. */

/** CSS. Neighbours in a bar differ in lightness, too, so that they can be told apart on grey paper. */
export const CHART_STYLE = `
.chart { display: block; max-width: 100%; height: auto; margin: .6rem 0; --chart-legacy: #b08a4a; --chart-orders: #1f6f8b; --chart-fault: #8f1d17; --chart-good: #2f855a; --chart-waiting: #d9b44a; --chart-paper: #9aa5b1; }
.chart .legacy { fill: var(--chart-legacy); } .chart .orders { fill: var(--chart-orders); } .chart .fault, .chart .bad { fill: var(--chart-fault); }
.chart .good { fill: var(--chart-good); } .chart .waiting { fill: var(--chart-waiting); } .chart .paper { fill: var(--chart-paper); }
@media screen and (prefers-color-scheme: dark) { .chart { --chart-legacy: #dcbd85; --chart-orders: #3f9dbd; --chart-fault: #ff6f61; --chart-good: #3fa873; --chart-waiting: #f0d788; --chart-paper: #8793a0; } }
@media print { .chart { break-inside: avoid; print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`;
