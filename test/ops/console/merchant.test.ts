/** The merchant page in a real browser: move with preview and refusal, rollback with drain, approval, redelivery; roles. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, BEN, type Bench, DEVICE, EVA, eventually, POINT, startReceiver } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { type Opened, openConsole } from './browser.ts';

const HERE = `/merchants/${ARGENTINA}`;

/** Script: collects every box that the roll-back button has had in a frame. */
const BOXES = `globalThis.boxes = new Set();
(function look() {
  const button = document.querySelector('button.danger');
  if (button !== null && document.readyState === 'complete') boxes.add(JSON.stringify(button.getBoundingClientRect()));
  requestAnimationFrame(look);
})();`;

describe.skipIf(!hasChromium)('the merchant page', () => {
  const opened: Opened[] = [];
  const as = async (person: { token: string }, options = {}): Promise<Opened> => {
    const one = await openConsole(bench as Bench, person, options);
    opened.push(one);
    return one;
  };
  const bench = openForAll(() => startMoves());
  const receiver = openForAll(() => startReceiver(() => 500));
  beforeAll(async () => {
    await bench.till(`${POINT}/devices`);
    await bench.notify(ARGENTINA, { notice_url: receiver.url, point_payment_notices: 'off' });
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  it('shows what a move would touch and what it lacks, and refuses it in the words of the API', async () => {
    const { page, go, seriousFindings } = await as(BEN);
    await go(HERE);
    await page.getByLabel('Move to').selectOption('orders');
    await page.locator('#preview').getByText('refused, unless an approver overrides').waitFor();
    await page.locator('#preview').getByText('A stage is skipped').waitFor();
    expect(await seriousFindings()).toEqual([]);
    await page.locator('#stage-reason').fill('as fast as can be');
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('700100200 is not moved.', { exact: false }).waitFor();
    expect(await page.locator('#stage-reason').inputValue()).toBe('as fast as can be');
    expect((await bench.stageOf()).in_force.intents?.stage).toBe('legacy');
  });

  it('offers no move to where the merchant is', async () => {
    const { page, go } = await as(BEN);
    await go(`${HERE}?stage=legacy`);
    await page.locator('#preview').getByText('nothing changes').waitFor();
    expect(await page.getByRole('button', { name: 'Move', exact: true }).count()).toBe(0);
    await page.getByLabel('Move to').selectOption('shadow');
    await page.getByRole('button', { name: 'Move', exact: true }).waitFor();
  });

  it('makes a move that is allowed, with its reason in the audit trail', async () => {
    const { page, go } = await as(BEN);
    await go(HERE);
    await page.getByLabel('Move to').selectOption('shadow');
    await page.locator('#preview').getByText('allowed, a move forward').waitFor();
    await page.locator('#stage-reason').fill('pilot shop of the console');
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('status').getByText('The merchant is moved.').waitFor();
    await page.getByRole('row').getByText('pilot shop of the console').waitFor();
    expect((await bench.stageOf()).in_force.intents?.stage).toBe('shadow');
  });

  it('leads to a ramp of its own, which is looked at first, and says where it is and what it waits for', async () => {
    const { page, go, seriousFindings } = await as(BEN);
    await go(HERE);
    const ramp = page.locator('#ramps');
    await ramp.getByRole('link', { name: 'Start a ramp' }).click();
    await page.getByRole('button', { name: 'Look first' }).click();
    await page.locator('#ramp-reason').fill('week 1');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('status').getByText('The ramp is running.').waitFor();
    await go(HERE);
    await ramp.getByText('step 0 of 4', { exact: false }).waitFor();
    expect(await seriousFindings()).toEqual([]);
    await ramp.getByText('5 %, 25 %, 50 %, 100 %, each 2 h and 50 paid sales at least, by ben').click();
    await page.locator('#cancel-reason').fill('not now');
    await page.getByRole('button', { name: 'Cancel the ramp' }).click();
    await page.getByRole('status').getByText('The ramp is canceled', { exact: false }).waitFor();
  });

  it('knows when somebody else has moved it meanwhile', async () => {
    const { page, go } = await as(BEN);
    await go(`${HERE}?stage=legacy`);
    await bench.move({ stage: 'orders', override: true }, EVA);
    await page.locator('#stage-reason').fill('back again');
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByText('It was changed meanwhile').waitFor();
    expect((await bench.stageOf()).in_force.intents?.stage).toBe('orders');
  });

  it('rolls back at once, and counts down what is open while somebody watches', async () => {
    const { page, go } = await as(BEN);
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await go(HERE);
    await page.locator('#rollback-reason').fill('tills stand still');
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByText('Rolled back to legacy.', { exact: false }).first().waitFor();
    const lanes = page.locator('#lanes');
    await lanes.getByText('1 on orders, 0 on legacy.').waitFor();
    await lanes.getByText(DEVICE, { exact: false }).waitFor();
    await bench.atTerminal('pay');
    await lanes.getByText('0 on orders, 0 on legacy.').waitFor();
  });

  it('tells a notice again, with its attempts', async () => {
    const { page, go } = await as(BEN);
    await eventually(
      async () => receiver.received.length,
      (count) => count > 0,
    );
    await go(`/notices?merchant=${ARGENTINA}`);
    await page.locator('tbody th a').first().click();
    await page.locator('#attempts').getByText('refused by the receiver').first().waitFor();
    const before = receiver.received.length;
    await page.locator('#redeliver-reason').fill('the receiver is well again');
    await page.getByRole('button', { name: 'Send it again' }).click();
    await page.getByRole('status').getByText('The notice is sent again now.').waitFor();
    await receiver.waitFor(before + 1);
  });

  it('counts what a window would tell again before it does', async () => {
    const { page, go } = await as(BEN);
    await go('/notices');
    await page.locator('#many-since').fill('2020-01-01T00:00');
    await page.locator('#many-until').fill('2090-01-01T00:00');
    await page.locator('#many-reason').fill('the receiver was down');
    const before = receiver.received.length;
    await page.getByRole('button', { name: 'Count first' }).click();
    await page.getByRole('status').getByText('1 notice would be sent again.').waitFor();
    expect(receiver.received.length).toBe(before);
    await page.goto(`${page.url().replace('#redeliver', '')}&would=7`);
    await page.getByRole('status').getByText('1 notice would be sent again.').waitFor();
    await page.evaluate("document.querySelector('input[name=expected]').value = '7'");
    await page.getByRole('button', { name: 'Send them again' }).click();
    await page.getByRole('alert').getByText('It was changed meanwhile').waitFor();
    await page.getByRole('status').getByText('1 notice would be sent again.').waitFor();
    expect(receiver.received.length).toBe(before);
    await page.getByRole('button', { name: 'Send them again' }).click();
    await page.getByRole('status').getByText('The notices are sent again now.').waitFor();
    await receiver.waitFor(before + 1);
  });

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('keeps roll back where it is, %i wide, while parts load and refresh', async (width, colorScheme) => {
    const { page, go } = await as(BEN, { viewport: { width, height: 844 }, colorScheme });
    const release = Promise.withResolvers<void>();
    await page.route('**/charts', async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.addInitScript(BOXES);
    await bench.notify(ARGENTINA, { name: 'Café Sur' });
    await go(`${HERE}?stage=shadow`);
    const button = page.getByRole('button', { name: 'Roll back' });
    const charts = page.locator('#charts');
    const refreshed = (): Promise<unknown> => page.waitForResponse(`**${HERE}/lanes`).then((one) => one.finished());
    const headings = await page.locator('h2').allTextContents();
    expect((await page.locator('h2').first().boundingBox())?.y).toBeGreaterThan((await button.boundingBox())?.y ?? 0);
    const reserved = (await charts.boundingBox())?.height;
    release.resolve();
    await page.locator('#chart-losses').waitFor();
    expect((await charts.boundingBox())?.height).toBe(reserved);
    await refreshed();
    await page.locator('#to').selectOption('legacy');
    await page.locator('#preview').getByText('allowed').waitFor();
    expect(await page.evaluate('boxes.size')).toBe(1);
    await page.evaluate('scrollTo(0, document.body.scrollHeight / 2)');
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 + width } });
    await page.evaluate('requestAnimationFrame(() => boxes.clear())');
    await page.locator('#lanes').getByText('1 on legacy').waitFor();
    await refreshed();
    expect(await page.evaluate('boxes.size')).toBe(1);
    const { y = -1, height = 0 } = (await button.boundingBox()) ?? {};
    expect(y >= 0 && y + height < 100).toBe(true);
    expect(await page.locator('h2').allTextContents()).toEqual(headings);
    // A refusal in place of the part is not shown.
    await page.route('**/lanes', async (route) =>
      route.fulfill({ response: await route.fetch({ url: `${bench.app.ops_url}/nowhere` }) }),
    );
    await refreshed();
    await refreshed();
    expect(await page.locator('h2').allTextContents()).toEqual(headings);
    expect(await page.title()).toBe(`Merchant ${ARGENTINA} · Café Sur · Puente`);
    await bench.atTerminal('pay');
  });

  it('refuses a viewer as the API does, whatever he sends', async () => {
    const { page, go } = await as(ANA);
    await go(HERE);
    await page.locator('#rollback-reason').fill('I may not');
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
  });

  it('can be worked with the keyboard alone, in Spanish', async () => {
    const { page, go } = await as(BEN, { locale: 'es-AR' });
    await go(`${HERE}?stage=shadow`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.keyboard.press('Enter');
    await page.locator('#stage-reason').waitFor();
    for (let nth = 0; nth < 40; nth++) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.id')) === 'stage-reason') break;
    }
    await page.keyboard.type('solo con el teclado');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('El cambio está hecho.').waitFor();
    expect((await bench.stageOf()).in_force.intents?.stage).toBe('shadow');
  });

  it('meets no problem of its policy or its scripts', () => {
    expect(opened.flatMap(({ problems }) => problems)).toEqual([]);
  });
});

describe.skipIf(!hasChromium)('what stands in the way', () => {
  it('is judged, and reset, where it is told', async () => {
    const bench = await startMoves({
      PUENTE_ROUTING_DEFAULT_STAGE: 'shadow',
      PUENTE_MOVES_GATE: 'advise',
      PUENTE_SAFETY_MIN_SAMPLE: '1',
    });
    const create = `${POINT}/devices/${DEVICE}/payment-intents`;
    const failing = { method: 'POST', kind: 'error', times: 'always' };
    await bench.control('/faults', { body: { ...failing, path: create, status: 400, code: 'bad' } });
    await bench.till(`${POINT}/devices`);
    await bench.till(create, { body: { amount: 1500 } });
    const { page, go, close, problems } = await openConsole(bench, BEN);
    await eventually(
      async () => (await bench.ops('/api/differences')).body as { differences: object[] }, // the API's shape
      ({ differences }) => differences.length === 1,
    );
    await go(HERE);
    const inbox = page.locator('#differences');
    await inbox.locator('summary').click();
    await inbox.getByLabel('State').selectOption('accepted');
    await inbox.getByLabel('Accepted until').fill(new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10));
    await inbox.getByLabel('Reason').fill('an error that a test asked for');
    await inbox.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').getByText('The difference is judged.').waitFor();
    await inbox.locator('.badge').getByText('accepted', { exact: true }).waitFor();
    await bench.move({ stage: 'orders' });
    await bench.notify(ARGENTINA, { safety_stop: 'armed' });
    await bench.control('/faults', { body: { ...failing, path: '/v1/orders', status: 500, code: 'internal_error' } });
    await bench.till(create, { body: { amount: 1500 } });
    await eventually(
      () => bench.stageOf(),
      ({ in_force }) => in_force.intents?.stage === 'shadow',
    );
    await go('/');
    await page.getByRole('row', { name: ARGENTINA }).getByRole('link', { name: 'safety stop: intents' }).click();
    await page.waitForURL(/#safety$/);
    await page.locator('#safety').getByText('Safety stop in force: intents').waitFor();
    await page
      .locator('#safety')
      .getByText('A create, cancel or refund that failed is one fault, with all its retries.')
      .waitFor();
    const call = page.locator('#safety .notice').getByRole('link', { name: 'call 1' });
    expect(await call.getAttribute('href')).toMatch(/^\/trace\?id=[0-9a-f-]{36}$/);
    await page.locator('#reset-intents').fill('upstream works again');
    await page.getByRole('button', { name: 'Reset it' }).click();
    await page.getByRole('status').getByText('The safety stop is reset.').waitFor();
    expect((await bench.stageOf()).in_force.intents?.stage).toBe('orders');
    expect(problems).toEqual([]);
    await close();
    await bench.close();
  });
});

describe.skipIf(!hasChromium)('a second person', () => {
  it('approves what another one proposed, and nobody his own', async () => {
    const bench = await startMoves({ PUENTE_MOVES_SECOND_APPROVER: 'true' });
    await bench.notify(ARGENTINA, { name: 'Café Sur' }); // a merchant that was never seen is not moved
    const ben = await openConsole(bench, BEN);
    const eva = await openConsole(bench, EVA);
    await ben.go(`${HERE}?stage=shadow`);
    await ben.page.locator('#stage-reason').fill('the shop agreed');
    await ben.page.getByRole('button', { name: 'Propose to a second person' }).click();
    await ben.page.getByRole('status').getByText('The move is proposed', { exact: false }).waitFor();
    await eva.go(HERE);
    await eva.page.locator('#moves').getByLabel('Reason').first().fill('looked at it');
    await eva.page.getByRole('button', { name: 'Approve and move' }).click();
    await eva.page.getByRole('status').getByText('The move is approved and made.').waitFor();
    expect((await bench.stageOf()).in_force.qr?.stage).toBe('shadow');
    await Promise.all([ben.close(), eva.close()]);
    await bench.close();
  });
});
