/** The console's charts in a real browser: three languages, narrow, dark, without scripts, and without data. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadWords } from '../../../src/locales/words.ts';
import { hasChromium } from '../../chromium.ts';
import { ARGENTINA, BEN, BRAZIL, DEVICE, eventually, PEOPLE, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { type Opened, openConsole } from './browser.ts';

const HERE = `/merchants/${ARGENTINA}`;
const DAY_MS = 86_400_000;
const DRAWN = ['traffic', 'waits', 'notices', 'readiness', 'losses'];

describe.skipIf(!hasChromium)('the charts', () => {
  const opened: Opened[] = [];
  const as = async (options = {}): Promise<Opened> => {
    const one = await openConsole(bench, BEN, options);
    opened.push(one);
    return one;
  };
  /** Stores a verdict of so many days ago. */
  const keep = (merchant_id: string, days_ago: number, verdict: string): void => {
    const database = new Database(join(bench.data_dir, 'puente.db'));
    const day = Math.floor(Date.now() / DAY_MS) - days_ago;
    database.prepare('INSERT INTO readiness_days VALUES (?, ?, ?)').run(merchant_id, day, verdict);
    database.close();
  };
  const bench = openForAll(() => startBench(PEOPLE));
  beforeAll(async () => {
    await bench.till(`${POINT}/devices`);
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, {
      body: { amount: 1500 },
      headers: { 'x-corporation-id': '9' },
    });
    await bench.atTerminal('pay');
    await eventually(
      async () => (await bench.ops('/api/notices')).body as { notices: object[] }, // the API's shape
      ({ notices }) => notices.length === 2,
    );
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  it.each([
    ['en', 'light', 1280, 'Traffic by lane', 'Figures'],
    ['es', 'light', 900, 'Tráfico por carril', 'Cifras'],
    ['pt', 'dark', 360, 'Tráfego por faixa', 'Números'],
  ] as const)(
    'come by themselves in %s, %s, %i wide, each with its caption and its figures',
    async (locale, colorScheme, width, title, figures) => {
      const { page, go, seriousFindings } = await as({ locale, colorScheme, viewport: { width, height: 800 } });
      await go(HERE);
      for (const name of DRAWN) {
        const figure = page.locator(`#chart-${name}`);
        await figure.locator('svg:visible').waitFor();
        expect([name, await figure.locator('svg:visible').count()]).toEqual([name, 1]);
        const label = await figure.locator('svg:visible').getAttribute('aria-label');
        expect(label?.startsWith(await figure.locator('h3').innerText())).toBe(true);
      }
      const traffic = page.locator('#chart-traffic');
      expect(await traffic.locator('h3').innerText()).toBe(title);
      await traffic.getByText(figures).click();
      const day = loadWords()[locale].day(new Date().toISOString().slice(0, 10));
      expect(await traffic.locator('tbody tr').innerText()).toMatch(new RegExp(`^${day}\\s+0\\s+2\\s+0$`));
      const fills = await traffic.locator('svg:visible g.legend rect').evaluateAll((found: object[]) => {
        const { getComputedStyle } = globalThis as unknown as { getComputedStyle(one: object): { fill: string } };
        return found.map((one) => getComputedStyle(one).fill);
      });
      expect(new Set(fills).size).toBe(3);
      expect(fills).not.toContain('rgb(0, 0, 0)');
      expect(await seriousFindings()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
    },
  );

  it('of a period and of the fleet stand on the report page', async () => {
    const { page, go, seriousFindings } = await as();
    await go('/reports');
    await page.locator('#chart-traffic svg:visible').waitFor();
    // The fleet's verdicts come from the store: a page request judges no merchant.
    await page.locator('#chart-readiness').getByText('Nothing to show in this time.').waitFor();
    keep(ARGENTINA, 0, 'ready');
    await go('/reports');
    await page.locator('#chart-readiness svg:visible').waitFor();
    await go(`/reports?merchant=${ARGENTINA}&since=2026-01-01&until=2026-01-02`);
    const traffic = page.locator('#chart-traffic');
    await traffic.getByText('Nothing to show in this time.').waitFor();
    await page.locator('#charts').getByText('Calls are kept since').waitFor();
    expect(await page.locator('#charts .lead').innerText()).toContain('2026-01-01');
    expect(await traffic.locator('svg').count()).toBe(0);
    expect(await seriousFindings()).toEqual([]);
  });

  it('tell since when verdicts are kept, and show the days of which there is one', async () => {
    keep(ARGENTINA, 2, 'ready');
    const { page, go } = await as();
    await go(`${HERE}/charts`);
    await page.locator('#charts').getByText('Verdicts are kept by day since').waitFor();
    const readiness = page.locator('#chart-readiness');
    await readiness.getByText('Figures').click();
    const rows = await readiness.locator('tbody tr').all();
    expect(await Promise.all(rows.map((row) => row.locator('td').allInnerTexts()))).toEqual([
      ['1', '0', '0'],
      ['0', '0', '0'],
      ['0', '1', '0'],
    ]);
  });

  it('of a merchant with nothing are sentences, and no empty pictures', async () => {
    const { page, go } = await as();
    await bench.notify(BRAZIL, {});
    await go(`/merchants/${BRAZIL}`);
    for (const name of DRAWN.filter((one) => one !== 'readiness')) {
      const figure = page.locator(`#chart-${name}`);
      await figure.getByText('Nothing to show in this time.').waitFor();
      expect([name, await figure.locator('svg, details').count()]).toEqual([name, 0]);
    }
  });

  it('are a link away without scripts, and lead back', async () => {
    const { page, go } = await as({ javaScriptEnabled: false });
    await go(HERE);
    await page.getByRole('link', { name: 'Show the charts' }).click();
    await page.locator('#chart-losses svg:visible').waitFor();
    await page.getByRole('link', { name: `Merchant ${ARGENTINA}` }).click();
    await page.getByRole('heading', { name: `Merchant ${ARGENTINA}` }).waitFor();
    await go(`/reports?merchant=${ARGENTINA}`);
    await page.getByRole('link', { name: 'Show the charts' }).click();
    await page.locator('#chart-losses svg:visible').waitFor();
    expect(page.url()).toContain(`merchant=${ARGENTINA}`);
  });

  it('of a period that is none are refused in the words of the API', async () => {
    const { page, go } = await as();
    expect(await go('/reports/charts?since=2026-02-01&until=2026-01-01')).toBe(400);
    await page.getByRole('alert').getByText('must be later than since', { exact: false }).waitFor();
  });

  it('meet no problem of their policy or of scripts', () => {
    expect(opened.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
