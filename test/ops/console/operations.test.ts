/** The pages of operations on many merchants, and of a merchant's settings, in a real browser; each does what its command does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { writes } from '../../../src/store/writes.ts';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, BRAZIL, DEVICE, EVA, MEXICO, POINT, SECOND_DEVICE } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { filesOn } from '../plan/kit.ts';
import { openConsole } from './browser.ts';

describe.skipIf(!hasChromium)('the page of', () => {
  const bench = openForAll(() =>
    startMoves({
      PUENTE_MOVES_GATE: 'advise',
      // The sweep and polls are off, so only the reconciliation finds what no event told.
      PUENTE_RECONCILE_POINT_INTERVAL_MS: '3600000',
      PUENTE_RECONCILE_MAX_INTERVAL_MS: '86400000',
      PUENTE_RECONCILE_SWEEP_PER_SECOND: '0',
    }),
  );
  beforeAll(async () => {
    for (const merchant of [ARGENTINA, BRAZIL, MEXICO]) await bench.till(`${POINT}/devices`, { merchant });
  });
  const eva = openForAll(() => openConsole(bench, EVA));
  const settingsOf = async (merchant: string): Promise<Record<string, { value: unknown }>> =>
    ((await bench.ops(`/api/merchants/${merchant}`)).body as { settings: Record<string, { value: unknown }> }).settings; // the API's shape

  it('settings refuses a form without a change, and a viewer; sends only what was changed', async () => {
    const { page, go, seriousFindings } = eva;
    await go(`/merchants/${ARGENTINA}`);
    await page.getByRole('link', { name: 'Settings' }).click();
    const labels = await page.locator('main label').allTextContents();
    expect(labels.filter((label) => !/^\p{Lu}/u.test(label))).toEqual([]);
    const voucher_field = page.locator('p', { has: page.getByLabel('voucher preference') });
    expect(await voucher_field.locator('option').allTextContents()).toEqual([
      'default: refuse',
      'refuse',
      'drop and record',
    ]);
    expect(await voucher_field.locator('code').allTextContents()).toEqual(['refuse', 'drop']);
    await page.locator('#settings-reason').fill('nothing');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Change at least one setting.').waitFor();
    await page.getByLabel('how a declined payment shows').selectOption('finished');
    await page.getByLabel('cancel on the terminal').selectOption('true');
    await page.getByLabel('tags').fill('centro, piloto');
    await page.getByLabel('keys added to Point webhooks').fill('{"store_id": "77"}');
    await page.getByLabel('notice secret').fill('a-secret-of-this-test');
    await page.getByLabel('Sunset header').fill('2027-01-31T09:00');
    await page.locator('#settings-reason').fill('as its till wants it');
    expect(await seriousFindings()).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').getByText('The settings are saved.').waitFor();
    expect(await page.content()).not.toContain('a-secret-of-this-test');
    const settings = await settingsOf(ARGENTINA);
    const { tags, declined, cancel_on_terminal, deprecation, voucher } = settings;
    expect(settings.point_notice_extra?.value).toEqual({ store_id: '77' });
    expect(tags?.value).toEqual(['centro', 'piloto']);
    expect([declined?.value, cancel_on_terminal?.value]).toEqual(['finished', true]);
    expect(deprecation?.value).toEqual({
      deprecated_at: null,
      sunset_at: Date.parse('2027-01-31T09:00:00Z'),
      link: null,
    });
    const [line] = ((await bench.ops('/api/audit?limit=1')).body as { lines: { detail: { after: object } }[] }).lines; // the API's shape
    expect(Object.keys(line?.detail.after ?? {})).toEqual([
      ...['tags', 'point_notice_extra', 'declined', 'cancel_on_terminal', 'deprecation'],
    ]);
    await page.getByLabel('how a declined payment shows').selectOption('');
    await page.locator('#settings-reason').fill('back again');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').waitFor();
    expect((await settingsOf(ARGENTINA)).declined).toMatchObject({ from: 'default' });
    expect(voucher).toMatchObject({ from: 'default' });
    const ana = await openConsole(bench, ANA);
    await ana.go(`/merchants/${ARGENTINA}/settings`);
    await ana.page.getByLabel('voucher preference').selectOption('drop');
    await ana.page.locator('#settings-reason').fill('I may not');
    await ana.page.getByRole('button', { name: 'Save' }).click();
    await ana.page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
    await ana.close();
  });

  it('bulk moves refuses a form that names nobody and a line that it can’t read, and moves a list', async () => {
    const { page, go, seriousFindings } = eva;
    await go('/bulk');
    const start = async (): Promise<void> => {
      await page.locator('#bulk-reason').fill('wave 1');
      await page.getByRole('button', { name: 'Start' }).click();
    };
    await page.getByLabel('Move to').selectOption('shadow');
    await start();
    await page
      .getByRole('alert')
      .getByText('name either items, or merchants and conditions', { exact: false })
      .waitFor();
    await page.getByLabel('Merchants').fill(`${BRAZIL}\nwho?`);
    await start();
    await page.getByRole('alert').getByText("Line 2 can't be read", { exact: false }).waitFor();
    await page.getByLabel('Merchants').fill(`${BRAZIL}, ${MEXICO} # the pilots`);
    await page.getByLabel('Move to').selectOption('shadow');
    await start();
    await page.getByRole('status').getByText('The bulk move is started.').waitFor();
    await page.locator('#items').getByText('2 moved, 0 proposed').waitFor();
    expect(await page.locator('#items').getByRole('row').filter({ hasText: MEXICO }).innerText()).toContain('moved');
    expect(await seriousFindings()).toEqual([]);
    expect((await bench.stageOf(MEXICO)).stage).toBe('shadow');
    await go('/bulk');
    await page.getByRole('row').getByText('wave 1').waitFor();
  });

  it('bulk moves aborts one that waits for its next day', async () => {
    const { page, go } = eva;
    await go('/bulk');
    await page.getByLabel('Those on stage').selectOption('shadow');
    await page.getByLabel('Move to').selectOption('legacy');
    await page.getByLabel('Moves a day').fill('1');
    await page.locator('#bulk-reason').fill('slowly back');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#items').getByText('1 of 1 moves of today', { exact: false }).waitFor();
    await page.locator('#abort-reason').fill('a shop called');
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.locator('#items').getByText('Aborted by eva: a shop called').waitFor();
    expect(await page.locator('#abort').count()).toBe(0);
    // One that ends elsewhere while its page is open, with a reason half typed.
    const items = [BRAZIL, MEXICO, ARGENTINA].map((merchant_id) => ({ merchant_id }));
    const ask = { target: { stage: 'shadow' }, items, per_day: 1, reason: 'slowly' };
    const { id } = (await bench.as(EVA, 'POST', '/api/bulk', ask)).body as { id: string }; // the row's answer
    await go(`/bulk/${id}`);
    await page.locator('#abort-reason').fill('a shop');
    await page.waitForResponse((response) => response.url().endsWith(`/bulk/${id}`));
    expect(await page.locator('#abort-reason').inputValue()).toBe('a shop');
    expect((await bench.as(EVA, 'POST', `/api/bulk/${id}/abort`, { reason: 'by command' })).status).toBe(200);
    await page.locator('#items').getByText('Aborted by eva: by command').waitFor();
    expect(await page.locator('#abort').count()).toBe(0);
  });

  it('drift has a line for each change since the file, with whom and when, and fits a phone', async () => {
    const { page, go, seriousFindings } = eva;
    await filesOn(bench).apply(`merchants:\n  - id: "${MEXICO}"\n    name: Tortas\n`, {}, EVA);
    for (const change of [{ name: 'Tortas del Sur' }, { tags: ['norte'] }]) {
      const { revision } = await bench.stageOf(MEXICO);
      const body = { ...change, reason: 'by hand', revision };
      expect((await bench.as(EVA, 'PUT', `/api/merchants/${MEXICO}`, body)).status).toBe(200);
    }
    await go('/drift');
    const row = page.getByRole('row').filter({ hasText: MEXICO });
    const lines = await row.locator('.lines > div').allInnerTexts();
    const when = 'changed by eva at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC, after the last apply';
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(`^${when}: name: Tortas → Tortas del Sur$`),
      expect.stringMatching(`^${when}: tags: the default → norte$`),
    ]);
    expect(await row.getByRole('link').innerText()).toBe(`${MEXICO} (Tortas del Sur)`);
    expect(await seriousFindings()).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.setViewportSize({ width: 1280, height: 720 });
  });

  it('brown-outs schedules one, tells who was refused in it, and ends it', async () => {
    const { page, go, seriousFindings } = eva;
    await go('/brownouts');
    await page.getByLabel('Merchants').fill(`${ARGENTINA} ${BRAZIL}`);
    const minute = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 16);
    await page.locator('#from').fill(minute(-1));
    await page.locator('#until').fill(minute(-2));
    await page.locator('#brownout-reason').fill('drill 1');
    await page.getByRole('button', { name: 'Schedule' }).click();
    await page.getByRole('alert').waitFor();
    await page.locator('#until').fill(minute(1));
    await page.getByRole('button', { name: 'Schedule' }).click();
    await page.getByRole('status').getByText('The brown-out is scheduled.').waitFor();
    expect(await seriousFindings()).toEqual([]);
    expect((await bench.till(`${POINT}/devices`, { merchant: BRAZIL })).status).toBe(503);
    const row = page.getByRole('row').filter({ hasText: BRAZIL });
    await row.locator('summary').click();
    await row.getByLabel('Reason').fill('a shop called');
    await row.getByRole('button', { name: 'End it now' }).click();
    await row.getByText('aborted').waitFor();
    const [calls, units] = await Promise.all(
      ['Calls refused', 'Units refused'].map((name) => row.locator(`td[data-name="${name}"]`).innerText()),
    );
    expect([calls, units]).toEqual(['1', '0']);
    // Its window leads to who was refused in it.
    await row.locator('th a').click();
    await page.waitForURL(/\/brownouts\/[0-9a-f-]{36}$/);
    expect(await page.locator('#refused tbody tr').innerText()).toMatch(
      /700100300\s+none named\s+point.list_devices\s+1/,
    );
  });

  it('brown-outs says that units were refused at least, where more calls were than are looked at', async () => {
    const { page, go, seriousFindings } = eva;
    const [from, until] = [-60_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
    const drill = { merchants: [MEXICO], from, until, reason: 'drill 2' };
    const { id } = (await bench.as(EVA, 'POST', '/api/brownouts', drill)).body as { id: string }; // the row's answer
    expect((await bench.till(`${POINT}/devices`, { merchant: MEXICO })).status).toBe(503);
    expect((await bench.as(EVA, 'POST', `/api/brownouts/${id}/abort`, { reason: 'enough' })).status).toBe(200);
    // Shown, it is stored.
    await go(`/brownouts/${id}`);
    await page.locator('#refused tbody tr').waitFor();
    const MANY = 60_000;
    // The one call that was refused, once more for each of so many units.
    const file = join(bench.data_dir, 'puente.db');
    const database = new Database(file, { timeout: 5_000 });
    const names: string[] = database
      .prepare(`SELECT name FROM pragma_table_info('exchanges')`)
      .pluck()
      .all() as string[]; // its columns
    const columns = names.filter((name) => name !== 'sequence');
    const own: Record<string, string> = { id: `id || '-' || n`, unit: `'point:T' || n` };
    database.exec(`WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${MANY})
      INSERT INTO exchanges (${columns.join(', ')}) SELECT ${columns.map((name) => own[name] ?? name).join(', ')}
      FROM counted, (SELECT * FROM exchanges WHERE merchant_id = '${MEXICO}' AND status = 503)`);
    database.prepare(writes.place_exchanges.sql).run(MANY);
    database.close();
    await go(`/brownouts/${id}`);
    const facts = await page.locator('dl.facts').innerText();
    expect(facts.split('\n')).toEqual(['Calls refused', '60,001', 'Units refused', 'at least 49,999']);
    await go('/brownouts');
    const row = page.getByRole('row').filter({ hasText: MEXICO });
    expect(await row.locator('td[data-name="Units refused"]').innerText()).toBe('at least 49,999');
    expect(await seriousFindings()).toEqual([]);
  });

  it('captures switches one on, and saves the file of its calls', async () => {
    const { page, go, seriousFindings } = eva;
    await go('/captures');
    await page.locator('#switch-merchant').fill(ARGENTINA);
    await page.locator('#switch-reason').fill('before the move of June');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('row').getByText(ARGENTINA).waitFor();
    expect(await seriousFindings()).toEqual([]);
    await bench.till(`${POINT}/devices`);
    await page.locator('#export-merchant').fill(ARGENTINA);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the file' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`puente-capture-${ARGENTINA}.jsonl`);
    expect(readFileSync(await download.path(), 'utf8').split('\n').length).toBeGreaterThan(2);
  });

  it('reconciliation compares without a change, and repairs what is safe', async () => {
    const { page, go, seriousFindings } = eva;
    await bench.move({ stage: 'orders', override: true });
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await go('/reconcile');
    const compare = async (): Promise<void> => {
      await page.getByLabel('Merchant', { exact: true }).fill(ARGENTINA);
      await page.getByRole('button', { name: 'Compare' }).click();
    };
    await compare();
    await page.getByText('Puente and upstream agree.').waitFor();
    await bench.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
    await bench.atTerminal('pay');
    await compare();
    await page.getByRole('row').getByText('the order has moved on').waitFor();
    await page.getByRole('row').getByText('safe to repair').waitFor();
    await page.locator('#repair-reason').fill('events were lost');
    await page.getByRole('button', { name: 'Repair what is safe' }).click();
    await page.getByRole('status').getByText('What was safe is repaired').waitFor();
    await page.getByText('Puente and upstream agree.').waitFor();
    expect(await seriousFindings()).toEqual([]);
  });

  it('reconciliation asks legacy about its open sales where it repairs, and tells what came of it', async () => {
    const { page, go, seriousFindings } = eva;
    await bench.move({ stage: 'legacy' });
    await bench.till(`${POINT}/devices/${SECOND_DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await bench.atTerminal('pay', { device: SECOND_DEVICE });
    await go('/reconcile');
    await page.getByLabel('Merchant', { exact: true }).fill(ARGENTINA);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('1 sale on legacy is not known to have ended; repairing asks legacy.').waitFor();
    await page.locator('#repair-reason').fill('the last one');
    await page.getByRole('button', { name: 'Repair what is safe' }).click();
    await page.getByText('Sales on legacy: 1 ended, as legacy shows; 0 not asked about').waitFor();
    expect(await page.getByText('not known to have ended').count()).toBe(0);
    expect(await seriousFindings()).toEqual([]);
  });

  it('each meets no problem of its policy or its scripts', () => {
    expect(eva.problems).toEqual([]);
  });
});
