/** `npm run screenshots`: the pictures of the docs, taken in a real Chromium after the demonstration's last scene. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type Journey, playJourney } from './demo/journey.ts';
import { people } from './demo/office.ts';
import { createTranscript } from './demo/transcript.ts';
import { withPalette } from './screenshots/palette.ts';

const PICTURES = join(import.meta.dirname, '..', 'docs', 'pictures');
const EXECUTABLE =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ??
  '/usr/bin/chromium';
const WIDTH = 1280;
/** Pixels; longer pages are cut, so a picture shows the first screen. */
const HEIGHTS = { board: 860, merchant: 1_080, trace: 900, report: 900 } as const;

const transcript = createTranscript((line) => void process.stderr.write(`${line}\n`), false);
const reports = mkdtempSync(join(tmpdir(), 'puente-screenshots-'));
const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'] });
try {
  mkdirSync(PICTURES, { recursive: true });
  await playJourney(transcript, reports, (journey) => takeAll(journey, browser));
} finally {
  await browser.close();
  rmSync(reports, { recursive: true, force: true });
}

async function takeAll({ stand, shops, output }: Journey, opened: Browser): Promise<void> {
  const page = await opened.newPage({ locale: 'en', colorScheme: 'light', reducedMotion: 'reduce' });
  const go = (path: string): Promise<unknown> => page.goto(stand.ops_url + path);
  await go('/sign-in');
  await page.locator('#token').fill(people.ben.token);
  await page.locator('#token').press('Enter');
  await page.locator('#board').waitFor();
  // Verdicts are made in the background while the page is open.
  await page.locator('#board').getByText('not judged yet').first().waitFor({ state: 'detached' });
  await take(page, 'board');
  await go(`/merchants/${shops.ar.merchant}`);
  await page.locator('#chart-losses').waitFor();
  await take(page, 'merchant');
  const refunded = shops.ar.sales.find((sale) => sale.refunded && sale.born === 'orders') ?? shops.ar.sales.at(-1);
  await go(`/trace?id=${encodeURIComponent(refunded?.reference ?? '')}`);
  await page.locator('.story').first().waitFor();
  await take(page, 'trace');
  await page.goto(pathToFileURL(join(output, 'fleet.html')).href);
  await take(page, 'report');
}

async function take(page: Page, name: keyof typeof HEIGHTS): Promise<void> {
  await page.setViewportSize({ width: WIDTH, height: HEIGHTS[name] });
  const bytes = withPalette(await page.screenshot({ animations: 'disabled' }));
  writeFileSync(join(PICTURES, `${name}.png`), bytes);
  process.stdout.write(`docs/pictures/${name}.png: ${bytes.length} bytes\n`);
}
