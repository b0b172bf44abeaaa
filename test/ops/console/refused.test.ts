/** Forms that must not do what they say: of a merchant or a unit that was never seen, and an erase that is not confirmed. */
import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ARGENTINA, BEN, BRAZIL, DEVICE, EVA, eventually, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { openConsole } from './browser.ts';

/** Argentina's id without one digit. */
const MISTYPED = ARGENTINA.slice(0, -1);
const HERE = `/merchants/${ARGENTINA}`;
const UNIT = `point:${DEVICE}`;
const WRONG_UNIT = UNIT.replace('PAX', 'APX');

describe.skipIf(!hasChromium)('a form', () => {
  const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));
  beforeAll(async () => {
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await eventually(
      () => bench.as(BEN, 'GET', `/api${HERE}/stage/preview?stage=shadow`),
      ({ text }) => text.includes('"units_seen":1'),
    );
  });
  const eva = openForAll(() => openConsole(bench, EVA));
  const audits = async (): Promise<unknown[]> => ((await bench.ops('/api/audit')).body as { lines: unknown[] }).lines; // the API's shape
  const refused = (sentence: string) =>
    eva.page.getByRole('alert').getByText(sentence, { exact: false }).first().waitFor();

  it('of a merchant that was never seen is refused with the ids near it, and changes nothing', async () => {
    const { page, go } = eva;
    const before = await audits();
    await go(`/merchants/${MISTYPED}`);
    await page.locator('#rollback-reason').fill('tills stand still');
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/rollback')),
      page.getByRole('button', { name: 'Roll back to legacy' }).click(),
    ]);
    expect(answer.status()).toBe(404);
    await refused(`Near it: ${ARGENTINA}.`);
    await refused('Nothing was changed.');
    await go(`/merchants/${MISTYPED}/settings`);
    await page.getByLabel('voucher preference').selectOption('drop');
    await page.locator('#settings-reason').fill('as its till wants it');
    await page.getByRole('button', { name: 'Save' }).click();
    await refused(`Near it: ${ARGENTINA}.`);
    await go('/captures');
    await page.locator('#switch-merchant').fill(MISTYPED);
    await page.locator('#switch-reason').fill('before the move of June');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await refused(`Near it: ${ARGENTINA}.`);
    await go(`/merchants/${MISTYPED}`);
    await page.locator('#to').selectOption('shadow');
    await page.locator('#preview').getByText(`Near it: ${ARGENTINA}.`, { exact: false }).waitFor();
    expect(await page.locator('#preview form').count()).toBe(0);
    expect(await audits()).toEqual(before);
    expect((await bench.ops(`/api/merchants/${MISTYPED}`)).body).toMatchObject({ revision: 0 });
  });

  it('of a unit that was never seen is refused with the units near it, in the preview and when it is sent', async () => {
    const { page, go } = eva;
    const before = await audits();
    await go(HERE);
    await page.locator('#to').selectOption('canary');
    await page.locator('#units_in').fill(WRONG_UNIT);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.waitForURL(/units_in=/);
    await page.locator('#preview').getByText(`Near it: ${UNIT}.`, { exact: false }).waitFor();
    expect(await page.locator('#preview form').count()).toBe(0);
    await go(`${HERE}?stage=canary&units_in=${UNIT}`);
    const form = page.locator('#preview form');
    await form.waitFor();
    // As if the page had been open since before the unit was renamed.
    await page.evaluate(`document.querySelector('#preview [name=units_in]').value = '${WRONG_UNIT}'`);
    await page.locator('#stage-reason').fill('the first unit');
    await form.getByRole('button').click();
    await refused(`Near it: ${UNIT}.`);
    expect(await audits()).toEqual(before);
    expect((await bench.stageOf()).stage).toBe('legacy');
  });

  it('that erases shows first what there is, and erases nothing unless the id is typed and its work is over', async () => {
    const { page, go, seriousFindings } = eva;
    await bench.till(`${POINT}/devices`, { merchant: BRAZIL });
    await go(`/merchants/${BRAZIL}`);
    await page.getByRole('link', { name: 'Erase…' }).click();
    const look = () => page.getByRole('button', { name: 'Show what would be erased' }).click();
    const erase = async (id: string): Promise<void> => {
      await look();
      await page.getByLabel("To confirm, type the merchant's id").fill(id);
      await page.locator('#act-reason').fill('left us, asked for it in writing');
      await page.getByRole('button', { name: 'Erase it for good' }).click();
    };
    await erase(ARGENTINA);
    await refused(`to confirm it, type the id of the merchant, ${BRAZIL}`);
    const known = async (): Promise<unknown> =>
      ((await bench.ops(`/api/merchants/${BRAZIL}`)).body as { unseen: unknown }).unseen;
    expect(await known()).toBeNull();
    await look();
    expect(await page.locator('#found tr').filter({ hasText: 'calls' }).innerText()).toMatch(/calls\s+[1-9]/);
    expect(await seriousFindings()).toEqual([]);
    await erase(BRAZIL);
    await page.getByRole('status').getByText('Everything of the merchant is erased').waitFor();
    await page.getByRole('row').getByText('left us, asked for it in writing').waitFor();
    const left = (await bench.as(EVA, 'POST', `/api/merchants/${BRAZIL}/erase`, {})).status;
    expect(left).toBe(404);
    // A sale of Argentina is open on its lane: there is nothing to confirm.
    await go(`${HERE}/erase`);
    await look();
    await page.getByRole('heading', { name: 'Held back by' }).waitFor();
    expect(await page.locator('#found form').count()).toBe(0);
    const es = await openConsole(bench, EVA, { locale: 'es', viewport: { width: 390, height: 844 } });
    await es.go(`${HERE}/erase`);
    await es.page.getByRole('button', { name: 'Mostrar qué se borraría' }).click();
    await es.page.getByRole('heading', { name: 'Lo impide' }).waitFor();
    expect(await es.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await es.close();
    const ben = await openConsole(bench, BEN);
    await ben.go(`${HERE}/erase`);
    await ben.page.getByRole('button', { name: 'Show what would be erased' }).click();
    await ben.page.getByRole('alert').getByText('ben is operator', { exact: false }).waitFor();
    await ben.close();
  });

  it('meets no problem of its policy or its scripts', () => {
    expect(eva.problems).toEqual([]);
  });
});
