/** A verdict on a real store: a sale whose create is tried again is one fault, also over midnight; and notices. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Ports } from '../../../src/ops/ports.ts';
import { viewLosses } from '../../../src/ops/readiness/coverage.ts';
import { merchantReadiness } from '../../../src/ops/readiness/readiness.ts';
import { lossLines } from '../../../src/ops/report/sections.ts';
import { createTally } from '../../../src/ops/report/tally.ts';
import type { RecordedExchange } from '../../../src/proxy/records/evidence.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange, newLoss } from '../../store/contract/evidence-kit.ts';
import { DAY_MS, finished, firstDue, type Harness, MERCHANT, NOON, newNotice } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

const MIDNIGHT = Math.ceil(NOON / DAY_MS) * DAY_MS;
const CREATE = { operation: 'point.create_intent', lane: 'orders', stage: 'orders' } as const;
const failed = { ...CREATE, status: 504, error: 'unknown_outcome', outcome: 'fault' } as const;

let harness: Harness;
let ports: Ports;
beforeEach(async () => {
  harness = await openHarness();
  ports = portsAt(harness.store, () => MIDNIGHT + DAY_MS);
  await setMerchant(harness.store, MERCHANT, { stage: 'canary' });
});
afterEach(() => harness.dispose());

/** One call a minute, half of them before midnight. */
const calls = (count: number, of: (index: number) => Partial<RecordedExchange>): RecordedExchange[] =>
  Array.from({ length: count }, (_, index) =>
    newExchange({ at: MIDNIGHT + (index - count / 2) * 60_000, ...of(index) }),
  );

/** As the finding says it: faults and calls; null without the finding. */
async function faults(): Promise<string[] | null> {
  const { blockers } = await merchantReadiness(ports, MERCHANT);
  const found = blockers.find(({ code }) => code === 'faults');
  return found === undefined ? null : (/^(\d+) of (\d+)/.exec(found.what)?.slice(1) ?? []);
}

it('eleven retries of one sale over midnight are one fault, and block no move', async () => {
  await harness.store.exchanges.recordExchanges([
    ...calls(60, () => CREATE),
    ...calls(12, () => ({ ...failed, legacy_id: 'one-sale' })),
  ]);
  expect(await faults()).toBeNull();
});

it('as many sales that fail are as many faults, and each is counted once with its retries', async () => {
  await harness.store.exchanges.recordExchanges([
    ...calls(60, () => CREATE),
    ...calls(24, (index) => ({ ...failed, legacy_id: `sale-${index % 12}` })),
    ...calls(2, () => ({ ...failed, operation: 'point.get_intent', legacy_id: 'sale-1' })),
  ]);
  expect(await faults(), 'a read that fails is a fault of its own').toEqual(['14', '74']);
});

it('a loss that was stored with an older reason is shown with that of the tables, and a converter keeps its own', async () => {
  const { store } = harness;
  const lost = (path: string) =>
    newLoss({ operation: 'point.create_intent', path, why: 'An older reason.', would_be: false });
  const seen = newExchange({ ...CREATE, lost: ['body.payment', 'body.description'].map(lost) });
  await store.exchanges.recordExchanges([seen]);
  const reasons = [
    ['body.payment', expect.stringMatching(/^(?!An older)/) as string],
    ['body.description', 'An older reason.'],
  ];
  const losses = await viewLosses(ports, { merchant: [MERCHANT] });
  expect(new Map(losses.map(({ field, why }) => [field, why]))).toEqual(new Map(reasons as [string, string][]));
  const [told] = losses.filter(({ field }) => field === 'body.payment');
  expect(told?.advice).toContain(told?.why.replace(/\.$/, ''));
  const tally = createTally();
  for (const one of seen.lost) tally.losses.set(one.path, { ...one, count: 1, would_be_count: 0 });
  expect(lossLines(ports, tally).map(({ path, why }) => [path, why])).toEqual(reasons);
});

it('of work on orders it says that no receiver has acknowledged a notice, until one has', async () => {
  const { store } = harness;
  const said = async () => {
    const { remarks } = await merchantReadiness(ports, MERCHANT);
    return remarks.flatMap(({ code, what }) => (code === 'notices_unacknowledged' ? [what] : []));
  };
  expect(await said()).toEqual(['No notice was sent yet, so no receiver has acknowledged one.']);
  const link = await finished(store);
  await store.links.saveLink(link, {}, { notices: [newNotice(link, 'told')] });
  const attempt = { at: NOON, duration_ms: 3, status: null, detail: '', url: null };
  await store.notices.recordAttempt(
    await firstDue(store),
    { ...attempt, outcome: 'theirs' },
    { state: 'pending', next_attempt_at: NOON },
  );
  expect(await said()).toEqual(['The only notice so far was not acknowledged by its receiver.']);
  await store.notices.recordAttempt(
    await firstDue(store),
    { ...attempt, outcome: 'delivered' },
    { state: 'delivered', next_attempt_at: NOON },
  );
  expect(await said()).toEqual([]);
});
