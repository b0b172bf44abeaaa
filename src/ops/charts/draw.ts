/**
 * What every chart has in common: its words, a frame with a name for those who can't see it, and a document to draw into.
 * Observable Plot draws, into a document of linkedom; both are loaded with the first chart, so that no start waits for them.
 */
import type { PlotOptions } from '@observablehq/plot';
import { printable } from '../../locales/says.ts';

/** Width of a chart where nobody asks for another; the page may show it smaller. Pixels, as all sizes here. */
export const WIDTH = 720;
/** Of a line of the legend, above the plot. */
const LEGEND_LINE = 18;
/** Below the legend: a line for what the numbers count. */
const UNIT_LINE = 34;
/** Of letters, so that they can be read where a page shows the chart smaller. */
const LETTERS_HEIGHT = 12;

/** What a part of a chart stands for; a class of the same name in `style.ts` gives it its colour. */
export type Kind = 'legacy' | 'orders' | 'fault' | 'good' | 'waiting' | 'bad' | 'paper';

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
  /** Shown in its place when there is no mark, or every value is 0. */
  none: string;
  /** What the numbers count, at their axis. */
  unit: string;
  /** Names along the other axis, in their order; two may be the same. */
  marks: readonly string[];
  /** At the floor first. */
  series: readonly Series[];
  /** A number as readers of this language write it. */
  number: (value: number) => string;
}

/** One bar or part of a bar. */
export interface Bar {
  /** Position in `marks`. */
  mark: number;
  series: string;
  value: number;
  /** Where it begins and ends, stacked on those of the series before it. */
  from: number;
  to: number;
  /** Shown by the pointer: mark, series and value. */
  title: string;
}

/** A chart's element of the loaded document; the little of it that is needed, as Node's types have no documents. */
export interface Drawn {
  outerHTML: string;
  textContent: string;
  append(...children: Drawn[]): void;
  remove(): void;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelectorAll(selector: string): Iterable<Drawn>;
}

type Plot = typeof import('@observablehq/plot');

interface Paper {
  plot: Plot;
  document: { createElementNS(namespace: string, name: string): Drawn };
  element(name: string, attributes: Readonly<Record<string, string | number>>, text?: string): Drawn;
}

/** What a form of chart is given to lay its bars out. */
export interface Space {
  plot: Plot;
  width: number;
  /** Where the plot begins: above it stands the legend. */
  top: number;
  /** Of each series, in their order. */
  bars: Bar[][];
  /** The longest bar. */
  most: number;
}

/**
 * SVG text of a chart; the same data give the same bytes.
 * @param stacked false: bars of a mark stand beside one another, and all begin at the floor.
 * @param form how its bars are laid out: the options of Plot beside the frame.
 */
export async function drawnChart(
  data: ChartData,
  width: number,
  stacked: boolean,
  form: (space: Space) => PlotOptions,
): Promise<string> {
  const paper = await newPaper();
  if (isEmpty(data)) return emptyChart(paper, data, width);
  const bars = barsOf(data, stacked);
  const legend = legendOf(paper.element, data.series, width);
  const top = legend.height + UNIT_LINE;
  const frame = { document: paper.document, className: 'chart', width, marginTop: top };
  const options = form({ plot: paper.plot, width, top, bars, most: longest(bars) });
  // An element of the document that was handed in.
  const drawn = paper.plot.plot({ ...frame, ...options } as PlotOptions) as unknown as Drawn;
  return finished(paper, drawn, legend, data);
}

const NAMESPACE = 'http://www.w3.org/2000/svg';

/** An empty document of the kind that is written as XML, so that whatever a label holds the chart is well-formed. */
async function newPaper(): Promise<Paper> {
  const [plot, { DOMParser }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const document = new DOMParser().parseFromString(
    `<svg xmlns="${NAMESPACE}"/>`,
    'image/svg+xml',
  ) as unknown as Paper['document']; // what is used of it
  return {
    plot,
    document,
    element(name, attributes, text) {
      const made = document.createElementNS(NAMESPACE, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
      if (text !== undefined) made.textContent = printable(text);
      return made;
    },
  };
}

/** The finished text: without the library's style sheet, which a strict policy refuses, with a name and a legend. */
function finished({ element }: Paper, drawn: Drawn, legend: Legend, data: ChartData): string {
  for (const style of drawn.querySelectorAll('style')) style.remove();
  for (const part of drawn.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label');
  for (const part of drawn.querySelectorAll('[aria-hidden]')) part.removeAttribute('aria-hidden');
  drawn.setAttribute('font-size', String(LETTERS_HEIGHT));
  drawn.append(element('text', { class: 'unit', 'text-anchor': 'start', x: 0, y: legend.height + 18 }, data.unit));
  drawn.append(legend.drawn);
  return framed(drawn, `${data.title}. ${data.summary}`.trimEnd());
}

/** A frame of one line with the sentence that there is nothing to show. */
function emptyChart({ element }: Paper, { title, none }: ChartData, width: number): string {
  const drawn = element('svg', { class: 'chart', viewBox: `0 0 ${width} 40`, width, height: 40 });
  drawn.setAttribute('font-family', 'system-ui, sans-serif');
  drawn.append(element('text', { x: 0, y: 25, 'font-size': LETTERS_HEIGHT, fill: 'currentColor' }, none));
  return framed(drawn, `${title}. ${none}`);
}

/** Whether there is nothing to show. */
export function isEmpty({ series }: ChartData): boolean {
  return series.every(({ values }) => values.every((value) => value <= 0));
}

/**
 * Bars of each series, one on top of the other, without those of 0; `stacked` false: all from the floor, those of 0 too,
 * because Plot leaves out the place of a mark that has none.
 */
function barsOf({ marks, series, number }: ChartData, stacked: boolean): Bar[][] {
  const floors = marks.map(() => 0);
  return series.map(({ name, values }) =>
    marks.flatMap((label, mark) => {
      const value = values[mark] ?? 0;
      if (stacked && value <= 0) return [];
      const from = stacked ? (floors[mark] ?? 0) : 0;
      floors[mark] = from + value;
      const title = printable(`${label}, ${name}: ${number(value)}`);
      return [{ mark, series: name, value, from, to: from + value, title }];
    }),
  );
}

/** Longest bar, of all series together. */
function longest(bars: readonly (readonly Bar[])[]): number {
  return Math.max(...bars.flat().map(({ to }) => to));
}

/** Whole numbers alone have a line: half a call is none. */
export function lines(most: number): number {
  return Math.max(1, Math.min(5, Math.floor(most)));
}

function framed(drawn: Drawn, name: string): string {
  drawn.setAttribute('xmlns', NAMESPACE);
  drawn.setAttribute('role', 'img');
  drawn.setAttribute('aria-label', printable(name));
  return drawn.outerHTML;
}

interface Legend {
  drawn: Drawn;
  height: number;
}

/** Pixels of an average letter of the legend; no text is measured, so that every machine draws the same. */
const LETTER = 7;

/** In as many lines as the width asks for. */
function legendOf(element: Paper['element'], series: readonly Series[], width: number): Legend {
  const drawn = element('g', { class: 'legend', 'text-anchor': 'start' });
  let x = 0;
  let y = 0;
  for (const { name, kind } of series) {
    const size = 16 + name.length * LETTER + 18;
    if (x > 0 && x + size - 18 > width) {
      x = 0;
      y += LEGEND_LINE;
    }
    drawn.append(element('rect', { class: kind, x, y: y + 4, width: 11, height: 11 }));
    drawn.append(element('text', { x: x + 16, y: y + 14 }, name));
    x += size;
  }
  return { drawn, height: y + LEGEND_LINE };
}
