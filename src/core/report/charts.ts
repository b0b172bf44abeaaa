/** The charts of a report, as SVG that stands in the page; the table beside each says the same in numbers. */
import type { DayLine, LatencyLine } from './report.ts';
import { escaped } from './tags.ts';

const WIDTH = 720;
const HEIGHT = 160;
const LEFT = 56;
const BOTTOM = 22;
const TOP = 18;
/** More bars than pixels could not be told apart; then days are put together. */
const MOST_BARS = 120;

/** Calls a day by lane, stacked, with faults on orders in front; '' without days. */
export function dayChart(days: readonly DayLine[]): string {
  if (days.length === 0) return '';
  const bars = together(days);
  const top = Math.max(1, ...bars.map(({ legacy, orders }) => legacy + orders));
  const step = (WIDTH - LEFT) / bars.length;
  const height = (calls: number): number => (calls / top) * (HEIGHT - BOTTOM - TOP);
  const drawn = bars.map(({ day, legacy, orders, faults }, index) => {
    const x = LEFT + index * step;
    const width = Math.max(1, step - 1);
    const floor = HEIGHT - BOTTOM;
    return [
      `<g><title>${escaped(day)}: ${legacy} on legacy, ${orders} on orders, ${faults} faults</title>`,
      bar('legacy', x, floor - height(legacy), width, height(legacy)),
      bar('orders', x, floor - height(legacy) - height(orders), width, height(orders)),
      bar('fault', x, floor - height(legacy) - height(faults), width, height(faults)),
      '</g>',
    ].join('');
  });
  const first = bars[0]?.day ?? '';
  const last = bars.at(-1)?.day ?? '';
  const label = `Calls a day from ${first} to ${last}, at most ${top}: legacy, orders, and faults on orders`;
  return chart(label, [
    ...drawn,
    legend(['legacy', 'orders', 'fault']),
    text(LEFT, HEIGHT - 6, first),
    text(WIDTH, HEIGHT - 6, last, 'end'),
    text(LEFT - 4, TOP + 8, String(top), 'end'),
  ]);
}

/** Half, 95 % and 99 % of the waits, by lane; '' without any. */
export function latencyChart(latency: readonly LatencyLine[]): string {
  const lanes = latency.filter(({ operation }) => operation === 'all');
  if (lanes.length === 0) return '';
  const top = Math.max(1, ...lanes.map(({ p99_ms }) => p99_ms));
  const rows = lanes.flatMap((line) => [
    { name: `${line.lane}, half`, lane: line.lane, ms: line.p50_ms },
    { name: `${line.lane}, 95 %`, lane: line.lane, ms: line.p95_ms },
    { name: `${line.lane}, 99 %`, lane: line.lane, ms: line.p99_ms },
  ]);
  const left = 90;
  const row_height = 20;
  const height = TOP + rows.length * row_height + 6;
  const drawn = rows.map(({ name, lane, ms }, index) => {
    const y = TOP + index * row_height;
    const width = (ms / top) * (WIDTH - left - 70);
    return `${text(left - 6, y + 12, name, 'end')}${bar(lane, left, y, width, row_height - 5)}${text(left + width + 5, y + 12, `${ms} ms`)}`;
  });
  return chart('What tills waited, by lane', drawn, height);
}

/** Neighbouring days in one bar, where there are more days than bars. */
function together(days: readonly DayLine[]): DayLine[] {
  const size = Math.ceil(days.length / MOST_BARS);
  const bars: DayLine[] = [];
  for (let index = 0; index < days.length; index += size) {
    const part = days.slice(index, index + size);
    const sum = (value: (day: DayLine) => number): number => part.reduce((total, day) => total + value(day), 0);
    bars.push({
      day: part[0]?.day ?? '',
      legacy: sum(({ legacy }) => legacy),
      orders: sum(({ orders }) => orders),
      faults: sum(({ faults }) => faults),
    });
  }
  return bars;
}

function chart(label: string, parts: readonly string[], height = HEIGHT): string {
  return `<svg role="img" aria-label="${escaped(label)}" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">${parts.join('')}</svg>`;
}

function bar(name: string, x: number, y: number, width: number, height: number): string {
  if (height <= 0 || width <= 0) return '';
  return `<rect class="${name}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"/>`;
}

function legend(names: readonly string[]): string {
  return names
    .map((name, index) => bar(name, LEFT + index * 80, 2, 10, 10) + text(LEFT + 14 + index * 80, 11, name))
    .join('');
}

function text(x: number, y: number, words: string, anchor = 'start'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
