/** The report's HTML file in a real Chromium: opened from disk with the network off, inspected, and printed. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadWords } from '../../../src/locales/words.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import { reportHtml } from '../../../src/ops/report/html.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import { browser, hasChromium, seriousFindings } from '../../chromium.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { newExchange, newLoss } from '../../store/contract/evidence-kit.ts';
import { DAY_MS, finished, MERCHANT, NOON, newNotice } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

/** A4 landscape without margins, in CSS pixels. */
const PAPER = { width: 1032, height: 703 };

const LONG = 'additional_info.external_reference';

/** Three days: 9 calls on legacy; 4 and 2; 1 and 6, two of them faults. */
async function reportOfThreeDays(): Promise<Report> {
  const harness = await openHarness();
  try {
    const { store } = harness;
    const calls = (count: number, days: number, change: Parameters<typeof newExchange>[0]) =>
      Array.from({ length: count }, (_, nth) => newExchange({ at: NOON - days * DAY_MS - nth, ...change }));
    const lost = [newLoss({ path: '</text><script>alert(1)</script>', would_be: true })];
    await store.exchanges.recordExchanges([
      ...calls(9, 2, { duration_ms: 12 }),
      ...calls(4, 1, { duration_ms: 30, lost }),
      ...calls(2, 1, { lane: 'orders', duration_ms: 40, lost: [newLoss({ path: LONG, would_be: false })] }),
      ...calls(1, 0, { duration_ms: 300 }),
      ...calls(4, 0, { lane: 'orders', duration_ms: 100 }),
      ...calls(2, 0, { lane: 'orders', duration_ms: 900, outcome: 'fault', status: 500 }),
    ]);
    const link = await finished(store);
    const made = [
      newNotice(link, 'first', { created_at: NOON - DAY_MS }),
      newNotice(link, 'second', { created_at: NOON, subject: '2' }),
    ];
    await store.links.saveLink(link, {}, { notices: made });
    const ports = portsAt(store, () => NOON);
    const ask = { merchant_id: MERCHANT, since: NOON - 3 * DAY_MS, until: NOON + 1 };
    return await gatherReport(ports, ask, { assumptions: [], notice_agent: 'Puente' });
  } finally {
    await harness.dispose();
  }
}

describe.skipIf(!hasChromium)('a report opened from disk with the network off', () => {
  const directory = mkdtempSync(join(tmpdir(), 'puente-report-'));
  const problems: string[] = [];
  const asked: string[] = [];
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    const file = join(directory, 'report.html');
    writeFileSync(file, await reportHtml(await reportOfThreeDays(), loadWords().en));
    context = await (await browser()).newContext({ offline: true });
    page = await context.newPage();
    page.on('console', (message) => problems.push(message.text()));
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    expect(asked.splice(0)).toEqual([pathToFileURL(file).href]);
  });
  afterAll(() => context?.close());

  it('asks for nothing, breaks no policy, and axe-core finds nothing serious', async () => {
    expect(problems).toEqual([]);
    expect(await seriousFindings(page)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('shows each chart with its name, well-formed, and coloured', async () => {
    const charts = page.locator('svg[role=img]:visible');
    const names = await charts.evaluateAll((found: Svg[]) => found.map((one) => one.getAttribute('aria-label') ?? ''));
    expect(names).toEqual([
      'Delivery of notices by topic. 0 of 2 are delivered.',
      'Delivery of notices. 0 of 2 are delivered.',
      'Readiness. On 2026-01-05: 0 ready, 1 inconclusive, 0 blocked.',
      'Traffic by lane. 14 on legacy, 8 on orders, of which 2 faults, from 2026-01-03 to 2026-01-05.',
      'How long tills waited. Shares of 14 calls on legacy and of 8 on orders.',
      'Losses by field. Money first.',
    ]);
    const faulty = await charts.evaluateAll((found: Svg[]) => {
      const { DOMParser } = globalThis as unknown as PageGlobals;
      return found.filter((one) =>
        new DOMParser().parseFromString(one.outerHTML, 'image/svg+xml').querySelector('parsererror'),
      ).length;
    });
    expect(faulty).toBe(0);
    const colours = await page.locator('svg:visible g.legend rect').evaluateAll((found: Svg[]) => {
      const { getComputedStyle } = globalThis as unknown as PageGlobals;
      return found.map((one) => `${getComputedStyle(one).display} ${getComputedStyle(one).fill}`);
    });
    expect(colours.filter((one) => !/^inline rgb\((?!0, 0, 0\))/.test(one))).toEqual([]);
  });

  it('is dark where the reader likes it, with everything to be read, and light on paper', async () => {
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(await ground()).toBe('rgb(255, 255, 255)');
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await ground()).toBe('rgb(20, 23, 26)');
    expect(await seriousFindings(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    expect(await ground()).toBe('rgb(255, 255, 255)');
    await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
  });

  it('bars are as high on the screen as the numbers in the table beside them', async () => {
    const bars = await barsOf(page, 'Traffic by lane');
    const height = (title: string): number => bars.get(title)?.height ?? 0;
    const unit = height('2026-01-03, legacy: 9') / 9;
    expect(unit).toBeGreaterThan(5);
    expect(height('2026-01-04, orders: 2')).toBeCloseTo(2 * unit, 0);
    expect(height('2026-01-05, orders: 4')).toBeCloseTo(4 * unit, 0);
    expect(height('2026-01-05, faults on orders: 2')).toBeCloseTo(2 * unit, 0);
    const rows = await page
      .locator('section:has(> h2:text-is("Calls over time")) table')
      .first()
      .locator('tbody tr')
      .allInnerTexts();
    expect(rows.map((row) => row.split('\t'))).toEqual([
      ['2026-01-03', '9', '0', '0'],
      ['2026-01-04', '4', '2', '0'],
      ['2026-01-05', '1', '6', '2'],
    ]);
    expect([...(await barsOf(page, 'Losses by field')).keys()]).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/, lost: 2$/),
        expect.stringMatching(/<script>alert\(1\)<\/script>, on paper: 4$/),
      ]),
    );
  });

  it.each([300, 390])(
    'is read at %i pixels without moving the page: letters keep their size, names stand whole',
    async (width) => {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await page.locator('svg[role=img]:visible').count()).toBe(6);
      const letters = page.locator('svg[role=img]:visible text');
      const sizes = await letters.evaluateAll((found: (Svg & { getScreenCTM(): { a: number } })[]) => {
        const { getComputedStyle } = globalThis as unknown as PageGlobals;
        return found.map((one) => Number.parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a);
      });
      expect(Math.min(...sizes)).toBeGreaterThan(10);
      const names = page.locator('svg[aria-label^="Losses"]:visible g.name > text');
      expect(await names.locator('title').allTextContents()).toContain(`point.create ${LONG}`);
      const places = await names.evaluateAll((found: Svg[]) => found.map((one) => one.getBoundingClientRect().left));
      expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
      // The rows of a table are cards: none scrolls sideways, and no name is broken in mid-word.
      const wide = `[...document.querySelectorAll('.frame')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)`;
      expect(await page.evaluate(wide)).toEqual([]);
      const latency = page.getByRole('region', { name: 'Latency' });
      expect(await latency.locator('td').first().evaluate(BEFORE)).toMatch(/^"\w+/);
      expect(await page.evaluate(BROKEN)).toEqual([]);
      expect(await seriousFindings(page)).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 800 });
    },
  );

  it('prints to a clean PDF: nothing is cut at the side of a page, no chart is torn, and none from its heading', async () => {
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize(PAPER);
    const sizes = await page.locator('svg[role=img]:visible').evaluateAll((found: Svg[]) =>
      found.map((one) => {
        const { left, right, height } = one.getBoundingClientRect();
        return { left, right, height };
      }),
    );
    expect(sizes.every(({ left, right, height }) => left >= 0 && right <= PAPER.width && height > 40)).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PAPER.width);
    const breaks = await page.locator('svg[role=img]:visible').evaluateAll((found: Svg[]) => {
      const { getComputedStyle } = globalThis as unknown as PageGlobals;
      return found.map((one) => getComputedStyle(one).breakInside);
    });
    expect(new Set(breaks)).toEqual(new Set(['avoid']));
    const leads = await page.locator('h2 + p').evaluateAll((found: Svg[]) => {
      const { getComputedStyle } = globalThis as unknown as PageGlobals;
      return found.map((one) => getComputedStyle(one).breakAfter);
    });
    expect(new Set(leads)).toEqual(new Set(['avoid']));
    const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: false });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(0);
  });
});

/** The name of its column before a cell. */
const BEFORE = (cell: Svg): string => {
  const { getComputedStyle } = globalThis as unknown as PageGlobals & {
    getComputedStyle(element: Svg, part: string): { content: string };
  };
  return getComputedStyle(cell, '::before').content;
};

/** Script: words and names with room in one line that stand on two in a table. */
const BROKEN = `[...document.querySelectorAll('.frame :is(th, td)')].flatMap((cell) => {
  const found = [];
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const { 0: word, index } of texts.currentNode.data.matchAll(/(?<!\\S)[\\p{L}\\p{N}_.]{2,30}(?!\\S)/gu)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, index);
    range.setEnd(texts.currentNode, index + word.length);
    if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word);
  }
  return found;
})`;

/** The few browser types needed here; Node's types have none of them. */
interface Svg {
  outerHTML: string;
  getAttribute(name: string): string | null;
  getBoundingClientRect(): { left: number; right: number; height: number; width: number };
}
interface PageGlobals {
  DOMParser: new () => { parseFromString(text: string, type: string): { querySelector(selector: string): unknown } };
  getComputedStyle(element: Svg): {
    display: string;
    fill: string;
    fontSize: string;
    breakInside: string;
    breakAfter: string;
  };
}

async function barsOf(page: Page, chart: string): Promise<Map<string, { width: number; height: number }>> {
  const rects = page.locator(`svg[aria-label^="${chart}"]:visible rect:has(> title)`);
  const found = await rects.evaluateAll((all: (Svg & { textContent: string })[]) =>
    all.map((one): [string, { width: number; height: number }] => {
      const { width, height } = one.getBoundingClientRect();
      return [one.textContent, { width, height }];
    }),
  );
  return new Map(found);
}
