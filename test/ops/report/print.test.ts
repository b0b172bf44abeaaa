/**
 * A day of one merchant and nine days of a fleet, printed by a real Chromium: two pages first (verdict, sums, findings),
 * annexes from the third; six at most for a merchant.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Language, languages, loadWords } from '../../../src/locales/words.ts';
import { html } from '../../../src/ops/html.ts';
import { htmlPage, htmlSection } from '../../../src/ops/report/page.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import { browser, hasChromium } from '../../chromium.ts';
import { ARGENTINA, clockOf, eventually, POINT, startReceiver, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { TILL } from '../../proxy/http/qr-till.ts';
import { idOf, LEFT_IN_DOUBT, openShop } from '../../proxy/http/till.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
let passed_ms = 0;
const clock = clockOf(() => Date.now() + passed_ms);

/** Sales on each lane. */
const SALES = 24;

/** Of the fleet, with the merchant above. */
const MERCHANTS = 40;
/** Two, and of the annexes one for two merchants: their moves, the sums between those, and what is to be judged. */
const MOST_PAGES_OF_FLEET = 20;

describe.skipIf(!hasChromium)('a day of one merchant on paper', () => {
  const directory = mkdtempSync(join(tmpdir(), 'puente-print-'));
  let status = 200;
  const receiver = openForAll(() => startReceiver(() => status));
  const shop = openForAll(() => openShop({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }, { clock }));
  const devices: string[] = [];
  let page: Page;

  const sell = async (nth: number): Promise<{ device: string; id: string }> => {
    const device = devices[nth % devices.length] ?? '';
    const body = { amount: 1500 + nth, additional_info: { external_reference: `ticket-${nth}` } };
    return { device, id: idOf(await shop.create(device, body)) };
  };
  const state = async (id: string): Promise<unknown> => ((await shop.read(id)).body as { state?: unknown }).state;
  const ends = (id: string) =>
    eventually(
      () => state(id),
      (one) => one !== 'OPEN' && one !== 'ON_TERMINAL',
    );
  const report = async (language = '', of = `merchant=${ARGENTINA}&`): Promise<string> => {
    const form = language === '' ? 'format=json' : `format=html&language=${language}`;
    const answer = await shop.ops(`/api/report?${of}since=${since}&${form}`);
    expect(answer.status).toBe(200);
    return answer.text;
  };
  // The merchant's own calls may change its revision in between.
  const move = (stage: string, merchant = ARGENTINA) =>
    eventually(
      async () => {
        const { revision } = (await shop.ops(`/api/merchants/${merchant}`)).body as { revision: number }; // every view has one
        const body = { stage, reason: 'agreed with the shop', revision };
        return shop.ops(`/api/merchants/${merchant}/stage`, { method: 'PUT', body });
      },
      ({ status: answered }) => answered === 200,
    );
  const since = `${new Date(Date.now() - MINUTE_MS).toISOString().slice(0, 10)}T00:00:00Z`; // a certificate needs its first day whole

  beforeAll(async () => {
    for (let nth = 0; nth < 6; nth++) devices.push(shop.freshDevice());
    const own = { notice_url: `${receiver.url}/hook`, declined: 'finished', credential: tokenOf(ARGENTINA) };
    await shop.notify(ARGENTINA, own);
    for (let nth = 0; nth < SALES; nth++) {
      const { device, id } = await sell(nth);
      if (nth % 3 === 0) await shop.cancel(device, id);
      else {
        await shop.atTerminal('pay', { device });
        await ends(id);
      }
    }
    await move('shadow');
    await sell(SALES).then(({ device, id }) => shop.cancel(device, id));
    await move('orders');
    for (let nth = 0; nth < SALES; nth++) {
      const { device, id } = await sell(nth + 100);
      if (nth % 5 === 0) {
        await shop.cancel(device, id);
        continue;
      }
      await shop.atTerminal(nth === 7 ? 'decline' : 'pay', { device });
      await ends(id);
      if (nth === 8) await refund(id);
    }
    // A receiver that is out for a while: what it refused is acknowledged late.
    status = 500;
    const { device, id } = await sell(300);
    await shop.atTerminal('pay', { device });
    await ends(id);
    await eventually(
      async () => JSON.parse(await report()) as Report, // the API's shape
      ({ receivers }) => receivers.some(({ refused }) => refused > 0),
    );
    status = 200;
    passed_ms += 20 * MINUTE_MS;
    await eventually(
      async () => JSON.parse(await report()) as Report, // the API's shape
      ({ receivers }) => receivers.some(({ late }) => late > 0),
    );
    const path = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`;
    const item = { title: 'Coffee', unit_price: 30, quantity: 1, unit_measure: 'unit', total_amount: 30 };
    const code = {
      external_reference: 'Factura 9',
      title: 'Shop',
      description: 'Table',
      total_amount: 30,
      items: [item],
    };
    expect((await shop.till(path, { method: 'PUT', body: code })).status).toBe(204);
    await shop.control(`/pos/${ARGENTINA}/${TILL}/pay`, { method: 'POST', body: {} });
    // A till's mistakes, and a sale that upstream never showed.
    await shop.create(devices[0] ?? '', { amount: 'x' });
    const odd = await shop.create(devices[0] ?? '', { amount: 1500, unknown_field: 'of this till' });
    await shop.cancel(devices[0] ?? '', idOf(odd));
    await shop.fault({ ...LEFT_IN_DOUBT, times: 'always' });
    await shop.till(`${POINT}/devices/${shop.freshDevice()}/payment-intents`, { body: { amount: 900 } });
    await eventually(
      () => {
        passed_ms += MINUTE_MS;
        return shop.ops('/api/sales?state=lost');
      },
      ({ text }) => text.includes('"lost"'),
    );
    await shop.clearFaults();
    page = await (await browser()).newPage();
  }, 300_000);
  afterAll(() => page?.context().close());

  async function refund(id: string): Promise<void> {
    const { body } = await shop.read(id);
    const { payment } = body as { payment?: { id?: string } }; // a finished intent has one
    const answer = await shop.till(`/v1/payments/${payment?.id}/refunds`, {
      body: {},
      headers: { 'x-idempotency-key': 'one' },
    });
    expect(answer.status, answer.text).toBe(201);
  }

  async function open(language: Language, of?: string): Promise<void> {
    const file = join(directory, `day-${language}.html`);
    writeFileSync(file, await report(language, of));
    await page.goto(pathToFileURL(file).href);
  }

  async function expectWholeWords(): Promise<void> {
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize(PAPER);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PAPER.width);
    const { broken, words } = (await page.evaluate(BROKEN_WORDS)) as { broken: string[]; words: number }; // made below
    expect(words).toBeGreaterThan(1_000);
    expect(broken).toEqual([]);
    await page.emulateMedia({ media: null });
  }

  /** The pages of the printed file, each with its headings. */
  async function printed(): Promise<string[][]> {
    await page.emulateMedia({ media: null });
    return headingsByPage(await page.pdf({ preferCSSPageSize: true, outline: true, tagged: true }));
  }

  it.each(languages)('in %s: verdict and sums, then findings, then annexes; six pages at most', async (language) => {
    await open(language);
    const { t } = loadWords()[language];
    const pages = await printed();
    expect(pages.length, JSON.stringify(pages)).toBeLessThanOrEqual(6);
    const [first = [], second = [], third = []] = pages;
    expect(first.slice(0, 2)).toEqual([t('report.title.merchant', { id: ARGENTINA }), t('report.section.verdict')]);
    expect(first.at(-1)).toBe(t('report.section.sums'));
    expect(second).toEqual(['completion', 'unmatched', 'approvals'].map((name) => t(`report.section.${name}`)));
    expect(third[0]).toBe(t('report.annexes'));
    const annexes = ['opens', 'move_sums', 'receivers', 'notices', 'days', 'decisions', 'limitations', 'assumptions'];
    for (const name of annexes) expect(pages.flat()).toContain(t(`report.section.${name}`));
  });

  it.each(languages)('in %s: no word is broken, and nothing is cut at the side of a page', async (language) => {
    await open(language);
    await expectWholeWords();
  });

  it.each(languages)('in %s: a laptop shows every table whole', async (language) => {
    await open(language);
    await page.setViewportSize({ width: 1_280, height: 800 });
    const wide = `[...document.querySelectorAll('.frame')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)`;
    expect(await page.evaluate(wide)).toEqual([]);
  });

  it('the whole of the settings and limitations is on the screen, beside what paper has of them', async () => {
    await open('en');
    const { assumptions, limitations } = JSON.parse(await report()) as Report; // the API's shape
    const texts = async (media: 'screen' | 'print') => {
      await page.emulateMedia({ media });
      return page.locator('body').innerText();
    };
    const [screen, paper] = [await texts('screen'), await texts('print')];
    for (const { name, sentence, is_default } of assumptions) {
      for (const text of [screen, paper]) expect(text).toContain(name);
      expect(screen).toContain(plain(sentence).slice(0, 60));
      if (!is_default) expect(paper).toContain(plain(sentence).slice(0, 60));
    }
    for (const { id, effect } of limitations) {
      expect(screen).toContain(plain(effect).slice(0, 60));
      expect(paper).toContain(id);
    }
  });

  it('a row of narrow sections stays on the page where it has room, without the row below it', async () => {
    const tall = (name: string, height_mm: number, place = '') =>
      htmlSection(name, html`<div style="height: ${height_mm}mm"></div>`, null, '', place);
    const rows = ['B', 'C', 'D', 'E'].map((name) => tall(name, 50, 'half'));
    await page.setContent(htmlPage('en', 'rows', [html`<div class="annex">${[tall('A', 80), ...rows]}</div>`]));
    expect((await printed()).map((names) => names.toSorted())).toEqual([
      ['A', 'B', 'C'],
      ['D', 'E'],
    ]);
  });

  it('ends in a certificate that can be signed, on one page, when a person has accepted the lost sale', async () => {
    const { unmatched } = JSON.parse(await report()) as Report; // the API's shape
    for (const { id } of unmatched) {
      const seen = await shop.ops(`/api/sales/${id}/disagreements`);
      const { newest } = JSON.parse(seen.text) as { newest: number }; // the API's shape
      const answer = await shop.ops(`/api/sales/${id}/acknowledge`, {
        body: { reason: 'refunded in cash, case 1234', expected: newest },
      });
      expect(answer.status, answer.text).toBe(200);
    }
    passed_ms += 9 * DAY_MS;
    const made = JSON.parse(await report()) as Report; // the API's shape
    expect([
      made.readiness?.blockers,
      made.readiness?.unproven,
      made.unmatched.filter(({ state }) => state === 'open'),
    ]).toEqual([[], [], []]);
    for (const language of languages) {
      await open(language);
      const pages = await printed();
      expect(pages.length, JSON.stringify(pages)).toBeLessThanOrEqual(6);
      expect(pages.flat().at(-1)).toBe(loadWords()[language].t('certificate.title'));
      const block = page.locator('.certificate');
      expect(await block.innerText()).toContain('refunded in cash, case 1234');
      expect(await block.evaluate(BREAKS)).toBe('avoid');
    }
  });

  describe(`with ${MERCHANTS} merchants`, () => {
    beforeAll(async () => {
      multiply(join(shop.data_dir, 'puente.db'));
      for (let nth = 1; nth < MERCHANTS; nth++) {
        const merchant = idOfCopy(nth);
        await shop.notify(merchant, { name: `${NAMES[nth % NAMES.length]} ${nth}` });
        for (const stage of ['shadow', 'orders'].slice(0, nth % 3)) await move(stage, merchant);
      }
    }, 120_000);

    it.each(languages)('in %s: verdict and sums, then findings, then annexes; no name is broken', async (language) => {
      await open(language, '');
      const { t } = loadWords()[language];
      const pages = await printed();
      expect(pages.length, JSON.stringify(pages)).toBeLessThanOrEqual(MOST_PAGES_OF_FLEET);
      const [first = [], second = [], third = []] = pages;
      expect(first).toEqual([
        t('report.title.fleet'),
        ...['verdict', 'sums'].map((name) => t(`report.section.${name}`)),
      ]);
      expect(second).toEqual(['unmatched', 'approvals', 'findings'].map((name) => t(`report.section.${name}`)));
      expect(third[0]).toBe(t('report.annexes'));
      for (const name of ['opens', 'merchants', 'move_sums', 'decisions'])
        expect(pages.flat()).toContain(t(`report.section.${name}`));
      const merchants = page.locator('table').filter({ hasText: t('report.head.open_differences') });
      expect(await merchants.locator('tbody tr').count()).toBe(MERCHANTS);
      await expectWholeWords();
    });
  });
});

/** As shops are called: long, with accents. */
const NAMES = ['Panadería y Confitería La Esquina', 'Farmácia São João Botafogo', 'Ferretería Núñez e Hijos'];

const idOfCopy = (nth: number): string => String(700_200_000 + nth);

/** Copies the merchant's row (without its secrets), its calls and its sales on legacy and on orders, for each other one. */
function multiply(path: string): void {
  const database = new Database(path);
  const copy = (table: string, own: Readonly<Record<string, string>>, where = 'true'): void => {
    const names = database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
    const columns = names.filter((name) => name !== 'sequence');
    database
      .prepare(
        `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${MERCHANTS - 1})
         INSERT INTO ${table} (${columns.join(', ')})
         SELECT ${columns.map((name) => own[name] ?? name).join(', ')} FROM counted, (SELECT * FROM ${table} WHERE ${where})`,
      )
      .run();
  };
  const merchant = `'' || (700200000 + n)`;
  const as = (id: string): string => `substr(${id}, 1, 24) || printf('%04d', n) || substr(${id}, 29)`;
  const links = { legacy_id: as('legacy_id'), idempotency_key: as('idempotency_key'), order_id: `order_id || n` };
  const secrets = { sealed_notice_url: 'NULL', sealed_notice_secret: 'NULL', sealed_credential: 'NULL' };
  database.transaction(() => {
    const settings = `json_set(settings, '$.stage', 'legacy')`;
    copy('merchants', { id: merchant, settings, ...secrets });
    copy('exchanges', { id: `id || '-' || n`, merchant_id: merchant }, 'merchant_id IS NOT NULL');
    for (const table of ['traffic', 'seen_units']) copy(table, { merchant_id: merchant });
    copy('legacy_sales', { id: as('id'), legacy_id: as('legacy_id'), merchant_id: merchant });
    // Two sales of one in five merchants are approved twice.
    const twice = `json_set(order_json, '$.transactions.payments[1]', order_json -> '$.transactions.payments[0]')`;
    const order_json = `CASE WHEN order_json IS NOT NULL AND n % 5 = 0 AND amount_minor IN (1602, 1603) THEN ${twice} ELSE order_json END`;
    const own = { ...links, merchant_id: merchant, merchant_order_id: 'NULL', order_json };
    copy('links', own, `state IN ('DONE', 'LOST')`);
  })();
  database.close();
}

const plain = (sentence: string): string => sentence.replaceAll('`', '');

/** A4 landscape within its margins, in CSS pixels. */
const PAPER = { width: 1054, height: 726 };

/** Script: words that stand on more than one line, and how many there are. */
const BROKEN_WORDS = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const broken = [];
  let words = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest('svg, .evidence') !== null || node.parentElement.getClientRects().length === 0) continue;
    for (const found of node.textContent.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const lines = new Set([...range.getClientRects()].filter((one) => one.width > 0).map((one) => Math.round(one.top)));
      words++;
      if (lines.size > 1) broken.push(found[0]);
    }
  }
  return { broken, words };
})()`;

const BREAKS = (one: object): string => {
  const { getComputedStyle } = globalThis as unknown as { getComputedStyle(of: object): { breakInside: string } }; // in the page
  return getComputedStyle(one).breakInside;
};

/** The headings on each page, in the order of the outline that Chromium writes into a PDF. */
function headingsByPage(pdf: Buffer): string[][] {
  const text = pdf.toString('latin1');
  const objects = new Map(
    [...text.matchAll(/(?:^|\n)(\d+) 0 obj\n([\s\S]*?)\nendobj/g)].map(([, id = '', body = '']) => [id, body]),
  );
  const leaves = (id: string): string[] => {
    const [, kids] = /\/Kids\s*\[([^\]]*)\]/.exec(objects.get(id) ?? '') ?? [];
    return kids === undefined ? [id] : [...kids.matchAll(/(\d+) 0 R/g)].flatMap(([, kid = '']) => leaves(kid));
  };
  const [root = ''] =
    [...objects].find(([, body]) => /\/Type\s*\/Pages\b/.test(body) && !body.includes('/Parent')) ?? [];
  const pages = leaves(root);
  const headings = [...objects.values()].flatMap((body) => {
    const [, title = '', page = '', left = '', top = ''] =
      /\/Title\s*(<[^>]*>|\((?:\\.|[^)])*\))[\s\S]*?\/Dest\s*\[(\d+) 0 R \/XYZ (\S+) (\S+)/.exec(body) ?? [];
    return title === '' ? [] : [{ title: titleOf(title), page, left: Number(left), top: Number(top) }];
  });
  return pages.map((page) =>
    headings
      .filter((one) => one.page === page)
      .toSorted((one, other) => other.top - one.top || one.left - other.left)
      .map(({ title }) => title),
  );
}

/** A string of a PDF: UTF-16 in hexadecimal digits, or text in parentheses. */
function titleOf(raw: string): string {
  if (raw.startsWith('(')) return raw.slice(1, -1).replace(/\\(.)/g, '$1');
  return Buffer.from(raw.slice('<FEFF'.length, -1), 'hex').swap16().toString('utf16le');
}
