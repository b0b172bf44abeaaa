/** The other console pages in a real browser: trace, incidents, audit, register, reports; in three languages. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { encoded, say } from '../../../src/locales/message.ts';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, BEN, DEVICE, PEOPLE, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openConsole } from './browser.ts';

/** Script: the places of the menu that the open one covers, and whether it is whole in view. */
const MENU = `(() => {
  const at = (one) => one.closest('li').getBoundingClientRect();
  const here = document.querySelector('.head nav [aria-current]');
  const { left, right } = at(here);
  const covered = [...document.querySelectorAll('.head nav a')].filter((one) => one !== here && at(one).left < right - 1 && at(one).right > left + 1);
  return { covered: covered.map((one) => one.textContent), is_in_view: left >= 0 && right <= innerWidth };
})()`;

/** Script: pairs of the head, one after the other in the document, that are seen in another order (WCAG 2.4.3). */
const MISPLACED = `(() => {
  const all = [...document.querySelectorAll('.head a, .head button, .head input:not([type=hidden])')].map((one) => [one.textContent || one.id, one.getBoundingClientRect()]);
  return all.slice(1).flatMap(([name, { left, top, bottom }], nth) => {
    const [before, { left: first, top: above, bottom: below }] = all[nth];
    return (top >= below - 1) || (bottom > above && left >= first) ? [] : [before + ', ' + name];
  });
})()`;

/** Script: the contrast (WCAG 2) of a hint with its field. */
const HINT_CONTRAST = `(() => {
  const field = document.querySelector('textarea');
  const light = (color) => {
    const [red, green, blue] = color.match(/[\\d.]+/g).map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  const sides = [light(getComputedStyle(field, '::placeholder').color), light(getComputedStyle(field).backgroundColor)];
  return Math.max(...sides) / Math.min(...sides);
})()`;

/** Script: the texts below a selector in which a name, behind what stands before it, is on two lines. */
const brokenNames = (
  selector: string,
  before: string,
  name: string,
): string => `(([selector, before, name]) => [...document.querySelectorAll(selector)].filter((one) => {
  const all = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  const letters = [];
  while (all.nextNode()) [...all.currentNode.data].forEach((_, at) => letters.push([all.currentNode, at]));
  const at = one.textContent.indexOf(before + name);
  if (at < 0) return false;
  const rows = letters.slice(at + before.length, at + before.length + name.length).map(([node, nth]) => {
    const range = document.createRange();
    range.setStart(node, nth);
    range.setEnd(node, nth + 1);
    return Math.round(range.getBoundingClientRect().top);
  });
  return new Set(rows).size > 1;
}).map((one) => one.textContent))(${JSON.stringify([selector, before, name])})`;

describe.skipIf(!hasChromium)('the pages', () => {
  let sale: string;
  const bench = openForAll(() => startBench(PEOPLE));
  beforeAll(async () => {
    await bench.till(`${POINT}/devices`);
    await bench.notify(ARGENTINA, { capture: true });
    const intent = await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, {
      body: { amount: 1500, additional_info: { external_reference: 'mesa <b>4</b>', print_on_terminal: true } },
    });
    sale = (intent.body as { id: string }).id; // the answer of a create
    await bench.atTerminal('pay');
  });
  const ana = openForAll(() => openConsole(bench, ANA));

  it('tell one sale in one story, found from any page, with its four messages redacted', async () => {
    const { page, go } = ana;
    await go('/limitations');
    await page.getByRole('searchbox').fill(sale);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('Found as legacy id').waitFor();
    const boxes = await page.locator('.messages h3').allTextContents();
    expect(boxes).toEqual(['Request of the till', 'Request to upstream', 'Answer of upstream', 'Answer to the till']);
    expect(await page.locator('.messages pre').first().textContent()).toContain('mesa <b>4</b>');
    expect(await page.content()).not.toContain('APP_USR');
    expect(await page.locator('.story li').count()).toBeGreaterThan(4);
    expect(await ana.seriousFindings()).toEqual([]);
    await page.getByText('Show them with their reasons').click();
    await page.locator('#rules-0 li').first().waitFor();
  });

  it('say of an id that nobody knows what to give instead', async () => {
    expect(await ana.go('/trace?id=nobody-knows-this')).toBe(404);
    await ana.page.getByRole('alert').getByText('Nothing is known of it').waitFor();
    expect(await ana.go('/trace')).toBe(200);
    expect(await ana.go('/nowhere')).toBe(404);
    await ana.page.getByText('There is no such page', { exact: false }).waitFor();
  });

  it('of a merchant that was never seen stay pages, and say so in place of their lists', async () => {
    const es = await openConsole(bench, ANA, { locale: 'es' });
    const mistyped = ARGENTINA.slice(0, -1);
    for (const place of ['notices', 'incidents', 'sales', 'ramps']) {
      expect(await es.go(`/${place}?merchant=${mistyped}`)).toBe(200);
      const sentence = `El comercio ${mistyped} no se vio nunca: ninguna llamada, ninguna venta, ningún ajuste. Parecidos: ${ARGENTINA}`;
      await es.page.locator('#main > .notice').getByText(sentence).waitFor();
      expect(await es.page.locator('form.filters [name=merchant]').inputValue()).toBe(mistyped);
    }
    expect(await es.go(`/merchants/${mistyped}`)).toBe(200);
    await es.page.locator('#main').getByText('Este comercio aún no se conoce').waitFor();
    for (const part of ['losses', 'differences', 'coverage', 'notices', 'charts'])
      await es.page.locator(`#${part} > .notice`).getByText('no se vio nunca').waitFor();
    for (const [page, part] of [
      ['notices', 'receivers'],
      ['explain', 'captured'],
    ] as const) {
      expect(await es.go(`/${page}?merchant=${mistyped}`)).toBe(200);
      await es.page.locator(`#${part} > .notice`).getByText('no se vio nunca').waitFor();
    }
    await es.close();
  });

  it('find sales by the name, the id or a tag of their merchant', async () => {
    const { page, go } = ana;
    await go('/sales');
    await page.getByLabel("Merchant's name").fill(ARGENTINA.slice(2));
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/search=/);
    await page.locator('tbody tr').getByText(ARGENTINA).waitFor();
    await page.getByLabel('Tag').fill('centro');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('No sale matches.').waitFor();
    expect(await page.getByLabel("Merchant's name").inputValue()).toBe(ARGENTINA.slice(2));
  });

  it.each([390, 768, 1280])('have their head in the order of the document, %i wide', async (width) => {
    const one = await openConsole(bench, ANA, { locale: 'es', viewport: { width, height: 844 } });
    for (const place of ['/', '/audit']) {
      await one.go(place);
      expect(await one.page.evaluate(MISPLACED)).toEqual([]);
    }
    await one.close();
  });

  it('have the open place in view in the menu of a phone, which covers no other', async () => {
    const phone = await openConsole(bench, ANA, { locale: 'es', viewport: { width: 390, height: 844 } });
    for (const place of ['/', '/audit', '/assumptions']) {
      await phone.go(place);
      expect(await phone.page.evaluate(MENU)).toEqual({ covered: [], is_in_view: true });
      await phone.page.evaluate("document.querySelector('.head nav ul').scrollBy(120, 0)");
      expect(await phone.page.evaluate(MENU)).toMatchObject({ covered: [] });
    }
    await phone.close();
  });

  it('show the commands of an incident as code', async () => {
    const database = new Database(join(bench.data_dir, 'puente.db'));
    const reason = encoded(say('incident.move_waiting', { count: 1, since_at: '2026-01-05T12:00:00Z' }));
    database
      .prepare("INSERT INTO incidents VALUES ('i1', 'move_waiting', ?, '', 1, 1, 2, 'a test', 1, NULL, ?, 0)")
      .run(ARGENTINA, reason);
    database.close();
    for (const locale of ['en', 'pt']) {
      const one = await openConsole(bench, ANA, { locale });
      await one.go('/incidents?kind=move_waiting');
      await one.page.locator('td code', { hasText: /^puente moves list$/ }).waitFor();
      await one.close();
    }
  });

  it('list the decisions of one kind, named in the words of the page', async () => {
    const es = await openConsole(bench, ANA, { locale: 'es' });
    await es.go('/audit');
    await es.page.getByLabel('Qué', { exact: true }).selectOption({ label: 'configuración del comercio' });
    await es.page.getByRole('button', { name: 'Mostrar' }).click();
    await es.page.waitForURL(/action=merchant\+settings/);
    expect(await es.page.locator('tbody tr').count()).toBe(1);
    await es.page.getByLabel('Qué', { exact: true }).selectOption({ label: 'copia de seguridad' });
    await es.page.getByRole('button', { name: 'Mostrar' }).click();
    await es.page.getByText('Ninguna decisión coincide.').waitFor();
    await es.close();
  });

  it('prove the chain of decisions, and show where it does not hold what was noted', async () => {
    const { page, go } = ana;
    await go('/audit');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('status').getByText('Intact: 1 line holds.').waitFor();
    await page.getByLabel('Expected line').fill('1');
    await page.getByLabel('Its hash').fill('0'.repeat(64));
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('alert').getByText('Broken at line 1.').waitFor();
  });

  it('open a report that runs nothing, and give it as a file', async () => {
    const { page, go } = ana;
    await go(`/reports?merchant=${ARGENTINA}`);
    const [report] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Open the report' }).click(),
    ]);
    await report.getByRole('heading', { name: `Migration report: merchant ${ARGENTINA}` }).waitFor();
    await report.close();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'JSON' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`puente-report-${ARGENTINA}.json`);
    expect(await go('/reports/file?merchant=nobody')).toBe(400);
    await page.getByRole('alert').getByText('Something in it is not understood').waitFor();
  });

  it('compare two periods', async () => {
    const { page, go } = ana;
    await go('/reports?compare=true');
    await page.getByRole('row', { name: 'point.create_intent orders' }).getByText('+1').waitFor();
    await page.getByRole('region').getByText('set by a test').first().waitFor();
    expect(await ana.seriousFindings()).toEqual([]);
  });

  it('show the times of assumptions as durations', async () => {
    await ana.go('/assumptions');
    const shownOf = (name: string): Promise<string | null> =>
      ana.page.locator('tr', { hasText: name }).locator('td').first().textContent();
    expect(await shownOf('create.replay_window_ms')).toBe('15 min');
    expect(await shownOf('tokens.kept_for_ms')).toBe('7 d');
    expect(await shownOf('notices.timeout_ms')).toBe('22 s');
    expect(await shownOf('notices.horizon_ms')).toBe('null');
    expect(await shownOf('shadow.queue_bytes')).toBe('16777216');
  });

  it('meet no problem of their policy', () => {
    expect(ana.problems).toEqual([]);
  });

  describe.each([
    ['es', 'light', 1280],
    ['pt', 'dark', 400],
  ] as const)('in %s, %s, %i wide', (locale, colorScheme, width) => {
    const one = openForAll(() => openConsole(bench, BEN, { locale, colorScheme, viewport: { width, height: 800 } }));

    it('what an empty field hints at can be read', async () => {
      await one.go('/bulk');
      expect(await one.page.evaluate(HINT_CONTRAST)).toBeGreaterThan(4.5);
    });

    it('a command or a path of a message ends its lines between names', async () => {
      await one.page.setViewportSize({ width: 390, height: 800 });
      await one.go(`/trace?id=${sale}`);
      expect(await one.page.evaluate(brokenNames('.messages pre', '/devices/', DEVICE))).toEqual([]);
      await one.go(`/merchants/${ARGENTINA.slice(0, -1)}`);
      expect(await one.page.evaluate(brokenNames('#readiness code', '', '--name'))).toEqual([]);
      await one.go('/doctor?check=true');
      expect(await one.page.evaluate(brokenNames('td code', '', '--notify'))).toEqual([]);
      await one.page.setViewportSize({ width, height: 800 });
    });

    it('a report is in that language, and another one is a press away', async () => {
      await one.go('/assumptions');
      await one.go(`/reports/file?merchant=${ARGENTINA}&format=html`);
      expect(await one.page.locator('html').getAttribute('lang')).toBe(locale);
      await one.page.goBack();
      await one.page.getByRole('button', { name: 'es', exact: true }).click();
      await one.page.locator('html[lang=es]').waitFor();
      expect(one.page.url()).toContain('/assumptions');
      expect(one.problems).toEqual([]);
    });
  });
});
