/** Long names beside narrow bars: broken at word joints, inside the picture, and whole in the title. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTables } from '../../../src/mapping/load.ts';
import { CHART_STYLE } from '../../../src/ops/charts/charts.ts';
import { type ChartData, nameLines, stackedRows } from '../../../src/ops/charts/svg.ts';
import { browser, hasChromium } from '../../chromium.ts';
import { openForAll } from '../../open.ts';
import { HOUSE } from '../../run-cli.ts';

const tables = loadTables(join(HOUSE, 'mappings'));
/** Every field that a table may lose, as charts name it. */
const fields = tables.operations.flatMap((operation) =>
  tables.fields(operation, null).map(({ field }) => `${operation.name} ${field}`),
);
const longest = fields.toSorted((one, other) => other.length - one.length).slice(0, 8);
const marks = [
  ...longest,
  'point.create_intent body.a_field.with_more.joints_than.any_of.ours',
  'fieldwithoutjoint'.repeat(5),
];

describe('a name', () => {
  it.each([
    ['payment', 20, ['payment']],
    ['point.create_intent body.amount', 40, ['point.create_intent body.amount']],
    ['point.create_intent body.amount', 20, ['point.create_intent', 'body.amount']],
    ['qr.put_order body.items[].picture_url', 20, ['qr.put_order body.', 'items[].picture_url']],
    ['a.bb.ccc.dddd.eeeee.ffffff', 6, ['a.bb.', '…eeee.', 'ffffff']],
    ['0123456789', 6, ['01…789']],
    ['', 6, ['']],
    ['a\u0000b', 6, ['a\ufffdb']],
  ])('%j in lines of %i letters', (name, most, lines) => {
    expect(nameLines(name, most)).toEqual(lines);
  });

  it('of every field of the tables is whole in a chart of 360 pixels', () => {
    expect(fields.length).toBeGreaterThan(300);
    for (const name of fields) expect(nameLines(name, 24).join('').replaceAll(' ', '')).toBe(name.replaceAll(' ', ''));
  });
});

describe.skipIf(!hasChromium)('in Chromium', () => {
  const page = openForAll(async () => (await browser()).newPage());

  it.each([300, 360, 720])(
    'names at %i pixels stand within the picture and apart, each with its title',
    async (width) => {
      const data: ChartData = {
        ...{ title: 'Losses', summary: '', none: 'none', unit: 'calls', number: (value) => value.toLocaleString('en') },
        marks,
        series: [{ name: 'lost', kind: 'bad', values: marks.map((_, nth) => 1_000_000 * (nth + 1)) }],
      };
      await page.setViewportSize({ width, height: 800 });
      const svg = stackedRows(data, width);
      await page.setContent(`<style>body { margin: 0; font-family: system-ui } ${CHART_STYLE}</style>${svg}`);
      const names = (await page.evaluate(NAMES)) as { title: string; shown: string; box: Box }[]; // the script's result
      expect(names.map(({ title }) => title)).toEqual(marks);
      for (const [nth, { title, shown, box }] of names.entries()) {
        expect([title, box.left >= 0, box.right <= width / 2]).toEqual([title, true, true]);
        expect([title, box.top >= (names[nth - 1]?.box.bottom ?? 0)]).toEqual([title, true]);
        const [begin = '', end = begin] = shown.replaceAll(' ', '').split('…');
        const whole = title.replaceAll(' ', '');
        expect([title, whole.startsWith(begin), whole.endsWith(end)]).toEqual([title, true, true]);
      }
      const axis = (await page.evaluate(AXIS)) as Box[]; // shape of the script's result
      expect(axis.length).toBeGreaterThan(1);
      for (const [nth, { left, right }] of axis.entries())
        expect([right <= width, left > (axis[nth - 1]?.right ?? 0)]).toEqual([true, true]);
    },
  );
});

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const BOX = '(({ left, right, top, bottom }) => ({ left, right, top, bottom }))(one.getBoundingClientRect())';
const NAMES = `[...document.querySelectorAll('g.name > text')].map((one) => {
  const title = one.querySelector('title').textContent;
  return { title, shown: one.textContent.replace(title, ''), box: ${BOX} };
})`;
const AXIS = `[...document.querySelectorAll('g[font-variant] > text')].map((one) => ${BOX})`;
