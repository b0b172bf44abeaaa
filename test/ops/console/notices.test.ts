/** The console's page of notices in a real browser: receivers, a test notice, and a selection that is sent again. */
import { expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ARGENTINA, BEN, DEVICE, eventually, PEOPLE, POINT, startBench, startReceiver } from '../../kit.ts';
import { openConsole } from './browser.ts';

it.skipIf(!hasChromium)('shows how often a receiver acknowledges, tries it, and sends a selection again', async () => {
  const bench = await startBench(PEOPLE);
  const receiver = await startReceiver();
  const ben = await openConsole(bench, BEN);
  const { page, go } = ben;
  try {
    await bench.notify(ARGENTINA, { notice_url: receiver.url, point_payment_notices: 'off' }); // one notice per sale
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await bench.atTerminal('pay');
    await receiver.waitFor(1);
    await eventually(
      async () => {
        await go('/notices');
        return page.getByText('100 %').count();
      },
      (count) => count === 1,
    );
    // A list of a name: its forms take an id, and without one they would be of everybody, or of nobody.
    await go('/notices?merchant=Caf%C3%A9');
    for (const id of ['many-merchant', 'test-merchant'])
      expect([id, await page.locator(`#${id}[required]`).inputValue()]).toEqual([id, '']);
    await go(`/notices?merchant=${ARGENTINA}`);
    for (const id of ['many-merchant', 'test-merchant'])
      expect([id, await page.locator(`#${id}`).inputValue()]).toEqual([id, ARGENTINA]);
    await page.getByLabel('Merchant').last().fill(ARGENTINA);
    await page.locator('#test-reason').fill('its new address');
    await page.getByRole('button', { name: 'Send a test notice' }).click();
    await page.getByRole('status').getByText('acknowledged the test notice').waitFor();
    await receiver.waitFor(2);
    await page.locator('#selected-reason').fill('the shop lost it');
    await page.getByRole('button', { name: 'Send the selected again' }).click();
    await page.getByRole('alert').getByText('No notice is selected').waitFor();
    await page.getByRole('checkbox').first().check();
    await page.locator('#selected-reason').fill('the shop lost it');
    await page.getByRole('button', { name: 'Send the selected again' }).click();
    await page.getByRole('status').getByText('sent again now').waitFor();
    await receiver.waitFor(3);
    expect(await ben.seriousFindings()).toEqual([]);
    await page.locator('tbody a').first().click();
    await page.locator('dl.facts').getByText('delivered').waitFor();
    expect(await page.locator('dl.facts dd').allInnerTexts()).not.toContain('');
    expect(ben.problems).toEqual([]);
  } finally {
    await ben.close();
    await bench.close();
    await receiver.close();
  }
});
