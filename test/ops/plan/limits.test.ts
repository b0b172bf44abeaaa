/** What one file may cost while tills wait, counted; and what may change between its plan and its steps. On a real store. */
import { Session } from 'node:inspector/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyFile } from '../../../src/ops/plan/apply.ts';
import { APPLIED, viewDrift } from '../../../src/ops/plan/drift.ts';
import { exportFile } from '../../../src/ops/plan/export.ts';
import { readMerchants } from '../../../src/ops/plan/file.ts';
import { makePlan, planAsk } from '../../../src/ops/plan/plan.ts';
import { referencesIn } from '../../../src/ops/plan/reference.ts';
import { MOST_TRIES } from '../../../src/ops/plan/steps.ts';
import type { Store } from '../../../src/ops/ports.ts';
import { yieldToEventLoop } from '../../../src/proxy/concurrency.ts';
import type { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { ARGENTINA, BRAZIL } from '../../kit.ts';
import { lanePorts, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { auditOf } from '../../store/contract/harness.ts';
import { newBulk } from '../../store/contract/moves.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

const BEN = { name: 'ben', role: 'operator' } as const;
let store: Store;
let calls = 0;
/** Of them at once. */
let most = 0;
let open = 0;
const counting: Upstream = {
  async send() {
    calls++;
    most = Math.max(most, ++open);
    await yieldToEventLoop();
    open--;
    return { kind: 'not_sent', cause: 'nobody is there' };
  },
};
beforeEach(async () => {
  [calls, most] = [0, 0];
  store = await openOwnStore();
});
afterEach(() => store.close());

const partsOn = (on: Store) => ({
  ports: lanePorts({ store: on, upstreams: { orders: counting, legacy: counting } }),
  checkUrl: () => undefined,
});
const ask = (text: string, secrets: Record<string, string> = {}) =>
  planAsk.parse({ file: 'shops.yaml', text, secrets });
const ids = (count: number) => Array.from({ length: count }, (_, nth) => `${700_200_000 + nth}`);

/** How often functions of these names are called. */
async function callsOf(names: readonly string[], run: () => void): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    run();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const all = result.flatMap(({ functions }) => functions).filter(({ functionName }) => names.includes(functionName));
    return all.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
  } finally {
    session.disconnect();
  }
}

function refusalOf(text: string): string {
  try {
    readMerchants('shops.yaml', text);
  } catch (error) {
    return String(error);
  }
  throw new Error('it was read');
}

describe('a text of a viewer', () => {
  it('has sentences for the errors that are shown alone', async () => {
    const keys = Array.from({ length: 5_000 }, (_, nth) => `    stag${nth}: 1\n`).join('');
    let refused = '';
    const near = await callsOf(['nearTo', 'mistakeSaid'], () => {
      refused = refusalOf(`merchants:\n  - id: 1\n${keys}`);
    });
    expect(near).toBeGreaterThanOrEqual(20);
    expect(near).toBeLessThanOrEqual(40);
    expect(refused).toContain('4,980 more errors.');
  });

  it('compares no key with every other one', async () => {
    const keys = Array.from({ length: 5_000 }, (_, nth) => `k${nth}: `).join(',');
    const compared = await callsOf(['isEqual', 'mapIncludes'], () => void refusalOf(`{${keys}}`));
    expect(compared).toBeLessThanOrEqual(5_000);
  });

  it('is not walked again for each alias of a reference', async () => {
    const text = `merchants:\n  - {id: 1, credential: &t env:T}\n${ids(500)
      .map((id) => `  - {id: ${id}, credential: *t, notice_secret: *t}\n`)
      .join('')}`;
    let found: string[] = [];
    const walks = await callsOf(['hasAnchor'], () => {
      found = referencesIn(text);
    });
    expect([found, walks]).toEqual([['env:T'], 0]);
  });

  it('has aliases up to a number, each of which is compared with all nodes before it', async () => {
    const text = (count: number) =>
      `merchants:\n  - id: 1\n    tags: [${Array.from({ length: count }, (_, nth) => `&a${nth} x, *a${nth}`)}]\n`;
    expect(refusalOf(text(1_000))).toContain('tags');
    const compared = await callsOf(['hasAnchor'], () => {
      expect(refusalOf(text(1_001))).toContain('The aliases of shops.yaml would expand without bound');
    });
    expect(compared).toBe(0);
  });

  it('is read entry by entry only when its list is short enough', async () => {
    const text = `merchants:\n${ids(501)
      .map((id) => `  - {id: ${id}, stge: shadow}\n`)
      .join('')}`;
    expect(refusalOf(text)).toContain(
      'shops.yaml:2:3: these are 501 merchants, and a file has 500 at most: part it, for example by region',
    );
    expect(() => ask(`# ${'x'.repeat(100_000)}`)).toThrow('file.long');
  });
});

it('other work runs between two merchants of a plan', async () => {
  let ticks = 0;
  let tick = setImmediate(function again() {
    ticks++;
    tick = setImmediate(again);
  });
  try {
    const many = 40;
    for (const id of ids(many)) await setMerchant(store, id, {});
    const text = `merchants:\n${ids(many)
      .map((id) => `  - {id: ${id}, name: Café}\n`)
      .join('')}`;
    const parts = partsOn(store);
    ticks = 0;
    const plan = await makePlan(parts, ask(text), BEN);
    expect(plan.merchants.length).toBe(many);
    expect(ticks).toBeGreaterThanOrEqual(many);
  } finally {
    clearImmediate(tick);
  }
});

it('a plan tries credentials up to a bound, and says of the others that they are not tried', async () => {
  const shops = ids(MOST_TRIES + 2);
  const text = `merchants:\n${shops.map((id) => `  - {id: ${id}, new: true, credential: "env:T"}\n`).join('')}`;
  const { merchants } = await makePlan(partsOn(store), ask(text, { 'env:T': 'a-token-of-a-shop' }), BEN);
  expect([calls, most]).toEqual([MOST_TRIES, 5]);
  const whys = merchants.map(({ steps }) =>
    steps.map(({ outcome, why }) => `${outcome}: ${why.map((one) => one.text)}`),
  );
  expect(whys.slice(-2)).toEqual(
    Array(2).fill([
      `refused: A plan tries ${MOST_TRIES} credentials at most, and this one is not tried: apply the file, and then again.`,
    ]),
  );
});

it('values of references are in the digest, for operators and viewers alike, and can not be guessed from it', async () => {
  const text = `merchants: [{id: ${ARGENTINA}, new: true, notice_secret: "env:S", notice_url: "env:U"}]`;
  const digest = async (values: Record<string, string>, person: { name: string; role: 'viewer' | 'operator' }) =>
    (await makePlan(partsOn(store), ask(text, values), person)).digest;
  const values = { 'env:S': 'the-secret-of-the-shop', 'env:U': 'https://shop.example/a?key=1' };
  const eva = { name: 'eva', role: 'viewer' } as const;
  const own = await digest(values, BEN);
  expect(await digest(values, eva)).toBe(own);
  for (const person of [BEN, eva]) {
    expect(await digest({ ...values, 'env:S': 'another-secret' }, person)).not.toBe(own);
    expect(await digest({ ...values, 'env:U': 'https://shop.example/a?key=2' }, person)).not.toBe(own);
  }
});

it('a ramp that begins during an apply keeps the moves of its merchants', async () => {
  for (const id of [ARGENTINA, BRAZIL]) await setMerchant(store, id, {});
  let is_begun = false;
  const racing = withMethods(store, {
    async saveMerchant(...args: Parameters<Store['merchants']['saveMerchant']>) {
      const saved = await store.merchants.saveMerchant(...args);
      if (!is_begun) {
        is_begun = true;
        const items = newBulk('late')
          .items.slice(0, 1)
          .map((item) => ({ ...item, merchant_id: BRAZIL, state: 'waiting' as const }));
        await store.moves.saveBulkMove(newBulk('late', { state: 'running', items }), null, auditOf('bulk.started'));
      }
      return saved;
    },
  });
  const parts = partsOn(racing);
  const text = `merchants:\n  - {id: ${ARGENTINA}, stage: shadow}\n  - {id: ${BRAZIL}, stage: shadow}\n`;
  const { digest: plan } = await makePlan(parts, ask(text), BEN);
  const applied = await applyFile(parts, { ...ask(text), plan, reason: 'a test applies it' }, BEN);
  expect(applied.merchants.map(({ steps }) => steps.map(({ result }) => result))).toEqual([['made'], ['refused']]);
  expect(applied.merchants[1]?.steps[0]?.why.join()).toContain(`The bulk move late moves merchant ${BRAZIL}.`);
  expect((await store.merchants.merchant(BRAZIL))?.settings.stage).toBeNull();
});

it('drift is found behind any number of applies of other merchants', async () => {
  await setMerchant(store, ARGENTINA, {});
  const mark = (merchants: string[]) =>
    store.audit.appendAudit(auditOf(APPLIED, { file: 'a', sha256: 'b', merchants, open: {} }));
  await mark([ARGENTINA]);
  const fact = (share: number) => ({ stage: 'canary', share });
  await store.audit.appendAudit({ ...auditOf('stage', { before: fact(5), after: fact(9) }), subject: ARGENTINA });
  for (let nth = 0; nth < 120; nth++) await mark([BRAZIL]);
  const { drifted } = await viewDrift(partsOn(store).ports);
  expect(drifted).toMatchObject([{ merchant_id: ARGENTINA, file: 'a', drift: [expect.stringContaining('9 %')] }]);
});

it('the export says when it is more than one plan takes', async () => {
  for (const id of ids(501)) await setMerchant(store, id, {});
  const { text } = await exportFile(partsOn(store).ports, {});
  expect(text).toMatch(/^# More than `puente plan` takes at once \(500 merchants/);
  expect((await exportFile(partsOn(store).ports, { merchants: ids(500) })).text).toMatch(/^# Merchants as they were/);
});

it('says which safety stop is in force', async () => {
  await setMerchant(store, ARGENTINA, {});
  const trip = {
    at: Date.now(),
    why: 'Nine of fifty.',
    evidence: { calls: 50, faults: 9, slow: 0, window_ms: 1, sample: null },
  };
  await store.merchants.saveTrips(ARGENTINA, { qr: trip }, 1, auditOf('trip'));
  const { merchants } = await makePlan(partsOn(store), ask(`merchants: [{id: ${ARGENTINA}}]`), BEN);
  expect(merchants[0]?.notes.map(({ text }) => text)).toEqual(['The safety stop of QR is in force.']);
});

it('new: true of a merchant that is known makes no unit of it', async () => {
  const text = `merchants: [{id: ${ARGENTINA}, new: true, stage: canary, units_in: [point:NOBODY]}]`;
  const whyOf = async (): Promise<string> => {
    const { merchants } = await makePlan(partsOn(store), ask(text), BEN);
    return merchants[0]?.steps[0]?.why.map((one) => one.text).join(' ') ?? '';
  };
  expect(await whyOf()).not.toContain('was never seen');
  await setMerchant(store, ARGENTINA, {});
  const why = await whyOf();
  expect(why).toContain(`The unit point:NOBODY of ${ARGENTINA} was never seen`);
  expect(why).toContain('new: true covers the units of a new merchant alone');
});
