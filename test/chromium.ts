/** A real Chromium for the tests that look at a page: one for all files of a process. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Debian's place, or the one that `CHROMIUM` names. */
const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';
const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** Without a browser these tests say that they were not run. */
export const hasChromium = existsSync(EXECUTABLE);

let running: Promise<Browser> | null = null;
/** Playwright ends it with this process. */
export function browser(): Promise<Browser> {
  running ??= chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'] });
  return running;
}

/** Serious findings of axe-core on what is shown now. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const found = (await page.evaluate('axe.run()')) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }; // the form that axe-core documents
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
