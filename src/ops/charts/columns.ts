/** Upright bars along something that has an order: days, or classes of waits. */

import { printable } from '../../locales/says.ts';
import { type ChartData, drawnChart, lines, type Space, WIDTH } from './draw.ts';

const HEIGHT = 240;
/** Room for numbers at the axis. */
const LEFT = 56;
const RIGHT = 24;
/** Of a mark: one day alone is no block. */
const WIDEST = 90;
/** Pixels of a name of twelve letters, and some beside it, so that no two touch. */
const NAME = 94;

/**
 * SVG of one bar for each mark, with the series one on top of the other.
 * At most 200 marks: more bars than pixels can't be told apart.
 */
export function stackedColumns(data: ChartData, width = WIDTH): Promise<string> {
  return drawnChart(data, width, true, (space) => ({
    ...frame(data, space),
    x: {
      type: 'band',
      domain: data.marks.map((_, mark) => mark),
      range: rangeOf(data, width),
      label: null,
      ticks: someOf(data, width),
      tickFormat: nameOf(data),
    },
    marks: space.bars.map((of_one, index) =>
      space.plot.barY(of_one, { x: 'mark', y1: 'from', y2: 'to', title: 'title', className: classOf(data, index) }),
    ),
  }));
}

/** SVG of one bar for each series beside one another, at each mark. At most 40 marks. */
export function groupedColumns(data: ChartData, width = WIDTH): Promise<string> {
  return drawnChart(data, width, false, (space) => ({
    ...frame(data, space),
    fx: {
      domain: data.marks.map((_, mark) => mark),
      range: rangeOf(data, width),
      label: null,
      ticks: someOf(data, width),
      tickFormat: nameOf(data),
    },
    x: { axis: null, domain: data.series.map(({ name }) => name) },
    marks: space.bars.map((of_one, index) =>
      space.plot.barY(of_one, {
        fx: 'mark',
        x: 'series',
        y: 'value',
        title: 'title',
        className: classOf(data, index),
      }),
    ),
  }));
}

function frame({ number }: ChartData, { most }: Space) {
  return {
    height: HEIGHT,
    marginLeft: LEFT,
    marginRight: RIGHT,
    y: {
      domain: [0, most],
      ticks: lines(most),
      tickFormat: number,
      grid: true,
      label: null,
    },
  };
}

/** From the axis to the right as far as the marks need it. */
function rangeOf({ marks }: ChartData, width: number): [number, number] {
  return [LEFT, Math.min(width - RIGHT, LEFT + marks.length * WIDEST)];
}

function classOf({ series }: ChartData, index: number): string {
  return series[index]?.kind ?? '';
}

function nameOf({ marks }: ChartData): (mark: number) => string {
  return (mark) => printable(marks[mark] ?? '');
}

/** Every n-th mark, the first one with it. */
function someOf({ marks }: ChartData, width: number): number[] {
  const most = Math.floor((width - LEFT) / NAME);
  const step = Math.ceil(marks.length / most);
  return marks.flatMap((_, mark) => (mark % step === 0 ? [mark] : []));
}
