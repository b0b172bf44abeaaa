/** Bar charts as plain SVG: columns for days or classes, rows for names. Equal data give equal bytes. */
import { printable } from '../../locales/message.ts';
import { type Content, type Html, html } from '../html.ts';

/** Default width, in pixels like all sizes here; a page may show the chart smaller. */
const WIDTH = 720;
/** Readable where a page shows the chart smaller; `LETTER` is an average width, because no text is measured. */
const [FONT_SIZE, LETTER] = [12, 7.2];
/** Heights of a legend line, of the unit's line below it, and of the names at the bottom. */
const [LEGEND_LINE, UNIT_LINE, BOTTOM] = [18, 34, 28];
/** Share of its place that a bar fills. */
const FILLED = 0.9;

/** A class of `CHART_STYLE`, which gives the colour. */
type Kind = 'legacy' | 'orders' | 'fault' | 'good' | 'waiting' | 'bad' | 'paper';

export interface Series {
  name: string;
  kind: Kind;
  /** One for each mark; none is negative. */
  values: readonly number[];
}

/** All texts of a chart, in the reader's language. */
export interface ChartData {
  /** Screen readers read it instead of the picture. */
  title: string;
  /** One sentence, which screen readers read after the title; '' for none. */
  summary: string;
  /** Shown instead of a chart without values above 0. */
  none: string;
  /** What the numbers count. */
  unit: string;
  /** Names along the other axis, in order; duplicates are allowed. */
  marks: readonly string[];
  /** The lowest first. */
  series: readonly Series[];
  /** Writes a number in the reader's language. */
  number: (value: number) => string;
}

/** One column for each mark, the series stacked. At most 200 marks: more columns can't be told apart. */
export function stackedColumns(data: ChartData, width = WIDTH): Html {
  return columns(data, width, true);
}

/** The columns of one mark side by side. At most 40 marks. */
export function groupedColumns(data: ChartData, width = WIDTH): Html {
  return columns(data, width, false);
}

const COLUMNS_HEIGHT = 240;
/** Margins for the numbers of the axis, and for half of the last name. */
const [LEFT, RIGHT] = [56, 24];
/** `WIDEST_MARK` keeps a single day from filling the chart; `NAME_WIDTH` fits twelve letters and a gap. */
const [WIDEST_MARK, NAME_WIDTH] = [90, 94];

function columns(data: ChartData, width: number, is_stacked: boolean): Html {
  if (isEmpty(data)) return framed(`${data.title}. ${data.none}`, width, 40, text(0, 25, data.none));
  const { marks, series, number } = data;
  const legend = legendOf(series, width);
  const [top, floor] = [legend.height + UNIT_LINE, COLUMNS_HEIGHT - BOTTOM];
  const bars = barsOf(data, is_stacked);
  const most = Math.max(...bars.map(({ to }) => to));
  const step = Math.min(width - RIGHT - LEFT, marks.length * WIDEST_MARK) / marks.length;
  const [bar, gap] = [(step * FILLED) / (is_stacked ? 1 : series.length), (step * (1 - FILLED)) / 2];
  const yOf = (value: number): number => round(floor - (value / most) * (floor - top));
  const drawn = bars.map(({ mark, nth, from, to, kind, title }) => {
    const x = LEFT + mark * step + gap + (is_stacked ? 0 : nth * bar);
    return rect(kind, x, yOf(to), bar, yOf(from) - yOf(to), title);
  });
  const grid = ticksOf(most, 5).map((value) => line(LEFT, yOf(value), width - RIGHT, yOf(value)));
  const numbers = ticksOf(most, 5).map((value) => text(LEFT - 6, yOf(value) + 4, number(value)));
  const every = Math.ceil(marks.length / Math.floor((width - LEFT) / NAME_WIDTH));
  const names = marks.flatMap((name, mark) =>
    mark % every === 0 ? [text(LEFT + (mark + 0.5) * step, floor + 18, name)] : [],
  );
  return chart(data, width, COLUMNS_HEIGHT, legend, [
    group(grid),
    group(numbers, html` text-anchor="end" font-variant="tabular-nums"`),
    group(names, html` text-anchor="middle"`),
    group(drawn),
  ]);
}

/** Heights of a bar with its margins, and of a line of a name. */
const [ROW, NAME_LINE] = [24, 15];
/** Widths: between name and bar, for the sum right of the longest bar, and from which on a chart is wide. */
const [NAME_GAP, SUM_ROOM, WIDE] = [6, 60, 480];

/** One bar for each mark, the series end to end, and their sum. At most 40 marks. `title` has the whole name. */
export function stackedRows(data: ChartData, width = WIDTH): Html {
  if (isEmpty(data)) return framed(`${data.title}. ${data.none}`, width, 40, text(0, 25, data.none));
  const { marks, series, number } = data;
  const is_wide = width >= WIDE;
  const left = Math.round(width * (is_wide ? 0.4 : 0.5));
  const names = marks.map((mark) => nameLines(mark, Math.floor((left - NAME_GAP) / LETTER)));
  const row = Math.max(ROW, ...names.map(({ length }) => (length + 1) * NAME_LINE - NAME_GAP));
  const legend = legendOf(series, width);
  const top = legend.height + UNIT_LINE;
  const floor = top + marks.length * row;
  const bars = barsOf(data, true);
  const most = Math.max(...bars.map(({ to }) => to));
  const xOf = (value: number): number => round(left + (value / most) * (width - SUM_ROOM - left));
  const drawn = bars.map(({ mark, from, to, kind, title }) =>
    rect(kind, xOf(from), top + mark * row + (row * (1 - FILLED)) / 2, xOf(to) - xOf(from), row * FILLED, title),
  );
  const middle = (mark: number): number => top + (mark + 0.5) * row + 4;
  const sums = marks.map((_, mark) => {
    const sum = series.reduce((total, { values }) => total + (values[mark] ?? 0), 0);
    return text(xOf(sum) + 5, middle(mark), number(sum));
  });
  const titles = names.map((lines, mark) => {
    const first = middle(mark) - ((lines.length - 1) * NAME_LINE) / 2;
    const spans = lines.map(
      (one, nth) => html`<tspan x="${left - NAME_GAP}" y="${round(first + nth * NAME_LINE)}">${one}</tspan>`,
    );
    return html`<text>${spans}<title>${marks[mark] ?? ''}</title></text>`;
  });
  const ticks = ticksOf(most, is_wide ? 5 : 1);
  const grid = ticks.map((value) => line(xOf(value), top, xOf(value), floor));
  const numbers = ticks.map((value) => text(xOf(value), floor + 18, number(value)));
  return chart(data, width, floor + BOTTOM, legend, [
    group(grid),
    group(numbers, html` text-anchor="middle" font-variant="tabular-nums"`),
    group(titles, html` class="name" text-anchor="end"`),
    group(drawn),
    group(sums, html` class="sum"`),
  ]);
}

/** No value above 0, so there would be only axes. */
export function isEmpty({ series }: ChartData): boolean {
  return series.every(({ values }) => values.every((value) => value <= 0));
}

function chart(
  data: ChartData,
  width: number,
  height: number,
  legend: ReturnType<typeof legendOf>,
  parts: readonly Html[],
): Html {
  const unit = html`<text class="unit" x="0" y="${legend.height + 18}">${data.unit}</text>`;
  const name = `${data.title}. ${data.summary}`.trimEnd();
  return framed(name, width, height, [parts, unit, legend.drawn]);
}

function framed(name: string, width: number, height: number, inside: Content): Html {
  const size = html`viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  const font = html`font-family="system-ui, sans-serif" font-size="${FONT_SIZE}" fill="currentColor"`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" class="chart" ${size} ${font} role="img" aria-label="${name}">${inside}</svg>`;
}

/** Bars above 0; `mark` and `nth` are indexes in `marks` and `series`. Browsers show `title` at the pointer. */
function barsOf({ marks, series, number }: ChartData, is_stacked: boolean) {
  const floors = marks.map(() => 0);
  return series.flatMap(({ name, kind, values }, nth) =>
    marks.flatMap((label, mark) => {
      const value = values[mark] ?? 0;
      if (value <= 0) return [];
      const from = is_stacked ? (floors[mark] ?? 0) : 0;
      floors[mark] = from + value;
      return [{ mark, nth, kind, from, to: from + value, title: `${label}, ${name}: ${number(value)}` }];
    }),
  );
}

/** 0 and round whole numbers up to `most`, because there is no half call; at most `steps` of them. */
function ticksOf(most: number, steps: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most));
  const round_steps = [power / 10, power / 5, power / 2, power, power * 2, power * 5, power * 10].map((one) =>
    Math.max(1, one),
  );
  const step =
    steps === 1 ? round_steps.findLast((one) => one <= most) : round_steps.find((one) => most / one <= steps);
  const size = step ?? 1;
  return Array.from({ length: Math.floor(most / size) + 1 }, (_, nth) => nth * size);
}

/** Wraps at the width. */
function legendOf(series: readonly Series[], width: number): { drawn: Html; height: number } {
  const parts: Html[] = [];
  let [x, y] = [0, 0];
  for (const { name, kind } of series) {
    const size = Math.ceil(16 + [...name].length * LETTER);
    if (x > 0 && x + size > width) [x, y] = [0, y + LEGEND_LINE];
    parts.push(html`<rect class="${kind}" x="${x}" y="${y + 4}" width="11" height="11"/>`, text(x + 16, y + 14, name));
    x += size + 18;
  }
  return { drawn: group(parts, html` class="legend"`), height: y + LEGEND_LINE };
}

function group(parts: readonly Html[], attributes: Content = null): Html {
  return html`<g${attributes}>${parts}</g>`;
}

function rect(kind: Kind, x: number, y: number, width: number, height: number, title: string): Html {
  const place = html`x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  return html`<rect class="${kind}" ${place}><title>${title}</title></rect>`;
}

function line(x1: number, y1: number, x2: number, y2: number): Html {
  return html`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="currentColor" stroke-opacity="0.15"/>`;
}

function text(x: number, y: number, content: string): Html {
  return html`<text x="${round(x)}" y="${round(y)}">${content}</text>`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Of one name: on a narrow chart the operation, and two halves of a field's path. */
const MOST_LINES = 3;
/** A name may be broken after each piece. */
const PIECES = /[^ ._/-]*[ ._/-]|[^ ._/-]+/g;

/** At most `MOST_LINES` lines of `most` letters; `…` replaces what is left out of the middle. */
export function nameLines(name: string, most: number): string[] {
  const lines: string[] = [];
  for (const piece of printable(name).match(PIECES) ?? []) {
    const last = lines.pop() ?? '';
    if (last === '' || [...(last + piece).trimEnd()].length <= most) lines.push(last + piece);
    else lines.push(last, piece);
  }
  const [first = '', ...rest] = lines.map((line) => line.trimEnd());
  if (rest.length < MOST_LINES) return [first, ...rest].map((line) => cut(line, most));
  const [second = '', ...end] = rest.slice(1 - MOST_LINES);
  return [cut(first, most), `…${[...second].slice(1 - most).join('')}`, ...end.map((line) => cut(line, most))];
}

/** Cuts the middle of a long name, because field names differ at the end. */
function cut(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = Math.floor(most / 2) - 1;
  return `${letters.slice(0, head).join('')}…${letters.slice(head + 1 - most).join('')}`;
}
