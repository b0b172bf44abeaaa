/** The console in a real Chromium: a sum of the report opens its sales, and a lost sale is accepted at its finding. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SalesView } from '../../../src/ops/trace/sales.ts';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, BEN, clockOf, eventually, OPS_TOKEN, PEOPLE, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, LEFT_IN_DOUBT, openShop } from '../../proxy/http/till.ts';
import { type Opened, openConsole } from './browser.ts';

/** Epoch ms of a bound in the query of an address. */
const momentIn = (address: string, bound: 'since' | 'until'): number =>
  Date.parse(new URL(address, 'http://console').searchParams.get(bound) ?? '');

let passed_ms = 0;
const clock = clockOf(() => Date.now() + passed_ms);

describe.skipIf(!hasChromium)('the money of a report', () => {
  const opened: Opened[] = [];
  const shop = openForAll(() => openShop({ ...PEOPLE, PUENTE_OPS_TOKEN: OPS_TOKEN }, { clock }));
  const open = async (person: { token: string }, options = {}): Promise<Opened> => {
    const one = await openConsole(shop, person, options);
    opened.push(one);
    return one;
  };
  const sell = async (device: string, amount: number): Promise<string> => {
    return idOf(await shop.create(device, { amount }));
  };
  const listed = async (state: string) =>
    ((await shop.ops(`/api/sales?state=${state}`)).body as SalesView).sales.map(({ legacy_id }) => legacy_id);
  const paid: string[] = [];
  let lost = '';
  let open_sale = '';
  beforeAll(async () => {
    for (const amount of [1500, 2550]) {
      const device = shop.freshDevice();
      paid.push(await sell(device, amount));
      await shop.atTerminal('pay', { device });
    }
    await eventually(
      () => listed('paid'),
      (found) => found.length === 2,
    );
    open_sale = await sell(shop.freshDevice(), 700);
    await shop.fault({ ...LEFT_IN_DOUBT, times: 'always' });
    const answer = await shop.till(`${POINT}/devices/${shop.freshDevice()}/payment-intents`, { body: { amount: 900 } });
    expect(answer.status).toBe(504);
    const [id] = await eventually(
      () => {
        passed_ms += 60_000;
        return listed('lost');
      },
      (found) => found.length > 0,
    );
    lost = id ?? '';
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  it('nothing that can be pressed on the page of reports moves when the sums arrive', async () => {
    const { page, go } = await open(ANA);
    const release = Promise.withResolvers<void>();
    await page.route('**/reports/sums*', async (route) => {
      await release.promise;
      await route.continue();
    });
    await go('/reports?compare=true');
    const boxes = () =>
      Promise.all(['form.filters', '#comparison', '#files'].map((one) => page.locator(one).boundingBox()));
    const before = await boxes();
    release.resolve();
    await page.locator('#sums tbody tr').first().waitFor();
    expect(await boxes()).toEqual(before);
  });

  it('each sum opens the list of exactly its sales, and its rows as a file', async () => {
    const { page, go, problems, seriousFindings } = await open(ANA);
    await go(`/reports?merchant=${ARGENTINA}`);
    const row = page.locator('#sums tbody tr').filter({ hasText: 'paid' });
    await row.getByText('40.50').waitFor();
    expect(await seriousFindings()).toEqual([]);
    const href = (await row.getByRole('link', { name: 'CSV' }).getAttribute('href')) ?? '';
    const csv = await page.request.get(shop.app.ops_url + href);
    const ids = (await csv.text()).split('\r\n').slice(1, -1);
    expect(ids).toHaveLength(2);
    for (const id of paid) expect(ids.filter((line) => line.includes(id))).toHaveLength(1);
    await row.getByRole('link', { name: 'list' }).click();
    await page.locator('#state').waitFor();
    const shown = await page.locator('tbody tr td a code').allInnerTexts();
    expect(shown.toSorted()).toEqual(paid.toSorted());
    for (const [field, value] of Object.entries({ state: 'paid', lane: 'orders', family: 'point', currency: 'ARS' }))
      expect(await page.locator(`#${field}`).inputValue()).toBe(value);
    // The same filter again: the form holds all of it.
    await page.getByRole('button', { name: 'Show' }).click();
    expect((await page.locator('tbody tr td a code').allInnerTexts()).toSorted()).toEqual(paid.toSorted());
    await page.locator('#amount_from').fill('25.50');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/amount_from=25.50/);
    expect(await page.locator('tbody tr td a code').allInnerTexts()).toEqual(paid.slice(1));
    expect(problems).toEqual([]);
  });

  it.each([
    ['es-AR', 'dark', 'Ventas y devoluciones'],
    ['pt-BR', 'light', 'Vendas e estornos'],
  ] as const)('on a phone, in %s and %s, sums and lists move by themselves', async (locale, colorScheme, title) => {
    const { page, go, seriousFindings } = await open(ANA, {
      ...{ locale, colorScheme, viewport: { width: 390, height: 800 } },
    });
    await go(`/reports?merchant=${ARGENTINA}`);
    await page.locator('#sums tbody tr').first().waitFor();
    expect(await page.locator('#sums-title').innerText()).toBe(title);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.locator('#sums tbody a').first().click();
    await page.locator('#state').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await go(`/sales/${lost}/acknowledge`);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await seriousFindings()).toEqual([]);
  });

  it('a lost sale is accepted at its finding, with a reason, and stays named', async () => {
    const viewer = await open(ANA);
    await viewer.go(`/sales/${lost}/acknowledge`);
    expect(await viewer.page.locator('.findings').innerText()).toBe(
      'the order is missing Upstream has never shown the order of this sale, and its lifetime is over.',
    );
    await viewer.page.locator('#accept-reason').fill('refunded in cash');
    await viewer.page.getByRole('button', { name: 'Accept' }).click();
    await viewer.page.getByRole('alert').getByText('operator', { exact: false }).waitFor();
    const { page, go, problems, seriousFindings } = await open(BEN);
    await go(`/trace?id=${lost}`);
    const trouble = page.getByRole('alert');
    await trouble.getByText('Lost: upstream never showed an order', { exact: false }).waitFor();
    // Its commands are code, not text between backticks.
    expect(await trouble.innerText()).not.toContain('`');
    expect(await trouble.locator('code').allInnerTexts()).toEqual([
      `puente reconcile --merchant ${ARGENTINA}`,
      `puente sales disagreements ${lost}`,
    ]);
    await page.locator('.story').getByText('The sale is being sent; the till sees OPEN').waitFor();
    expect(await page.locator('[role=alert] .badge').getAttribute('class')).toBe('badge bad');
    await go(`/merchants/${ARGENTINA}`);
    const finding = page.locator('#readiness li').filter({ hasText: lost });
    await finding.getByRole('button', { name: 'Accept' }).click();
    await page.locator('#accept-reason').fill('refunded in cash, case 1234');
    expect(await seriousFindings()).toEqual([]);
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByRole('status').getByText('The disagreement is accepted.').waitFor();
    const named = page.locator('#readiness li').filter({ hasText: 'refunded in cash, case 1234' });
    expect(await named.innerText()).toMatch(/9\.00 ARS: ben accepted at .* UTC/);
    expect(await named.isVisible()).toBe(true);
    expect(await page.locator('#readiness').getByRole('button', { name: 'Accept' }).count()).toBe(0);
    for (const [sale, says] of [
      [lost, /^The disagreement of sale .* was accepted by ben at .* UTC already, and nothing else differs since\.$/],
      [open_sale, /^Sale .* is open at upstream, and may still be paid, lost or repaired\./],
      [paid[0], /^Nothing is open about sale /],
    ] as const) {
      await go(`/sales/${sale}/acknowledge`);
      expect(await page.getByRole('status').innerText()).toMatch(says);
      expect(await page.locator('#accept-reason').count()).toBe(0);
    }
    expect(problems).toEqual([]);
  });

  it('each sum between two moves opens its sales, to the millisecond of the move', async () => {
    const { revision } = (await shop.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // every view has one
    const body = { stage: 'canary', share: 100, reason: 'every unit stays on orders', revision };
    const moved = await shop.ops(`/api/merchants/${ARGENTINA}/stage`, { method: 'PUT', body });
    expect(moved.status, moved.text).toBe(200);
    await shop.clearFaults();
    const device = shop.freshDevice();
    const after = await sell(device, 3100);
    await shop.atTerminal('pay', { device });
    await eventually(
      () => listed('paid'),
      (found) => found.length === 3,
    );
    const { lines } = (await shop.ops(`/api/audit?subject=${ARGENTINA}&action=stage`)).body as {
      lines: { at: string }[];
    };
    const moved_at = lines[0]?.at ?? '';
    const { page, go, problems, seriousFindings } = await open(ANA);
    for (const [amount, ids, bound] of [
      ['40.50', paid, 'until'],
      ['31.00', [after], 'since'],
    ] as const) {
      await go(`/reports/sums?merchant=${ARGENTINA}`);
      const row = page.locator('#sums tbody tr').filter({ hasText: '700100200' }).filter({ hasText: amount });
      expect(await seriousFindings()).toEqual([]);
      const href = (await row.getByRole('link', { name: 'CSV' }).getAttribute('href')) ?? '';
      const list = (await row.getByRole('link', { name: 'list' }).getAttribute('href')) ?? '';
      for (const one of [href, list]) expect(momentIn(one, bound)).toBe(Date.parse(moved_at));
      const csv = await (await page.request.get(shop.app.ops_url + href)).text();
      expect(csv.split('\r\n').slice(1, -1)).toHaveLength(ids.length);
      for (const id of ids) expect(csv).toContain(id);
      await row.getByRole('link', { name: 'list' }).click();
      await page.locator('#state').waitFor();
      expect((await page.locator('tbody tr td a code').allInnerTexts()).toSorted()).toEqual(ids.toSorted());
      // The form holds the millisecond, and asks for the same again.
      const before = page.url();
      await page.getByRole('button', { name: 'Show' }).click();
      await page.waitForURL((url) => url.href !== before);
      await page.locator('#state').waitFor();
      expect(momentIn(page.url(), bound)).toBe(Date.parse(moved_at));
      expect((await page.locator('tbody tr td a code').allInnerTexts()).toSorted()).toEqual(ids.toSorted());
    }
    expect(problems).toEqual([]);
  });

  it('the list and the trace of a sale say how much of it was refunded', async () => {
    const [, id = ''] = paid;
    const { sales } = (await shop.ops('/api/sales?state=paid')).body as SalesView; // the API's shape
    const payment_id = sales.find(({ legacy_id }) => legacy_id === id)?.payment_id;
    const refund = { body: { amount: 5 }, headers: { 'x-idempotency-key': 'a part' } };
    expect((await shop.till(`/v1/payments/${payment_id}/refunds`, refund)).status).toBe(201);
    const { page, go } = await open(ANA);
    await go('/sales?state=paid');
    const row = page.locator('tbody tr').filter({ hasText: id });
    expect(await row.innerText()).toMatch(/paid partly refunded 5\.00 ARS/);
    await go(`/trace?id=${id}`);
    expect(await page.locator('dl.facts').innerText()).toContain('the till sees FINISHED · partly refunded 5.00 ARS');
    for (const [locale, says] of [
      ['es-AR', 'pagada devuelta en parte 5,00 ARS'],
      ['pt-BR', 'paga estornada em parte 5,00 ARS'],
    ] as const) {
      const other = await open(ANA, { locale });
      await other.go('/sales?state=paid');
      expect(await other.page.locator('tbody tr').filter({ hasText: id }).innerText()).toContain(says);
    }
  });
});
