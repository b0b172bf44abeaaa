/** The pages of ramps in a real browser: looked at first, started, watched and steered; wide and on a phone, in three languages. */
import { afterAll, describe, expect, it } from 'vitest';
import { wordsOf } from '../../../src/locales/words.ts';
import { hasChromium } from '../../chromium.ts';
import { ARGENTINA, BEN, BRAZIL, CHILE, MEXICO, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { type Opened, openConsole } from './browser.ts';

const TOO_WIDE = 'document.documentElement.scrollWidth > window.innerWidth';
const LOOKS = [
  { locale: 'en', colorScheme: 'light', width: 1280, merchant: ARGENTINA, few: '0 creates on orders' },
  { locale: 'es', colorScheme: 'dark', width: 390, merchant: BRAZIL, few: '0 creaciones en orders' },
  { locale: 'pt', colorScheme: 'light', width: 390, merchant: MEXICO, few: '0 criações em orders' },
] as const;

describe.skipIf(!hasChromium)('the pages of ramps', () => {
  const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));
  const opened: Opened[] = [];
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  it.each(LOOKS)('in $locale, $width wide', async ({ locale, colorScheme, width, merchant, few }) => {
    const { t } = wordsOf(locale);
    await bench.till(`${POINT}/devices`, { merchant });
    await bench.move({ stage: 'shadow' }, BEN, merchant);
    const one = await openConsole(bench, BEN, { locale, colorScheme, viewport: { width, height: 844 } });
    opened.push(one);
    const { page, go, seriousFindings } = one;
    const isWell = async (): Promise<void> => {
      expect(await seriousFindings()).toEqual([]);
      expect(await page.evaluate(TOO_WIDE)).toBe(false);
    };
    await go('/ramps');
    await isWell();
    await page.locator('#merchants').fill(`${merchant}0`);
    await page.getByRole('button', { name: t('ramps.preview') }).click();
    await page.getByRole('alert').getByText(merchant, { exact: false }).first().waitFor();
    await page.locator('#merchants').fill(merchant);
    await page.locator('#ramp-steps').fill('10, 100');
    await page.getByRole('button', { name: t('ramps.preview') }).click();
    await page
      .getByText(`${merchant}: ${t('stage.shadow')} → ${t('stage.canary')} 10 % → orders`, { exact: false })
      .waitFor();
    await isWell();
    await page.locator('#ramp-reason').fill('week 1');
    await page.getByRole('button', { name: t('ramps.start'), exact: true }).click();
    await page.getByRole('status').getByText(t('done.ramp_running')).waitFor();
    const ramp = page.locator('#ramp');
    // The table of merchants names the same reason once the first look is over.
    const waits = ramp.getByRole('region', { name: t('ramps.conditions') });
    const latency = waits.getByRole('row').filter({ hasText: t('ramps.condition.latency') });
    await latency.getByText(few, { exact: false }).waitFor();
    await isWell();
    for (const [button, state] of [
      [t('ramps.pause'), 'paused'],
      [t('ramps.resume'), 'running'],
      [t('ramps.cancel'), 'aborted'],
    ] as const) {
      const form = page.locator('form', { has: page.getByRole('button', { name: button, exact: true }) });
      await form.getByRole('textbox').fill('a test does it');
      await form.getByRole('button', { name: button, exact: true }).click();
      await page.waitForURL(`**/ramps/*?done=ramp_${state}`);
      await page.getByRole('status').waitFor();
    }
    expect(await page.locator('#steer').count()).toBe(0);
    await isWell();
    await go(`/ramps?merchant=${merchant}`);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await go(`/ramps?merchant=${merchant}&open=true`);
    expect(await page.locator('tbody tr').count()).toBe(0);
  });

  it('lead from the list to one merchant of many, and refuse a form without steps', async () => {
    await bench.till(`${POINT}/devices`, { merchant: CHILE });
    await bench.move({ stage: 'shadow' }, BEN, CHILE);
    const [first] = opened;
    if (first === undefined) throw new Error('no page is open');
    const { page, go } = first;
    const body = { merchants: [ARGENTINA, CHILE], steps: [50], soak_ms: 60_000, min_sales: 1, reason: 'both' };
    const { id } = (await bench.as(BEN, 'POST', '/api/ramps', body)).body as { id: string }; // the row's answer
    await go('/ramps');
    await page.locator(`a[href="/ramps/${id}"]`).click();
    await page.getByRole('heading', { name: `What the next step waits for: ${ARGENTINA}` }).waitFor();
    await page.locator(`#ramp a[href="/ramps/${id}?merchant=${CHILE}"]`).click();
    await page.getByRole('heading', { name: `What the next step waits for: ${CHILE}` }).waitFor();
    for (const [query, names] of [
      ['steps=many&merchants=1', 'steps'],
      [`steps=50&soak_hours=2&min_sales=+&merchants=${CHILE}`, 'min_sales'],
    ] as const) {
      await go(`/ramps?${query}`);
      await page.getByRole('alert').getByText(names, { exact: false }).first().waitFor();
    }
    // A typed reason outlives a refresh; when the ramp is paused elsewhere the page offers what can be done now.
    await go(`/ramps/${id}`);
    await page.locator('#pause-reason').fill('a holiday');
    await page.waitForResponse((response) => response.url().includes(`/ramps/${id}?`));
    await page.locator('#ramp').waitFor();
    expect(await page.locator('#pause-reason').inputValue()).toBe('a holiday');
    expect((await bench.as(BEN, 'POST', `/api/ramps/${id}/pause`, { reason: 'by command' })).status).toBe(200);
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    expect(await page.locator('#pause-reason').count()).toBe(0);
  });

  it('meet no problem of their policy or their scripts', () => {
    expect(opened.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
