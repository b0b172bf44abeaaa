/** Lying bars of things that have names: topics of notices, fields that were lost. */

import { printable } from '../../locales/says.ts';
import { type ChartData, drawnChart, lines, WIDTH } from './draw.ts';
import { nameLines } from './names.ts';

/** Of a bar and the room around it, and of each line of the longest name. */
const ROW = 24;
const NAME_LINE = 15;
const BOTTOM = 28;
/** Of the width, for names; half of it where that is little. */
const NAMES = { wide: 0.4, narrow: 0.5 } as const;
/** From here on a chart is wide. */
const WIDE = 480;
/** Pixels of an average letter. */
const LETTER = 7.2;
/** Between a name and its bar. */
const GAP = 6;

/**
 * SVG of one bar for each mark, with the series one behind the other and their sum. At most 40 marks.
 * A name that is too long for a line takes up to three; its title has it whole.
 */
export function stackedRows(data: ChartData, width = WIDTH): Promise<string> {
  const left = Math.round(width * NAMES[width < WIDE ? 'narrow' : 'wide']);
  const names = data.marks.map((mark) => nameLines(mark, Math.floor((left - GAP) / LETTER)));
  const row = Math.max(ROW, ...names.map(({ length }) => (length + 1) * NAME_LINE - GAP));
  const sums = data.marks.map((_, mark) => data.series.reduce((sum, { values }) => sum + (values[mark] ?? 0), 0));
  return drawnChart(data, width, true, ({ plot, bars, most, top }) => ({
    height: top + data.marks.length * row + BOTTOM,
    marginBottom: BOTTOM,
    marginLeft: left,
    marginRight: 60,
    x: {
      domain: [0, most],
      ticks: width < WIDE ? 1 : lines(most),
      tickFormat: data.number,
      grid: true,
      axis: 'bottom',
      label: null,
    },
    y: { type: 'band', domain: data.marks.map((_, mark) => mark), axis: null },
    marks: [
      plot.text(names, {
        y: (_, mark) => mark,
        text: (name: readonly string[]) => name.join('\n'),
        title: (_, mark) => printable(data.marks[mark] ?? ''),
        frameAnchor: 'left',
        textAnchor: 'end',
        dx: -GAP,
        lineHeight: 1.1,
        className: 'name',
      }),
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
