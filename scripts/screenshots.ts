/** `npm run screenshots`: the pictures of the docs, taken in a real Chromium after the demonstration's last scene. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { type Journey, playJourney } from './demo/journey.ts';
import { people } from './demo/office.ts';
import { plans, tradeByCard } from './demo/trade.ts';
import { createTranscript } from './demo/transcript.ts';
import { withPalette } from './screenshots/palette.ts';

const PICTURES = join(import.meta.dirname, '..', 'docs', 'pictures');
const EXECUTABLE =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ??
  '/usr/bin/chromium';
/** Width and height in pixels; longer pages are cut, so a picture shows the first screen, or a part of the page alone. */
const SIZES = {
  board: [1280, 860],
  merchant: [1280, 1_080],
  trace: [1280, 900],
  report: [1280, 900],
  certificate: [860, 900],
} as const;
/** Whole ones, after which nothing of a merchant needs legacy, and the rest of its first day on orders. */
const QUIET_DAYS = 9;

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

async function takeAll({ stand, shops, output, office, nextDay }: Journey, opened: Browser): Promise<void> {
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
  await nextDay(QUIET_DAYS);
  // A day of trade, which shows the token that work after a call needs.
  await tradeByCard(shops.ar, shops.ar.units, plans({ pay: 4 }));
  const certified = join(output, 'certificate.html');
  writeFileSync(certified, String(await office.look(`/api/report?merchant=${shops.ar.merchant}&format=html`)));
  await page.goto(pathToFileURL(certified).href);
  await take(page, 'certificate', page.locator('.certificate'));
}

async function take(page: Page, name: keyof typeof SIZES, part: Page | Locator = page): Promise<void> {
  const [width, height] = SIZES[name];
  await page.setViewportSize({ width, height });
  const bytes = withPalette(await part.screenshot({ animations: 'disabled' }));
  writeFileSync(join(PICTURES, `${name}.png`), bytes);
  process.stdout.write(`docs/pictures/${name}.png: ${bytes.length} bytes\n`);
}
