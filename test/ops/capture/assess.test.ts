/** Captured legacy traffic is assessed before any call goes through Puente. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadTables } from '../../../src/mapping/load.ts';
import { type Assessment, assessmentOf } from '../../../src/ops/capture/assess.ts';
import { viewAssessment } from '../../../src/ops/capture/assessment.ts';
import { readCapture } from '../../../src/ops/capture/read.ts';
import { redactValue } from '../../../src/proxy/evidence/redact.ts';
import { CARD, EMAIL, TOKEN, tracesOf } from './canaries.ts';
import { bytes, lines } from './files.ts';

const tables = loadTables(join(import.meta.dirname, '../../../mappings'));
const NOW = Date.parse('2026-11-21T12:00:00Z');
const tools = { tables, redact: redactValue, clock: { now: () => 0 }, now: NOW };
const AT = '2026-11-21T09:00:00Z';
const token = (merchant: string) => `APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant}`;
const DEVICE = '/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents';

function assessed(
  text: string,
  given: { merchant_id?: string; site?: string; min_sample?: number; hosts?: string[] } = {},
): Promise<Assessment> {
  const options = { merchant_id: null, site: null, voucher: 'refuse', min_sample: 1, hosts: [], ...given } as const;
  return assessmentOf(readCapture(bytes(text)), tools, options);
}

function create(change: object = {}, call: object = {}): object {
  const body = { amount: 1500, additional_info: { external_reference: 'T-1' }, ...change };
  const headers = { authorization: `Bearer ${token('700100200')}` };
  return { method: 'POST', path: DEVICE, headers, body, status: 200, response: { id: '1' }, at: AT, ...call };
}

describe('sums', () => {
  test('every line is in one of them', async () => {
    const { sums, unreadable } = await assessed(
      lines(create(), create(), { method: 'GET', path: '/stores/123', status: 200, at: AT }, 'nonsense', {
        path: '/x',
      }),
    );
    expect(sums).toEqual({
      lines: 5,
      assessed: 2,
      no_operation: 1,
      foreign: 0,
      unreadable: 2,
      shadowed: 2,
      unanswered: 0,
      logged: 0,
    });
    expect(unreadable).toMatchObject([{ line: 4 }, { line: 5 }]);
  });

  test('a call without a time counts as made now, and that is said', async () => {
    const { remarks } = await assessed(lines(create(), create({}, { at: undefined })), { site: 'MLA' });
    expect(remarks).toEqual([
      expect.stringMatching(/^Calls without a time.*: 1, counted as made at the time of this report/),
    ]);
  });

  test('a call without an answer counts as taken, and that is said', async () => {
    const { sums, remarks, book } = await assessed(lines(create({ amount: 1 }, { status: undefined })), {
      site: 'MLA',
    });
    expect(sums.unanswered).toBe(1);
    expect(remarks).toEqual([expect.stringMatching(/^Calls without an answer in the capture: 1,/)]);
    expect(await book.evidence.differences({}, NOW)).toMatchObject([{ what: 'verdict', legacy: '200' }]);
  });
});

describe('whose calls', () => {
  test.each([
    ['the end of the token', create(), '700100200'],
    ['a token in the query', create({}, { headers: {}, path: `${DEVICE}?access_token=${token('7')}` }), '7'],
    ['the user in the path', { method: 'GET', path: '/instore/qr/seller/collectors/55/pos/CAJA/orders', at: AT }, '55'],
    ['the command', create({}, { headers: {} }), '9'],
  ])('%s', async (_what, call, merchant) => {
    const { readiness } = await assessed(lines(call), { merchant_id: '9' });
    expect(readiness.map(({ merchant_id }) => merchant_id)).toEqual([merchant]);
  });

  test('nobody', async () => {
    const { readiness } = await assessed(lines(create({}, { headers: {} })));
    expect(readiness.map(({ merchant_id }) => merchant_id)).toEqual(['unknown']);
  });
});

describe('verdicts', () => {
  test('what orders would refuse and legacy took is a blocker, with the exact code and the line that shows it', async () => {
    const { readiness, book } = await assessed(lines(create(), create({ amount: 100 })), { site: 'MLA' });
    expect(readiness).toMatchObject([
      { verdict: 'blocked', blockers: [{ operation: 'point.create_intent', sample: 'line-2' }] },
    ]);
    expect(await book.evidence.verdicts()).toMatchObject([
      { verdict: 'accepted', count: 1 },
      { verdict: 'refused_there', code: 'property_value', count: 1 },
    ]);
  });

  test('the site counts: as the command says it, and as an answer of legacy does', async () => {
    const brazil = create({ payment: { type: 'voucher_card', voucher_type: 'sodexo' } });
    const refused = async (text: string, site?: string) =>
      (await (await assessed(text, site === undefined ? {} : { site })).book.evidence.verdicts()).map(
        ({ verdict }) => verdict,
      );
    expect(await refused(lines(brazil))).toEqual(['accepted']);
    expect(await refused(lines(brazil), 'MLB')).toEqual(['refused_here']);
    const me = {
      method: 'GET',
      path: '/users/me',
      headers: { authorization: `Bearer ${token('700100200')}` },
      status: 200,
      response: { site_id: 'MLB' },
    };
    expect(await refused(lines(me, brazil))).toEqual(['refused_here']);
  });

  test('a body that is no JSON is what the door makes of it', async () => {
    const { book } = await assessed(lines(create({}, { body: '{"amount":', status: 400, response: { error: '400' } })));
    expect(await book.evidence.verdicts()).toMatchObject([{ verdict: 'refused_here', error: '400' }]);
    expect(await book.evidence.differences({}, NOW)).toEqual([]);
  });

  test('a whole number in another spelling counts as the plain one [F69]', async () => {
    const { readiness, book } = await assessed(lines(create({}, { body: '{"amount":1500.0}' })), { site: 'MLA' });
    expect(await book.evidence.verdicts()).toMatchObject([{ verdict: 'accepted', count: 1 }]);
    expect(readiness).toMatchObject([{ blockers: [] }]);
  });

  test('too little is inconclusive', async () => {
    const { readiness } = await assessed(lines(create()), { min_sample: 20, site: 'MLA' });
    expect(readiness).toMatchObject([{ verdict: 'inconclusive', blockers: [] }]);
  });
});

test('losses have their advice, and what no table knows is named', async () => {
  const call = create({ tip: 3, description: 'table 4' }, { headers: { 'x-cashier': 'marta', accept: '*/*' } });
  const assessment = await assessed(lines(call, { method: 'PUT', path: '/stores/123/x', at: AT }), {
    merchant_id: '9',
    site: 'MLA',
  });
  const { merchants, verdict } = await viewAssessment(assessment, tables, NOW);
  expect(verdict).toBe('inconclusive');
  expect(merchants).toMatchObject([{ merchant_id: '9' }]);
  // The calls come from a file, so no command of a running Puente applies.
  const { blockers = [], unproven = [], remarks = [] } = merchants[0]?.readiness ?? {};
  const findings = [...blockers, ...unproven, ...remarks];
  expect(findings.map(({ command }) => command)).toEqual(findings.map(() => null));
  expect(remarks.find(({ code }) => code === 'loss_money')?.what).toContain('(see Losses of this report)');
  expect(merchants[0]?.losses.map(({ field }) => field).sort()).toEqual(['body.description', 'body.tip']);
  expect(merchants[0]?.losses[0]?.advice).toMatch(/^Your till sends body\..* with POST/);
  expect(merchants[0]?.unknowns.map(({ what, name }) => `${what} ${name}`).sort()).toEqual([
    'endpoint PUT /stores/:id/x',
    'field body.tip',
    'header x-cashier',
  ]);
  expect(merchants[0]?.coverage).toContainEqual(
    expect.objectContaining({ operation: 'point.create_intent', field: 'body.amount', state: 'equal' }),
  );
  expect(merchants[0]?.coverage).toContainEqual(expect.objectContaining({ state: 'never_seen' }));
});

test('nothing of a secret in the file is in what is told', async () => {
  const text = [TOKEN, CARD, EMAIL].map((canary) =>
    lines(
      create(
        { amount: canary, description: canary, [canary]: 1, payment: { type: canary } },
        { headers: { [canary]: canary } },
      ),
      { method: 'GET', path: `/stores/${canary}`, headers: { authorization: `Bearer ${canary}` } },
      `{"${canary}`,
    ),
  );
  const assessment = await assessed(text.join('\n'), { merchant_id: '9', site: 'MLB' });
  const kept = await assessment.book.exchanges.exchanges({}, 0, 100);
  const told = JSON.stringify([await viewAssessment(assessment, tables, NOW), kept]).toLowerCase();
  expect(kept.length).toBeGreaterThan(0);
  for (const canary of [TOKEN, CARD, EMAIL]) for (const trace of tracesOf(canary)) expect(told).not.toContain(trace);
});
