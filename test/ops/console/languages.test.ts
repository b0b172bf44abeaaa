/** Every page in Spanish and Portuguese: no English sentence, marked as English or not; it is accessible, and fits a phone. */
import { beforeAll, describe, expect, it } from 'vitest';
import { pages } from '../../../src/ops/console/console.ts';
import { hasChromium } from '../../chromium.ts';
import {
  ARGENTINA,
  BEN,
  type Bench,
  BRAZIL,
  DEVICE,
  EVA,
  eventually,
  MEXICO,
  POINT,
  startReceiver,
} from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { openConsole } from './browser.ts';

const HERE = `/merchants/${ARGENTINA}`;
const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;

/** Texts written by people are not translated. */
const WRITTEN_BY_PEOPLE = ['set by a test', 'a test moves it'];

const LOSS = 'Legacy accepted a description in Brazil only';
/** Files as they are pasted into pages that show first what would change. */
const PREVIEWED = [
  ['/import', `id,name,tags\n${ARGENTINA},Sur,centro`],
  ['/plan', `merchants:\n  - id: "${ARGENTINA}"\n    voucher: drop\n    stage: orders\n  - id: "7"\n    stage: shadow`],
] as const;

/** Beginnings of texts that come from the register, settings, tables and a loss, by page. */
const SAID = [
  ['/', 'safety stop: intents'],
  ['/', '50 % faults on orders'],
  ['/limitations', 'a declined payment shows as ERROR'],
  ['/assumptions', 'Fewer calls in the window are not judged by their share;'],
  ['/evidence', 'Additional property description is not allowed: Mexico answers 400'],
  [HERE, LOSS],
  [HERE, 'Your till sends body.description with POST'],
  ['trace', LOSS],
  ['trace', `body.description did not reach the order: ${LOSS}`],
  ['trace', 'drop body.description, note → –'],
] as const;

/** Script: texts of a page not marked as English nor pasted by a person, and places of those marked, except a status and its code. */
const TEXTS = `(() => {
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.replace(/\\s+/g, ' ').trim();
    if (text !== '' && walker.currentNode.parentElement.closest('span[lang=en], pre, code, textarea') === null) texts.push(text);
  }
  const english = [...document.querySelectorAll('main span[lang=en]')].filter((one) => !/^(\\d{3} [a-z_]+)?$/.test(one.textContent.trim()));
  return { texts, places: [...new Set(english.map((one) => one.closest('section')?.id ?? location.pathname))] };
})()`;

interface Texts {
  texts: string[];
  places: string[];
}

/** A sentence has at least three words; names of operations, numbers and ids do not count. */
function isSentence(text: string): boolean {
  const words = text.split(' ').filter((word) => /^\(?[a-z'-]+[,.;:)]*$/i.test(word));
  return words.length > 2 && !WRITTEN_BY_PEOPLE.includes(text);
}

/** Names of the lists that are wider than their frame. */
const CUT_OFF = `[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)`;

/** Script: whether the name of the page that is open is in view, in a line of names that scrolls. */
const HERE_IN_VIEW = `[...document.querySelectorAll('.head nav [aria-current]')].every((one) => one.getBoundingClientRect().left >= 0 && one.getBoundingClientRect().right <= innerWidth)`;

describe.skipIf(!hasChromium)('a page in another language', () => {
  let sale: string;
  let notice: string;
  let bulk: string;
  let ramp: string;
  let brownout: string;
  const receiver = openForAll(() => startReceiver(() => 500));
  const bench = openForAll(() =>
    startMoves({
      PUENTE_ROUTING_DEFAULT_STAGE: 'shadow',
      PUENTE_MOVES_GATE: 'advise',
      PUENTE_SAFETY_MIN_SAMPLE: '1',
    }),
  );
  beforeAll(async () => {
    await bench.till(CREATE, { merchant: MEXICO, body: { amount: 1500, description: 'mesa' } });
    const failing = { method: 'POST', kind: 'error', times: 1 };
    await bench.till(`${POINT}/devices`);
    await bench.control('/faults', { body: { ...failing, path: CREATE, status: 400, code: 'bad' } });
    await bench.till(CREATE, { body: { amount: 1500 } });
    await bench.notify(ARGENTINA, { notice_url: receiver.url, safety_stop: 'armed', capture: true });
    await bench.move({ stage: 'orders', override: true }, EVA);
    const body = { amount: 1500, description: 'mesa', additional_info: { external_reference: 'm<4>' } };
    sale = ((await bench.till(CREATE, { body })).body as { id: string }).id; // the answer of a create
    await bench.atTerminal('pay');
    await eventually(
      async () => receiver.received.length,
      (count) => count > 0,
    );
    const told = await bench.ops('/api/notices');
    notice = (told.body as { notices: { id: string }[] }).notices[0]?.id ?? ''; // the API's shape
    await bench.control('/faults', {
      body: { ...failing, path: '/v1/orders', status: 500, code: 'internal_error', times: 'always' },
    });
    await bench.till(CREATE, { body: { amount: 1700 } });
    await eventually(
      () => bench.stageOf(),
      ({ in_force }) => in_force.intents?.stage === 'shadow',
    );
    await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'a test moves it' });
    const items = { target: { stage: 'shadow' }, items: [{ merchant_id: ARGENTINA }], reason: 'a test moves it' };
    bulk = ((await bench.as(BEN, 'POST', '/api/bulk', items)).body as { id: string }).id; // the answer of a start
    await eventually(
      () => bench.as(BEN, 'GET', `/api/bulk/${bulk}`),
      ({ text }) => !text.includes('running'),
    );
    await bench.notify(BRAZIL, { safety_stop: 'armed' });
    const steps = { steps: [50, 100], soak_ms: 3_600_000, min_sales: 10 };
    const started = await bench.as(EVA, 'POST', '/api/ramps', {
      merchants: [BRAZIL],
      ...steps,
      reason: 'a test moves it',
    });
    expect(started.text).toContain('"id"');
    ramp = (started.body as { id: string }).id; // the answer of a start
    const window = { from: '2090-01-31T09:00:00Z', until: '2090-01-31T10:00:00Z', reason: 'a test moves it' };
    const drill = await bench.as(EVA, 'POST', '/api/brownouts', { merchants: [BRAZIL], ...window });
    brownout = (drill.body as { id: string }).id; // the answer of a start
  });

  const placesNow = (): string[] => [
    '/',
    HERE,
    `${HERE}/lanes`,
    `${HERE}/charts`,
    '/decommission',
    `${HERE}/decommission`,
    `${HERE}/settings`,
    '/bulk',
    `/bulk/${bulk}`,
    '/ramps',
    '/drift',
    '/plan',
    '/import',
    `${HERE}/erase`,
    '/doctor?check=true',
    '/backups',
    '/evidence',
    `/ramps/${ramp}`,
    '/explain',
    '/brownouts',
    `/brownouts/${brownout}`,
    '/reconcile?compare=true',
    '/captures',
    `${HERE}?stage=orders&override=true`,
    `/trace?id=${sale}`,
    '/trace?id=unknown-id',
    '/notices',
    `/notices/${notice}`,
    '/sales',
    `/sales/${sale}/acknowledge`,
    '/incidents',
    '/limitations',
    '/assumptions',
    `/audit?verify=true&sequence=1&hash=${'0'.repeat(64)}`,
    '/reports?compare=true',
    '/reports/sums',
    '/reports/charts',
    '/notices?merchant=x&state=odd',
    '/nowhere',
  ];

  /** Texts of each page, by locale. */
  const found = new Map<string, Map<string, Texts>>();

  it.each([
    ['en', 'dark', 390, 0],
    ['pt-BR', 'light', 390, 1],
    ['es-AR', 'dark', 360, 2],
  ] as const)(
    'is accessible and fits a phone, %s, %s, %i wide: only what scrolls by itself is wider, whatever is opened on it',
    async (locale, colorScheme, width, third) => {
      const { page, go, close, seriousFindings } = await openConsole(bench as Bench, BEN, {
        locale,
        colorScheme,
        viewport: { width, height: 844 },
      });
      const texts = new Map<string, Texts>();
      found.set(locale, texts);
      for (const [nth, place] of placesNow().entries()) {
        await go(place);
        texts.set(place, (await page.evaluate(TEXTS)) as Texts); // shape of the script's result
        await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
        expect([place, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([place, width]);
        // The rows of a list or of a chart's figures are cards: none is cut off at the edge of its frame.
        expect([place, await page.evaluate(CUT_OFF)]).toEqual([place, []]);
        expect([place, await page.evaluate(HERE_IN_VIEW)]).toEqual([place, true]);
        // Each page once: what axe looks for hangs on no language.
        if (nth % 3 === third) expect([place, await seriousFindings()]).toEqual([place, []]);
      }
      for (const [place, text] of PREVIEWED) {
        await go(place);
        await page.locator('#text').fill(text);
        await page.locator('main form.change button').first().click();
        await page.locator('#found form').waitFor();
        texts.set(`${place}#found`, (await page.evaluate(TEXTS)) as Texts);
        expect([place, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([place, width]);
        expect([place, await page.evaluate(CUT_OFF)]).toEqual([place, []]);
        expect([place, await seriousFindings()]).toEqual([place, []]);
      }
      await go(`${HERE}?stage=orders&override=true`);
      await page.locator('#stage-reason').fill('prueba');
      await page.locator('#stage-reason').press('Enter');
      await page.getByRole('alert').first().waitFor();
      texts.set('refused', (await page.evaluate(TEXTS)) as Texts);
      await close();
    },
  );

  it.each(['es-AR', 'pt-BR'])('has no English sentence: %s', (locale) => {
    const english = found.get('en') ?? new Map<string, Texts>();
    for (const [place, { texts }] of english) {
      expect([place, texts.length > 1]).toEqual([place, true]);
      expect([place, texts.filter((text) => text.includes('`'))]).toEqual([place, []]); // setting names are shown as code
    }
    const own = found.get(locale) ?? new Map<string, Texts>();
    for (const [place, { texts, places }] of own) {
      const before = new Set(english.get(place)?.texts);
      expect([place, texts.filter((text) => isSentence(text) && before.has(text))]).toEqual([place, []]);
      expect([place, places]).toEqual([place, []]);
    }
    // The pages held what the test is about: a safety stop, a loss, a failed notice.
    expect(own.get('refused')?.texts.length).toBeGreaterThan(100);
    for (const [place, text] of SAID) {
      const texts = english.get(place === 'trace' ? `/trace?id=${sale}` : place)?.texts;
      expect([place, texts?.some((one) => one.startsWith(text)) === true ? text : texts]).toEqual([place, text]);
    }
  });

  it('leaves no page out', () => {
    const places = placesNow().map((place) => place.split('?')[0] ?? '');
    const isVisited = (path: string): boolean =>
      places.some((place) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(place));
    expect(pages.map(({ path }) => path).filter((path) => !isVisited(path))).toEqual([]);
  });
});
