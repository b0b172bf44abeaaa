/** A report in Spanish and Portuguese, opened from disk without a network: all English left is marked as English. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { say } from '../../../src/locales/message.ts';
import { loadWords } from '../../../src/locales/words.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import { OTHERS } from '../../../src/mapping/tables.ts';
import { reportHtml } from '../../../src/ops/report/html.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import { MORE_FIELDS, NO_OPERATION } from '../../../src/ops/report/tally.ts';
import { browser, hasChromium, seriousFindings } from '../../chromium.ts';
import { openForAll } from '../../open.ts';
import { HOUSE } from '../../run-cli.ts';
import { decision, reportOf } from './kit.ts';

const words = loadWords();
const { limitations } = loadTables(join(HOUSE, 'mappings'));

/** Texts written by people are not translated. */
const REASON = 'two weeks of good numbers';
const OWN_ROW = 'a row of an operator and of nobody else';
const UNTRANSLATED = 'what no list of texts has';

function finding(code: 'in_doubt' | 'faults') {
  const facts = { faults: 12, calls: 3_400, kind: 'intents' as const, days: 7, share: 5 };
  const { text: what, said } = code === 'in_doubt' ? say('in_doubt', { count: 2 }) : say('faults', facts);
  return { code, what, said, command: 'puente reconcile', operation: null, sample: null };
}

/** A fleet report with a line in every list; with the merchant's report it holds every sentence of a report. */
function fleetReport(): Report {
  const day = '2026-03-01';
  const outcomes = { ok: 12_345, business: 1, auth: 0, fault: 2 };
  const stopped = say('safety.in_a_row', { in_a_row: 5, limit: 5 });
  const line = { ...decision(4, stopped.text), who: 'puente', action: 'safety stop', said: stopped.said };
  const summed = { what: 'sale', lane: 'orders', family: 'point', currency: 'ARS' } as const;
  const span = {
    merchant_id: '1',
    since: `${day}T10:00:00.000Z`,
    until: `${day}T12:00:00.000Z`,
    line: null,
    before: null,
    after: null,
  };
  const lost = say('unmatched.lost', {});
  const loss = {
    weight: 'money' as const,
    operation: 'point.create_intent',
    table: 'point.create',
    advice: UNTRANSLATED,
  };
  const merchant = { share: 0, stopped: false, blockers: 2, calls: 9, faults: 1, losses: 0, open_differences: 3 };
  const [applied, unseen] = [
    limitations.find(({ counted }) => !('unseen' in counted)),
    limitations.find(({ counted }) => 'unseen' in counted),
  ];
  const textsOf = (one: typeof applied) => ({
    id: one?.id ?? '',
    title: one?.title ?? '',
    effect: one?.effect ?? '',
    workaround: one?.workaround ?? '',
  });
  return reportOf({
    merchant_id: null,
    exchanges: {
      count: 12_348,
      first_sequence: 1,
      last_sequence: 12_348,
      uncounted: 7,
      shed: { shadow: 1, evidence: 2 },
    },
    sums: [{ ...summed, outcome: 'paid', count: 3, without_amount: 0, amount_minor: '1234550', amount: '12345.50' }],
    move_sums: [
      { ...span, ...summed, outcome: 'not_known', count: 2, without_amount: 2, amount_minor: '0', amount: '0.00' },
    ],
    unmatched: [
      {
        ...{
          known_to: 'both',
          state: 'open',
          kind: 'lost',
          found_at: `${day}T11:30:00.000Z`,
          merchant_id: '1',
          unit: null,
          id: 'i',
        },
        ...{ order_id: null, currency: 'ARS', amount_minor: null, amount: null, what: lost.text, said: lost.said },
        ...{ acknowledged_by: 'ana', acknowledged_at: `${day}T11:40:00.000Z`, acknowledged_why: 'case 1234' },
      },
    ],
    approvals: [
      {
        ...summed,
        outcome: 'paid',
        at: `${day}T11:30:00.000Z`,
        merchant_id: '1',
        ...{ unit: 'PAX', id: 'i', order_id: 'o', approvals: 2, refund: null, refunded: null, state: 'open' },
        ...{ acknowledged_by: null, acknowledged_at: null, acknowledged_why: null },
        amount_minor: '1234550',
        amount: '12345.50',
      },
    ],
    traffic: [
      { operation: 'point.create_intent', lane: 'orders', calls: 12_348, outcomes },
      { operation: NO_OPERATION, lane: 'legacy', calls: 1, outcomes },
    ],
    days: [{ day, legacy: 4_000, orders: 12_000, faults: 2 }],
    errors: [{ operation: 'point.create_intent', lane: 'orders', status: 409, error: OTHERS, calls: 3, sample: 'x' }],
    losses: [
      { ...loss, path: 'body.tip', why: OWN_ROW, count: 2, would_be_count: 1 },
      { ...loss, path: OTHERS, why: MORE_FIELDS, count: 1, would_be_count: 0 },
    ],
    differences: (['verdict', 'error', 'value'] as const).map((what) => ({
      ...{
        merchant_id: '1',
        signature: what,
        operation: 'point.get_intent',
        what,
        path: what === 'value' ? 'state' : '',
      },
      ...{ legacy: '1234.50', orders: 'refused by orders with bad_request', state: 'new', count: 4 },
      ...{ first_at: `${day}T10:00:00.000Z`, last_at: `${day}T11:00:00.000Z` },
    })),
    shadow: (['accepted', 'refused_here', 'refused_there'] as const).map((verdict) => {
      return { operation: 'point.create_intent', verdict, code: null, error: 'bad_request', count: 2 };
    }),
    notices: [{ topic: 'point_integration_ipn', made: 9, delivered: 5, retried: 1, pending: 3, stuck: 2, dead: 1 }],
    notice_days: [{ day, made: 9, delivered: 5, pending: 3, stuck: 2, dead: 1 }],
    incidents: [line],
    decisions: [decision(3, REASON)],
    assumptions: [
      { name: 'moves.gate', value: 'enforce', sentence: UNTRANSLATED, is_default: true },
      { name: 'merchants.declined', value: 'finished (of this merchant)', sentence: UNTRANSLATED, is_default: false },
    ],
    limitations: [
      { ...textsOf(applied), hits: 3, calls: 5, unseen: null },
      { ...textsOf(unseen), hits: null, calls: 5, unseen: UNTRANSLATED },
    ],
    merchants: [
      {
        merchant_id: '1',
        name: 'Café',
        site: 'MLA',
        stage: 'canary',
        verdict: 'blocked',
        ...merchant,
        share: 12.5,
        stopped: true,
      },
      { merchant_id: OTHERS, name: null, site: null, stage: 'legacy', verdict: 'ready', ...merchant },
    ],
    verdicts: { ready: 1, blocked: 1, inconclusive: 0 },
    readiness_days: [{ day, ready: 1, inconclusive: 0, blocked: 1 }],
    findings: [{ merchant_id: '1', ...finding('faults') }],
    left_out: { differences: 1, incidents: 2, decisions: 3, findings: 4, move_sums: 5, approvals: 6, unmatched: 7 },
  });
}

function merchantReport(): Report {
  const { text: reason, said } = say('chain.changed', { line: 4 });
  return {
    ...fleetReport(),
    merchant_id: '700100200',
    audit: { intact: false, lines: 3, head: null, broken: { sequence: 4, reason, said } },
    readiness: {
      ...{
        merchant_id: '700100200',
        merchant_name: null,
        about: 'next_move',
        verdict: 'blocked',
        operations: [],
        tables_revision: 'aaaaaaaaaaaa',
      },
      ...{ move: 'to a canary', move_said: { code: 'judged.orders', facts: {} } },
      ...{ blockers: [finding('faults')], unproven: [finding('in_doubt')], remarks: [finding('in_doubt')] },
      acknowledged: [],
      judged_at: '2026-03-08T00:00:00.000Z',
    },
  };
}

/** Script for the page: `texts` not marked as English (visible texts and aria labels), and `english`, those marked. */
const TEXTS = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [...document.querySelectorAll('[aria-label]')].map((one) => one.getAttribute('aria-label'));
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.replace(/\\s+/g, ' ').trim();
    if (text !== '' && walker.currentNode.parentElement.closest('span[lang=en], code') === null) texts.push(text);
  }
  return { texts: [...texts, document.title], english: [...document.querySelectorAll('span[lang=en]')].map((one) => one.textContent) };
})()`;

/** A sentence has at least three words; names of operations, numbers and ids do not count. */
function isSentence(text: string): boolean {
  return text.split(' ').filter((word) => /^\(?[a-z'-]+[,.;:)]*$/i.test(word)).length > 2 && text !== REASON;
}

describe.skipIf(!hasChromium)('a report of', () => {
  const directory = mkdtempSync(join(tmpdir(), 'puente-report-'));
  const asked: string[] = [];
  let page: Page;
  const context = openForAll(async () => (await browser()).newContext({ offline: true }));
  beforeAll(async () => {
    page = await context.newPage();
    page.on('request', (request) => asked.push(request.url()));
  });

  async function open(report: Report, language: keyof typeof words): Promise<{ texts: string[]; english: string[] }> {
    const file = join(directory, `${language}.html`);
    writeFileSync(file, await reportHtml(report, words[language]));
    const { href } = pathToFileURL(file);
    await page.goto(href);
    expect(asked.splice(0)).toEqual([href]);
    return (await page.evaluate(TEXTS)) as { texts: string[]; english: string[] }; // shape of the script's result
  }

  const reports = { 'the fleet': fleetReport, 'a merchant': merchantReport };
  describe.each(Object.entries(reports))('%s', (_name, make) => {
    it.each(['es', 'pt'] as const)(
      'has no English sentence that is not marked, and its charts: %s',
      async (language) => {
        const before = await open(make(), 'en');
        expect(before.english).toEqual([]);
        expect(before.texts.filter(isSentence).length).toBeGreaterThan(20);
        const own = await open(make(), language);
        expect(own.texts.filter((text) => isSentence(text) && before.texts.includes(text))).toEqual([]);
        // English remains only for untranslated texts and for facts as recorded.
        const fact = /^(stage|judgement) /;
        expect(new Set(own.english.filter((text) => !fact.test(text)))).toEqual(new Set([OWN_ROW, UNTRANSLATED]));
        expect(own.texts.filter((text) => text.includes('`'))).toEqual([]); // setting names are shown as code
        expect(own.texts).toContain(REASON);
        expect(await page.locator('html').getAttribute('lang')).toBe(language);
        expect(await page.locator('svg[role=img]:visible').count()).toBe(6);
        expect(await page.locator('svg[role=img]:visible rect:has(> title)').count()).toBeGreaterThan(10);
        expect(await seriousFindings(page)).toEqual([]);
      },
    );
  });

  it('the fleet has numbers, days and instants as the language writes them, and values of tills as they were', async () => {
    const told = async (language: keyof typeof words): Promise<string> =>
      (await open(fleetReport(), language)).texts.join('\n');
    const [es, pt, en] = [await told('es'), await told('pt'), await told('en')];
    expect([es.includes('12.345'), pt.includes('12.345'), en.includes('12,345')]).toEqual([true, true, true]);
    const shares = ['canario, 12,5 %', 'canário, 12,5 %', 'canary, 12.5 %'];
    expect([es, pt, en].map((text, index) => text.includes(shares[index] ?? ''))).toEqual([true, true, true]);
    expect([es, pt, en].map((text) => text.includes('2026-03-01'))).toEqual([true, true, true]);
    for (const [language, text] of [
      ['es', es],
      ['pt', pt],
      ['en', en],
    ] as const) {
      expect(text).toContain(words[language].time('2026-03-01T11:00:00.000Z'));
      expect(text).not.toContain('2026-03-01T');
    }
    expect(await page.locator('code:text-is("1234.50")').count()).toBe(3);
    expect(await page.locator('time[datetime="2026-03-01T11:00:00.000Z"]').count()).toBe(3);
  });
});
