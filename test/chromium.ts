/** One real Chromium per process, for the tests that inspect a page. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

/** `CHROMIUM`, or Debian's: without windows it takes less than half of the processor time. */
const EXECUTABLE =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ??
  '/usr/bin/chromium';
const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** Without a browser these tests report that they were not run. */
export const hasChromium = existsSync(EXECUTABLE);

let running: Promise<Browser> | null = null;
/** Playwright ends the browser with this process. */
export function browser(): Promise<Browser> {
  // Files that share this process send its signals to what they test; the browser ends with it.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  running ??= chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'], ...signals });
  return running;
}

/** Only violations are worked out, in the page: to list what passed as well took three times as long. */
const SERIOUS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes[0]?.html))`;

export async function seriousFindings(page: Page): Promise<string[]> {
  const is_loaded = await page.evaluate("typeof axe !== 'undefined'");
  if (!is_loaded) await page.evaluate(`${readFileSync(AXE, 'utf8')}; null`);
  return (await page.evaluate(SERIOUS)) as string[]; // as the expression makes them
}
