/** Bar charts as plain SVG: upright bars along days or classes, lying bars of named things. The same data give the same bytes. */
import { printable } from '../../locales/message.ts';
import { type Content, type Html, html } from '../html.ts';

/** Default width; a page may show the chart smaller. Pixels, as all sizes here. */
const WIDTH = 720;
/** Big enough to be read where a page shows the chart smaller; of an average letter, because no text is measured. */
const [FONT_SIZE, LETTER] = [12, 7.2];
/** Of a line of the legend, of the line below it for what the numbers count, and of the names at the bottom. */
const [LEGEND_LINE, UNIT_LINE, BOTTOM] = [18, 34, 28];
/** Share of its place that a bar takes. */
const FILLED = 0.9;

/** What a part of a chart stands for; the class of the same name in `CHART_STYLE` gives it its colour. */
type Kind = 'legacy' | 'orders' | 'fault' | 'good' | 'waiting' | 'bad' | 'paper';

/** One colour of a chart. */
export interface Series {
  name: string;
  kind: Kind;
  /** One for each mark, none below 0. */
  values: readonly number[];
}

/** What is shown, in words of the reader's language: a chart has none of its own. */
export interface ChartData {
  /** What the chart is called; read aloud in place of the picture. */
  title: string;
  /** One sentence with what the picture shows, read aloud after the title; '' for none. */
  summary: string;
  /** Shown instead when there is no mark, or every value is 0. */
  none: string;
  /** What the numbers count. */
  unit: string;
  /** Names along the other axis, in their order; two may be the same. */
  marks: readonly string[];
  /** At the floor first. */
  series: readonly Series[];
  /** A number as readers of this language write it. */
  number: (value: number) => string;
}

/** SVG of one upright bar for each mark, the series stacked. At most 200 marks: more bars than pixels can't be told apart. */
export function stackedColumns(data: ChartData, width = WIDTH): Html {
  return columns(data, width, true);
}

/** SVG of upright bars, those of one mark side by side. At most 40 marks. */
export function groupedColumns(data: ChartData, width = WIDTH): Html {
  return columns(data, width, false);
}

const COLUMNS_HEIGHT = 240;
/** Room for numbers at the axis, and for half of the last name. */
const [LEFT, RIGHT] = [56, 24];
/** At most of a mark, so that one day alone is no block; and of a name of twelve letters with room beside it. */
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

/** Of a lying bar with the room around it, and of each line of the longest name. */
const [ROW, NAME_LINE] = [24, 15];
/** Between a name and its bar; to the right of the longest bar, for its sum; and from where on a chart is wide. */
const [NAME_GAP, SUM_ROOM, WIDE] = [6, 60, 480];

/**
 * SVG of one lying bar for each mark, the series one behind the other, and their sum. At most 40 marks.
 * A name that is too long for a line takes up to three; its title has it whole.
 */
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

/** Whether there is nothing to show. */
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

/** Bars without those of 0; `mark` and `nth` are positions in `marks` and `series`, the title is shown by the pointer. */
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

/** 0 and round whole numbers up to the largest value, so many steps at most: half a call is none. */
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

/** In as many lines as the width asks for. */
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

/** Of one name: an operation, and the two halves of a field's path, where the chart is narrow. */
const MOST_LINES = 3;
/** A name may be broken behind these. */
const PIECES = /[^ ._/-]*[ ._/-]|[^ ._/-]+/g;

/** Lines of at most so many letters, three of them at most; `…` stands for what is left out of its middle. */
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

/** The end of a long name says more than its middle: fields differ there. */
function cut(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = Math.floor(most / 2) - 1;
  return `${letters.slice(0, head).join('')}…${letters.slice(head + 1 - most).join('')}`;
}
