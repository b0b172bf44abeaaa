/** Lying bars of things that have names: topics of notices, fields that were lost. */
import { type ChartData, drawnChart, lines, printable, WIDTH } from './draw.ts';

const ROW = 24;
const BOTTOM = 28;
/** Of the width, for names; longer ones are cut here, and whole in the pointer's title and in the table beside. */
const NAMES = 0.4;
/** Pixels of an average letter. */
const LETTER = 6.9;

/** SVG of one bar for each mark, with the series one behind the other and their sum. At most 40 marks. */
export function stackedRows(data: ChartData, width = WIDTH): Promise<string> {
  const names = Math.round(width * NAMES);
  const sums = data.marks.map((_, mark) => data.series.reduce((sum, { values }) => sum + (values[mark] ?? 0), 0));
  return drawnChart(data, width, true, ({ plot, bars, most, top }) => ({
    height: top + data.marks.length * ROW + BOTTOM,
    marginBottom: BOTTOM,
    marginLeft: names,
    marginRight: 60,
    x: {
      domain: [0, most],
      ticks: lines(most),
      tickFormat: data.number,
      grid: true,
      axis: 'bottom',
      label: null,
    },
    y: {
      type: 'band',
      domain: data.marks.map((_, mark) => mark),
      label: null,
      tickSize: 0,
      tickFormat: (mark: number) => cut(data.marks[mark] ?? '', Math.floor(names / LETTER)),
    },
    marks: [
      ...bars.map((of_one, index) =>
        plot.barX(of_one, {
          y: 'mark',
          x1: 'from',
          x2: 'to',
          title: 'title',
          className: data.series[index]?.kind ?? '',
        }),
      ),
      plot.text(sums, {
        x: (sum: number) => sum,
        y: (_, mark) => mark,
        text: (sum: number) => data.number(sum),
        dx: 5,
        textAnchor: 'start',
        className: 'sum',
      }),
    ],
  }));
}

/** The end of a long name says more than its middle: fields differ there. */
function cut(name: string, most: number): string {
  const text = printable(name);
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = Math.floor(most / 2) - 1;
  return `${letters.slice(0, head).join('')}…${letters.slice(head + 1 - most).join('')}`;
}
