/** The page Explain in a real Chromium: pasted messages of each kind and captured calls, row by row, also on a phone. */
import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, DEVICE, PEOPLE, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openConsole } from './browser.ts';

const REQUEST = `POST ${POINT}/devices/${DEVICE}/payment-intents HTTP/1.1\n\n{"amount":1500,"description":"Mesa 4"}`;
const ERROR = '{"errors":[{"code":"already_queued_order_on_terminal"}]}';

describe.skipIf(!hasChromium)('the page Explain', () => {
  const bench = openForAll(() => startBench({ PUENTE_MERCHANTS_CAPTURE: 'true', ...PEOPLE }));
  beforeAll(async () => {
    const made = await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    expect(made.status).toBe(201);
  });
  const ana = openForAll(() => openConsole(bench, ANA));

  async function explained(text: string, fields: Record<string, string> = {}): Promise<string> {
    const { page } = ana;
    await page.locator('#explain-text').fill(text);
    for (const [name, value] of Object.entries(fields)) await page.locator(`#explain-${name}`).fill(value);
    await page.locator('form.change button').click();
    await page.locator('#explained, [role=alert]').first().waitFor();
    return page.locator('main').innerText();
  }

  it('shows what becomes of a pasted request, each row with its reason; nothing is sent', async () => {
    const { page, go, seriousFindings, problems } = ana;
    const before = bench.sandbox.world.orders.size;
    await go('/');
    await page.getByRole('link', { name: 'Explain', exact: true }).click();
    const told = await explained(REQUEST, { site: 'MLA' });
    for (const part of [
      'POST /v1/orders',
      'point.create.request#8',
      'Minor units became a decimal string.',
      'body.description',
    ])
      expect(told).toContain(part);
    expect(await page.locator('#explain-text').inputValue()).toBe(REQUEST);
    expect(await seriousFindings()).toEqual([]);
    expect(problems).toEqual([]);
    expect(bench.sandbox.world.orders.size).toBe(before);
  });

  it('refuses what it can’t explain, and keeps what was typed', async () => {
    await ana.go('/explain');
    expect(await explained('hello')).toContain('the first line must be like');
    expect(await ana.page.locator('#explain-text').inputValue()).toBe('hello');
    expect(await explained(ERROR, { status: '409' })).toContain('an error needs the operation');
  });

  it('explains an error, and an order as a notice', async () => {
    await ana.go('/explain');
    const error = await explained(ERROR, { operation: 'point.create_intent', status: '409' });
    for (const part of ['There is already a queued intent for the device', 'point.errors#create.27'])
      expect(error).toContain(part);
    await ana.go('/explain');
    await ana.page.locator('#explain-as').selectOption('notice');
    const order =
      '{"id":"ORD01K371WBFDS4MD3JG0K8ZMECBE","type":"point","user_id":"700100200","status":"canceled","transactions":{"payments":[{"amount":"15.00"}]}}';
    const notice = await explained(order);
    for (const part of ['"state": "CANCELED"', 'point.notice#2']) expect(notice).toContain(part);
  });

  it('takes a captured call: the till’s request, and upstream’s answer', async () => {
    const { page, go } = ana;
    await go(`/explain?merchant=${ARGENTINA}`);
    await page.locator('#captured').getByRole('link', { name: 'request' }).last().click();
    await page.waitForURL(/exchange=/);
    expect(await page.locator('#explain-text').inputValue()).toContain('payment-intents HTTP/1.1');
    expect(await page.locator('#explain-merchant').inputValue()).toBe(ARGENTINA);
    await page.locator('form.change button').click();
    await page.locator('#explained').getByText('POST /v1/orders').waitFor();
    await page.locator('#captured').getByRole('link', { name: 'answer 201' }).last().click();
    await page.waitForURL(/nth=/);
    await page.locator('form.change button').click();
    await page.locator('#explained').getByText('point.create.answer#1', { exact: true }).waitFor();
  });

  it('is reached from a merchant’s settings, which name the revision of its tables', async () => {
    const { page, go } = ana;
    const { revision } = (await bench.ops('/api/tables')).body as { revision: string };
    await go(`/merchants/${ARGENTINA}/settings`);
    const line = page.getByText(`Mapping tables: revision ${revision}, as shipped.`);
    await line.getByRole('link', { name: 'Explain' }).click();
    await page.waitForURL(/explain\?merchant=/);
    expect(await page.locator('#explain-merchant').inputValue()).toBe(ARGENTINA);
  });

  it.each(['en', 'es', 'pt'])('fits a phone, in %s', async (locale) => {
    const phone = await openConsole(bench, ANA, { locale, viewport: { width: 390, height: 844 } });
    const { page, go, problems } = phone;
    await go('/explain');
    await page.locator('#explain-text').fill(REQUEST);
    await page.locator('form.change button').click();
    await page.locator('#explained').waitFor();
    const [scroll, client] = (await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )) as [number, number]; // of this very expression
    expect(scroll).toBeLessThanOrEqual(client);
    const widths = await page
      .locator('form.change')
      .locator('textarea, input[name=site]')
      .evaluateAll((all) => all.map(({ offsetWidth }) => offsetWidth));
    expect(new Set(widths).size).toBe(1);
    expect(await phone.seriousFindings()).toEqual([]);
    expect(problems).toEqual([]);
    const english = (await page.locator('main').innerText()).includes('Goes upstream');
    expect(english).toBe(locale === 'en');
    await phone.close();
  });
});
