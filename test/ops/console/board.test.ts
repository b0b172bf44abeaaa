/** The fleet board in a real browser: first steps, merchants, search, refresh, and accessibility. */
import { describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, BRAZIL, DEVICE, MEXICO, PEOPLE, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openConsole } from './browser.ts';

describe.skipIf(!hasChromium)('the board', () => {
  const bench = openForAll(() => startBench({ ...PEOPLE, PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));
  const console_ = openForAll(() => openConsole(bench, ANA));

  it('greets an empty installation with its next steps', async () => {
    await console_.page.getByText('Point a till at Puente.').waitFor();
    expect(await console_.page.locator('code').allTextContents()).toContain('puente doctor');
    expect(await console_.seriousFindings()).toEqual([]);
  });

  it('shows merchants, and puts what changes in place while it is looked at', async () => {
    const { page } = console_;
    for (const merchant of [ARGENTINA, BRAZIL, MEXICO]) await bench.till(`${POINT}/devices`, { merchant });
    await page.getByRole('row', { name: ARGENTINA }).getByText('legacy', { exact: true }).first().waitFor();
    expect(await page.locator('tbody tr').count()).toBe(3);
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await page.getByRole('row', { name: ARGENTINA }).getByText('1 on legacy').waitFor();
    expect(await console_.seriousFindings()).toEqual([]);
  });

  it('is a card for each merchant on a phone, with all that the row has', async () => {
    const { page, go, seriousFindings, close } = await openConsole(bench, ANA, {
      viewport: { width: 360, height: 700 },
    });
    await go('/');
    const cells = page.getByRole('row', { name: ARGENTINA }).locator('td');
    expect(await cells.count()).toBe(7);
    // A wait of a minute is the longest text that a lane shows.
    await page
      .locator('#board .pulse span')
      .last()
      .evaluate((one) => {
        one.textContent = 'p50 9.999 ms, p99 59.999,99 s';
      });
    const room =
      '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("#board .scroll"))';
    expect(await page.evaluate(room)).toBe(0);
    expect(await cells.evaluateAll((all) => all.map((one) => one.getAttribute('data-name')))).toEqual([
      'Stage',
      'Needs attention',
      'Legacy lane',
      'Orders lane',
      'Open',
      'Readiness',
      'Last incident',
    ]);
    expect(await seriousFindings()).toEqual([]);
    await close();
  });

  it('finds while somebody types, filters, and says so in the address', async () => {
    const { page } = console_;
    await console_.go('/');
    await page.getByLabel('Merchant', { exact: true }).fill('300');
    await page.getByText('1 merchant', { exact: false }).waitFor();
    await page.waitForURL(/search=300/);
    expect(await page.locator('tbody th').allTextContents()).toEqual([expect.stringContaining(BRAZIL)]);
    await page.getByLabel('Merchant', { exact: true }).fill('');
    await page.getByLabel('Stage').selectOption('orders');
    await page.getByText('No merchant matches.').waitFor();
    await page.goBack();
    await page.locator('#board').waitFor();
  });

  it('can be told to stand still', async () => {
    const { page } = console_;
    await console_.go('/');
    await page.getByRole('link', { name: 'Pause updates' }).click();
    await page.getByRole('link', { name: 'Resume updates' }).waitFor();
    expect(await page.locator('#board').getAttribute('hx-trigger')).toBeNull();
  });

  it('meets no problem on the way, neither of its policy nor of its scripts', () => {
    expect(console_.problems).toEqual([]);
  });

  it('works without scripts', async () => {
    const plain = await openConsole(bench, ANA, { javaScriptEnabled: false });
    await plain.page.getByLabel('Merchant', { exact: true }).fill('400');
    await plain.page.getByRole('button', { name: 'Show' }).click();
    expect(await plain.page.locator('tbody th').allTextContents()).toEqual([expect.stringContaining(MEXICO)]);
    await plain.close();
  });
});
