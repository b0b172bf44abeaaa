/** Limitations in a report: hits and calls from the period's exchanges and notices, and what each form shows. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadWords } from '../../../src/locales/words.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { reportCsv } from '../../../src/ops/report/csv.ts';
import { diffReports } from '../../../src/ops/report/diff.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import { reportHtml } from '../../../src/ops/report/html.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { attempt, DAY_MS, finished, type Harness, MERCHANT, NOON, newNotice } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

const { en } = loadWords();
let harness: Harness;
let ports: Ports;
beforeEach(async () => {
  harness = await openHarness();
  ports = portsAt(harness.store, () => NOON);
  const create = { lane: 'orders', operation: 'point.create_intent' } as const;
  await harness.store.exchanges.recordExchanges([
    newExchange({ ...create, limitations: ['LIM-15', 'LIM-19'] }),
    newExchange({ ...create, limitations: ['LIM-19'] }),
    newExchange(create),
    newExchange({ lane: 'orders', operation: 'point.get_intent', limitations: ['LIM-99'] }),
    newExchange({ operation: 'point.create_intent' }),
    newExchange({ ...create, at: NOON - 2 * DAY_MS, limitations: ['LIM-15'] }),
  ]);
  const link = await finished(harness.store);
  const times = [NOON - 2 * DAY_MS, NOON - 2, NOON - 1];
  await harness.store.links.saveLink(
    link,
    {},
    { notices: times.map((created_at) => newNotice(link, '{}', { created_at, subject: String(created_at) })) },
  );
  for (const _time of times.slice(0, 2)) {
    const [notice] = await harness.store.notices.dueNotices(NOON, 1);
    if (notice === undefined) throw new Error('no notice is due');
    await harness.store.notices.recordAttempt(notice, attempt('delivered', 200), {
      state: 'delivered',
      next_attempt_at: NOON,
    });
  }
});
afterEach(() => harness.dispose());

const report = (notice_agent = 'Puente'): Promise<Report> =>
  gatherReport(ports, { merchant_id: null, since: NOON - DAY_MS, until: NOON + 1 }, { assumptions: [], notice_agent });

it('those with hits stand first, the most frequent ahead; then those that nobody can count, with the reason', async () => {
  const { limitations } = await report();
  const counted = limitations.filter(({ hits }) => hits !== null);
  expect(counted.map(({ id, hits, calls }) => [id, hits, calls])).toEqual([
    ['LIM-19', 2, 3],
    ['LIM-15', 1, 3],
    ['LIM-20', 1, 3],
  ]);
  const unseen = limitations.slice(counted.length);
  expect(unseen.map(({ id, hits, calls }) => [id, hits, calls])).toEqual([
    ['LIM-58', null, 4],
    ['LIM-75', null, 4],
    ['LIM-76', null, 4],
    ['LIM-77', null, 4],
    ['LIM-13', null, 3],
    ['LIM-18', null, 3],
    ['LIM-60', null, 3],
    ['LIM-65', null, 3],
    ['LIM-66', null, 3],
    ['LIM-02', null, 1],
    ['LIM-91', null, 1],
  ]);
  expect(unseen.every(({ unseen: why }) => (why?.length ?? 0) > 12)).toBe(true);
});

it('calls that nobody judged are no hits, and are told', async () => {
  const create = { lane: 'orders', operation: 'point.create_intent' } as const;
  await harness.store.exchanges.recordExchanges([
    newExchange({ ...create, limitations: null }),
    newExchange({ limitations: null }),
  ]);
  const found = await report();
  expect(found.exchanges.uncounted).toBe(1);
  expect(await reportHtml(found, en)).toContain(' 1 call on orders is not among them');
  expect(await reportHtml({ ...found, exchanges: { ...found.exchanges, uncounted: 0 } }, en)).not.toContain(
    'not among them',
  );
});

it('a report of before the counting is compared without it', async () => {
  const found = await report();
  const earlier = { ...found, limitations: found.limitations.map(({ hits: _hits, ...line }) => line) } as Report; // older form
  expect(diffReports(earlier, found).changes.filter(({ part }) => part === 'limitations')).toEqual([]);
});

it('notices that name another sender meet nothing', async () => {
  const { limitations } = await report('restclient-node/4.15.3');
  expect(limitations.filter(({ hits }) => hits !== null).map(({ id }) => id)).toEqual(['LIM-19', 'LIM-15']);
});

describe('the forms', () => {
  it('CSV and HTML tell hits from what nobody can count', async () => {
    const found = await report();
    const [head, first, ...others] = reportCsv(found, 'limitations').trimEnd().split('\r\n');
    expect(head).toBe('"id","title","effect","workaround","hits","calls","unseen"');
    expect(first).toMatch(/^"LIM-19",.*,2,3,$/);
    expect(others.find((line) => line.startsWith('"LIM-13"'))).toMatch(
      /,,3,"Which mistake legacy would have named is not known\."$/,
    );
    const [, applied = '', nobody = ''] = (await reportHtml(found, en)).split(/<h2>Limitations that [a-z ]*<\/h2>/);
    expect(applied).toContain('LIM-19');
    expect(applied).not.toContain('LIM-13');
    expect(nobody).toContain('Which mistake legacy would have named is not known.');
    expect(nobody).not.toContain('LIM-19');
  });

  it('a diff compares hits, not calls', async () => {
    const before = await report();
    await harness.store.exchanges.recordExchanges([
      newExchange({ lane: 'orders', operation: 'point.create_intent', merchant_id: MERCHANT, limitations: ['LIM-15'] }),
    ]);
    const { changes } = diffReports(before, await report());
    expect(changes.filter(({ part }) => part === 'limitations')).toEqual([
      { part: 'limitations', line: 'LIM-15', before: 1, after: 2, before_said: null, after_said: null },
    ]);
  });
});
