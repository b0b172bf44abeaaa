/** Upright bars along something that has an order: days, or classes of waits. */
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

const HEIGHT = 240;
/** Names that stand beside one another without touching, of ten letters each. */
const MOST_NAMES = 8;

/**
 * SVG of one bar for each mark, with the series one on top of the other; the same data give the same bytes.
 * At most 200 marks: more bars than pixels can't be told apart.
 */
export async function stackedColumns(data: ChartData): Promise<string> {
  const paper = await newPaper();
  if (isEmpty(data)) return emptyChart(paper, data);
  const { plot, document } = paper;
  const bars = barsOf(data);
  const drawn = plot.plot({
    ...frame(data, longest(bars)),
    document,
    x: {
      type: 'band',
      domain: data.marks.map((_, mark) => mark),
      label: null,
      ticks: someOf(data),
      tickFormat: nameOf(data),
    },
    marks: bars.map((of_one, index) =>
      plot.barY(of_one, { x: 'mark', y1: 'from', y2: 'to', title: 'title', className: data.series[index]?.kind ?? '' }),
    ),
  });
  return finished(paper, drawn as unknown as Drawn, data); // an element of the document that was handed in
}

/** SVG of one bar for each series beside one another, at each mark. At most 40 marks. */
export async function groupedColumns(data: ChartData): Promise<string> {
  const paper = await newPaper();
  if (isEmpty(data)) return emptyChart(paper, data);
  const { plot, document } = paper;
  const bars = barsOf(data, false);
  const drawn = plot.plot({
    ...frame(data, longest(bars)),
    document,
    fx: { domain: data.marks.map((_, mark) => mark), label: null, ticks: someOf(data), tickFormat: nameOf(data) },
    x: { axis: null, domain: data.series.map(({ name }) => name) },
    marks: bars.map((of_one, index) =>
      plot.barY(of_one, {
        fx: 'mark',
        x: 'series',
        y: 'value',
        title: 'title',
        className: data.series[index]?.kind ?? '',
      }),
    ),
  });
  return finished(paper, drawn as unknown as Drawn, data); // an element of the document that was handed in
}

function frame({ number }: ChartData, most: number) {
  return {
    width: WIDTH,
    height: HEIGHT,
    marginTop: TOP,
    marginLeft: 56,
    marginRight: 8,
    className: 'chart',
    y: {
      domain: [0, most],
      ticks: lines(most),
      tickFormat: number,
      grid: true,
      label: null,
    },
  };
}

function nameOf({ marks }: ChartData): (mark: number) => string {
  return (mark) => printable(marks[mark] ?? '');
}

/** Every n-th mark, the first one with it. */
function someOf({ marks }: ChartData): number[] {
  const step = Math.ceil(marks.length / MOST_NAMES);
  return marks.flatMap((_, mark) => (mark % step === 0 ? [mark] : []));
}
