/** Lying bars of things that have names: topics of notices, fields that were lost. */
import {
  barsOf,
  type ChartData,
  type Drawn,
  emptyChart,
  finished,
  isEmpty,
  lines,
  longest,
  newPaper,
  printable,
  TOP,
  WIDTH,
} from './draw.ts';

const ROW = 24;
const BOTTOM = 28;
/** Room for names; longer ones are cut here, and whole in the pointer's title and in the table beside. */
const NAMES = 290;
/** Letters that fit there. */
const MOST_LETTERS = 42;

/** SVG of one bar for each mark, with the series one behind the other and their sum; the same data give the same bytes. At most 40 marks. */
export async function stackedRows(data: ChartData): Promise<string> {
  const paper = await newPaper();
  if (isEmpty(data)) return emptyChart(paper, data);
  const { plot, document } = paper;
  const bars = barsOf(data);
  const most = longest(bars);
  const sums = data.marks.map((_, mark) => data.series.reduce((sum, { values }) => sum + (values[mark] ?? 0), 0));
  const drawn = plot.plot({
    document,
    width: WIDTH,
    height: TOP + data.marks.length * ROW + BOTTOM,
    marginTop: TOP,
    marginBottom: BOTTOM,
    marginLeft: NAMES,
    marginRight: 60,
    className: 'chart',
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
      tickFormat: (mark: number) => cut(data.marks[mark] ?? ''),
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
  });
  return finished(paper, drawn as unknown as Drawn, data); // an element of the document that was handed in
}

/** The end of a long name says more than its middle: fields differ there. */
function cut(name: string): string {
  const text = printable(name);
  const letters = [...text];
  return letters.length <= MOST_LETTERS
    ? text
    : `${letters.slice(0, 20).join('')}…${letters.slice(-(MOST_LETTERS - 21)).join('')}`;
}
