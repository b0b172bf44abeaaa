/** The console in a real Chromium, signed in as a person; each page records its problems. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { browser, seriousFindings } from '../../chromium.ts';
import type { Bench } from '../../kit.ts';

/** Only ends a test that hangs; the board refreshes every five seconds. */
const LONGEST_WAIT_MS = 40_000;

export interface Opened {
  page: Page;
  /** Errors of the page: violations of its content security policy, and failed scripts. */
  problems: string[];
  go(path: string): Promise<number>;
  seriousFindings(): Promise<string[]>;
  close(): Promise<void>;
}

/** A browser context of its own, signed in as `person`; signed out for null. */
export async function openConsole(
  bench: Bench,
  person: { token: string } | null,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await (await browser()).newContext({ locale: 'en', ...options });
  context.setDefaultTimeout(LONGEST_WAIT_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    // The browser also logs the status of a refused page; the tests check that status themselves.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(bench.app.ops_url)) problems.push(`asked elsewhere: ${request.url()}`);
  });
  const go = async (path: string): Promise<number> => (await page.goto(bench.app.ops_url + path))?.status() ?? 0;
  if (person !== null) {
    await go('/sign-in');
    await page.locator('#token').fill(person.token);
    await page.locator('#token').press('Enter');
    await page.waitForURL(`${bench.app.ops_url}/`);
  }
  return { page, problems, go, seriousFindings: () => seriousFindings(page), close: () => context.close() };
}
