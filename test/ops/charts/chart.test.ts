/** Charts against their data: bar lengths, the text of an empty chart, and hostile labels from tills. */
import { describe, expect, it } from 'vitest';
import { type ChartData, groupedColumns, stackedColumns, stackedRows } from '../../../src/ops/charts/svg.ts';

const data: ChartData = {
  title: 'Calls',
  summary: 'By lane.',
  none: 'No calls.',
  unit: 'calls',
  number: String,
  marks: ['Monday', 'Tuesday', 'Tuesday'],
  series: [
    { name: 'legacy', kind: 'legacy', values: [30, 20, 0] },
    { name: 'orders', kind: 'orders', values: [10, 20, 50] },
  ],
};
const draw = {
  stackedColumns: (data: ChartData, width?: number) => String(stackedColumns(data, width)),
  groupedColumns: (data: ChartData, width?: number) => String(groupedColumns(data, width)),
  stackedRows: (data: ChartData, width?: number) => String(stackedRows(data, width)),
};
const forms = Object.keys(draw) as (keyof typeof draw)[];

interface Rect {
  title: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

function rectsOf(svg: string): Rect[] {
  return [...svg.matchAll(/<rect ([^>]*)><title>([^<]*)<\/title><\/rect>/g)].map(([, attributes = '', title = '']) => {
    const of = (name: string): number => Number(new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1]);
    return { title, x: of('x'), y: of('y'), width: of('width'), height: of('height') };
  });
}

function rectOf(rects: readonly Rect[], title: string): Rect {
  const found = rects.find((rect) => rect.title === title);
  if (found === undefined) throw new Error(`no bar ${title}`);
  return found;
}

describe('bars', () => {
  it('of stacked columns are as high as their values, one on top of the other, and none of 0', () => {
    const rects = rectsOf(draw.stackedColumns(data));
    expect(rects).toHaveLength(5);
    const [low, high] = [rectOf(rects, 'Monday, legacy: 30'), rectOf(rects, 'Monday, orders: 10')];
    const full = rectOf(rects, 'Tuesday, orders: 50');
    expect(low.height / full.height).toBeCloseTo(30 / 50);
    expect(high.height / full.height).toBeCloseTo(10 / 50);
    expect(high.y + high.height).toBeCloseTo(low.y);
    expect(high.x).toBe(low.x);
    expect(low.y + low.height).toBeCloseTo(full.y + full.height);
  });

  it('of grouped columns stand beside one another on one floor', () => {
    const rects = rectsOf(draw.groupedColumns(data));
    const [one, other] = [rectOf(rects, 'Monday, legacy: 30'), rectOf(rects, 'Monday, orders: 10')];
    expect(other.height / one.height).toBeCloseTo(1 / 3);
    expect(other.y + other.height).toBeCloseTo(one.y + one.height);
    expect(other.x).toBeGreaterThanOrEqual(one.x + one.width);
  });

  it('of grouped columns have one axis, also where a mark has no value at all', () => {
    const series = [
      { name: 'legacy', kind: 'legacy' as const, values: [4, 0, 1] },
      { name: 'orders', kind: 'orders' as const, values: [2, 0, 3] },
    ];
    const svg = draw.groupedColumns({ ...data, series });
    expect(svg.match(/>4<\/text>/g)).toHaveLength(1);
    expect(svg.match(/>Tuesday<\/text>/g)).toHaveLength(2);
  });

  it('of rows are as long as their values, one behind the other, with the sum at their end', () => {
    const svg = draw.stackedRows(data);
    const rects = rectsOf(svg);
    const [first, second] = [rectOf(rects, 'Monday, legacy: 30'), rectOf(rects, 'Monday, orders: 10')];
    expect(second.width / first.width).toBeCloseTo(1 / 3);
    expect(second.x).toBeCloseTo(first.x + first.width);
    expect(second.y).toBe(first.y);
    expect(svg.match(/<g class="sum"[\s\S]*?<\/g>|<g[^>]*class="sum"[\s\S]*?<\/g>/)?.[0].match(/>\d+</g)).toEqual([
      '>40<',
      '>40<',
      '>50<',
    ]);
  });

  it('of two marks with the same name are two', () => {
    const rects = rectsOf(draw.stackedColumns(data));
    expect(new Set(rects.map(({ x }) => x)).size).toBe(3);
  });

  it.each([1, 2, 3, 120])('%i marks: a name for some, never too many, and lines at whole numbers alone', (count) => {
    const marks = Array.from({ length: count }, (_, nth) => `day ${nth}`);
    const svg = draw.stackedColumns({
      ...data,
      marks,
      series: [{ name: 'a', kind: 'good', values: marks.map(() => 2) }],
    });
    const names = svg.match(/>day \d+</g) ?? [];
    expect(names[0]).toBe('>day 0<');
    expect(names.length).toBeLessThan(10);
    expect(svg.match(/>\d+(\.\d+)?</g)).toEqual(['>0<', '>1<', '>2<']);
  });
});

describe.each(forms)('%s', (form) => {
  it('without data says so, in sight and in its name', () => {
    for (const empty of [
      { ...data, marks: [], series: [] },
      { ...data, series: data.series.map((one) => ({ ...one, values: [0, 0, 0] })) },
    ]) {
      const svg = draw[form](empty);
      expect(svg).toContain('>No calls.</text>');
      expect(svg).toContain('aria-label="Calls. No calls."');
      expect(svg).not.toContain('<rect');
    }
  });

  it('of the same data is the same text, with a name and a legend', () => {
    const svg = draw[form](data);
    expect(draw[form]({ ...data, series: structuredClone(data.series) })).toBe(svg);
    expect(svg).toContain('role="img"');
    expect(svg).toContain('aria-label="Calls. By lane."');
    expect(svg).toMatch(/>legacy<\/text>[\s\S]*>orders<\/text><\/g><\/svg>$/);
  });

  it('a chart has no style, script or address in it, whatever the field names of tills are [F126]', () => {
    const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>\0\u001b[2J\ud800\uffff\u00a0&nbsp;]]>';
    const svg = draw[form]({
      ...data,
      title: evil,
      summary: evil,
      unit: evil,
      marks: [evil, evil, evil],
      series: data.series.map((one) => ({ ...one, name: evil })),
    });
    const tags = svg.replace(/"[^"]*"/g, '""').match(/<[^>]*>/g) ?? [];
    const names = new Set(tags.map((tag) => /^<\/?([a-z]+)/.exec(tag)?.[1]));
    expect(
      [...names].filter((name) => !['svg', 'g', 'path', 'line', 'rect', 'text', 'tspan', 'title'].includes(name ?? '')),
    ).toEqual([]);
    expect(tags.filter((tag) => /\s(style|href|src|on\w+)=/.test(tag))).toEqual([]);
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/url\(|https?:/);
    expect(svg.isWellFormed() && !/[^\P{Cc}\t\r\n]|&nbsp;|\uffff/u.test(svg.replaceAll('&amp;nbsp;', ''))).toBe(true);
  });
});

it('columns of a single mark are no block: a bar is at most so wide, and the legend takes as many lines as it needs', () => {
  const series = data.series.map((one) => ({ ...one, name: `${one.name} with a name that is long`, values: [3] }));
  for (const form of ['stackedColumns', 'groupedColumns'] as const) {
    const rects = rectsOf(draw[form]({ ...data, marks: ['Monday'], series }));
    expect([form, rects.every(({ width }) => width <= 90)]).toEqual([form, true]);
  }
  const linesOf = (width: number): number => {
    const [, legend = ''] = draw.stackedColumns({ ...data, series }, width).split('class="legend"');
    return new Set([...legend.matchAll(/<rect [^>]*y="(\d+)"/g)].map(([, y]) => y)).size;
  };
  expect([linesOf(700), linesOf(300)]).toEqual([1, 2]);
});
