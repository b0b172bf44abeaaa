/** The pages of ramps in a real browser: looked at first, started, watched and steered; wide and on a phone, in three languages. */
import { afterAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ARGENTINA, BEN, BRAZIL, CHILE, MEXICO, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { type Opened, openConsole } from './browser.ts';

const TOO_WIDE = 'document.documentElement.scrollWidth > window.innerWidth';
const LOOKS = [
  {
    ...{ locale: 'en', colorScheme: 'light' as const, width: 1280, merchant: ARGENTINA },
    ...{ look: 'Look first', start: 'Start', pause: 'Pause', resume: 'Resume', cancel: 'Cancel the ramp' },
    ...{
      running: 'The ramp runs.',
      waits: 'What the next step waits for',
      latency: 'latency',
      few: '0 creates on orders',
    },
  },
  {
    ...{ locale: 'es', colorScheme: 'dark' as const, width: 390, merchant: BRAZIL },
    ...{
      look: 'Ver antes',
      start: 'Iniciar',
      pause: 'Poner en pausa',
      resume: 'Reanudar',
      cancel: 'Cancelar la rampa',
    },
    ...{ running: 'La rampa está en marcha.', waits: 'Lo que espera el próximo paso', latency: 'latencia' },
    few: '0 creaciones en orders',
  },
  {
    ...{ locale: 'pt', colorScheme: 'light' as const, width: 390, merchant: MEXICO },
    ...{ look: 'Ver antes', start: 'Iniciar', pause: 'Pausar', resume: 'Retomar', cancel: 'Cancelar a rampa' },
    ...{ running: 'A rampa está em andamento.', waits: 'O que o próximo passo espera', latency: 'latência' },
    few: '0 criações em orders',
  },
];

describe.skipIf(!hasChromium)('the pages of ramps', () => {
  const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));
  const opened: Opened[] = [];
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  it.each(LOOKS)('in $locale, $width wide', async ({ locale, colorScheme, width, merchant, ...texts }) => {
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
    await page.getByRole('button', { name: texts.look }).click();
    await page.getByRole('alert').getByText(merchant, { exact: false }).first().waitFor();
    await page.locator('#merchants').fill(merchant);
    await page.locator('#ramp-steps').fill('10, 100');
    await page.getByRole('button', { name: texts.look }).click();
    await page.getByText(`${merchant}: shadow → canary 10 % → orders`, { exact: false }).waitFor();
    await isWell();
    await page.locator('#ramp-reason').fill('week 1');
    await page.getByRole('button', { name: texts.start, exact: true }).click();
    await page.getByRole('status').getByText(texts.running).waitFor();
    const ramp = page.locator('#ramp');
    // The table of merchants names the same reason once the first look is over.
    const waits = ramp.getByRole('region', { name: texts.waits });
    await waits.getByRole('row').filter({ hasText: texts.latency }).getByText(texts.few, { exact: false }).waitFor();
    await isWell();
    for (const [button, state] of [
      [texts.pause, 'paused'],
      [texts.resume, 'running'],
      [texts.cancel, 'aborted'],
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
    await go('/ramps?steps=many&merchants=1');
    await page.getByRole('alert').getByText('steps', { exact: false }).first().waitFor();
  });

  it('meet no problem of their policy or their scripts', () => {
    expect(opened.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
