/** Decommission end to end (API, command, report): a merchant leaves legacy, and gets its certificate after a week. */
import { describe, expect, it } from 'vitest';
import { loadWords } from '../../../src/locales/words.ts';
import type { DecommissionView, FleetDecommissionView } from '../../../src/ops/readiness/decommission.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import type { SalesView } from '../../../src/ops/trace/sales.ts';
import { ARGENTINA, clockOf, DEVICE, eventually, OPS_TOKEN, POINT, startBench, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { command } from '../moves/command.ts';

const DAY_MS = 86_400_000;
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;

let passed_ms = 0;
const clock = clockOf(() => Date.now() + passed_ms);
const began = Date.now();
const bench = openForAll(() => startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }, { clock }));

async function asked<View>(path: string): Promise<View> {
  const answer = await bench.ops(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as View; // the API's shape
}

const use = () => asked<DecommissionView>(`/api/merchants/${ARGENTINA}/decommission`);
const report = () => asked<Report>(`/api/report?merchant=${ARGENTINA}`);
/** The lines of a part without its header: of the merchant and, equal, of the fleet. */
async function csv(part: string): Promise<string> {
  const [own, fleet] = await Promise.all(
    [`&merchant=${ARGENTINA}`, ''].map((of) => bench.ops(`/api/report?format=csv&part=${part}${of}`)),
  );
  expect([own?.status, own?.text]).toEqual([200, fleet?.text]);
  const [header = '', ...lines] = own?.text.split('\r\n') ?? [];
  expect(header).toMatch(/^"merchant_id","name",.*"open_on_legacy"/);
  return lines.join('\r\n');
}
const page = async (language: string) =>
  (await bench.ops(`/api/report?merchant=${ARGENTINA}&format=html&language=${language}`)).text;
const cli = (...argv: string[]) => command(argv, { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN });

/** How an accepted disagreement is named. */
const NAMED =
  /, 25\.99 ARS: operator accepted at 20[\d:. -]+ UTC that it does not agree .* because: refunded in cash, case 1234/;

describe('a merchant', () => {
  it('on legacy still needs it, and has no certificate', async () => {
    const created = await bench.till(INTENTS, { body: { amount: 1500 } });
    const { id } = created.body as { id: string }; // the create succeeded
    expect(await use()).toMatchObject({
      ...{ stage: 'legacy', may_go: false, why: 'Not all of its new work is on orders.', open_on_legacy: 1 },
      calls: [{ name: 'point.create_intent', calls: 1 }],
      units: [{ unit: `point:${DEVICE}`, new_work: 'legacy', last_operation: 'point.create_intent', may_go: false }],
    });
    await bench.till(`${INTENTS}/${id}`, { method: 'DELETE' });
    expect(await report()).toMatchObject({ readiness: { about: 'next_move' }, completion: null, certificate: null });
    for (const part of ['completion', 'units']) expect(await csv(part)).toBe('');
  });

  it('on orders is told when legacy was last called, and what is missing', async () => {
    await bench.notify(ARGENTINA, { credential: tokenOf(ARGENTINA) });
    const { revision } = await asked<{ revision: number }>(`/api/merchants/${ARGENTINA}`);
    const body = { stage: 'orders', reason: 'its turn', revision };
    expect((await bench.ops(`/api/merchants/${ARGENTINA}/stage`, { method: 'PUT', body })).status).toBe(200);
    expect(await use()).toMatchObject({
      ...{ may_go: false, why: expect.stringContaining('Legacy was last called on'), open_on_legacy: 0, quiet_days: 0 },
      units: [{ new_work: 'orders', last_operation: 'point.cancel_intent', quiet_days: 0, may_go: false }],
    });
    const made = await report();
    expect(made).toMatchObject({ readiness: { about: 'completion', verdict: 'inconclusive' }, certificate: null });
    expect(made.completion).toEqual(await use());
    const html = await page('en');
    expect(html).toContain('Not complete: all its new work is on orders');
    expect(html).not.toContain('Certificate of completion');
    expect(await csv('units')).toMatch(
      new RegExp(`^"${ARGENTINA}",,"point:${DEVICE}","orders","20[^"]+Z","point.cancel_intent",0,0,"?false"?,"`),
    );
    expect(await csv('completion')).toMatch(
      new RegExp(`^"${ARGENTINA}",,"orders","?false"?,"Legacy was last called on`),
    );
    const ran = await cli('decommission', ARGENTINA);
    expect([ran.code, ran.out]).toEqual([3, expect.stringContaining(`${ARGENTINA} STILL NEEDS LEGACY.`)]);
    expect((await cli('can-migrate', ARGENTINA)).out).toContain(`${ARGENTINA} is on orders. Not complete`);
  });

  it('may not go an hour before the seventh quiet day ends: verdict, report and command refuse it', async () => {
    const { last_legacy_day } = await use();
    // The day of the last call is not a quiet one.
    passed_ms = Date.parse(`${last_legacy_day}T23:00:00Z`) + 7 * DAY_MS - Date.now();
    expect(await use()).toMatchObject({ may_go: false, quiet_days: 6, quiet_days_needed: 7 });
    expect(await report()).toMatchObject({ readiness: { verdict: 'inconclusive' }, certificate: null });
    expect(await page('en')).not.toContain('Certificate of completion');
    expect((await cli('decommission', ARGENTINA)).code).toBe(3);
  });

  it('that did not call it for a week may go, and is certified with the head of the chain', async () => {
    passed_ms += 3_600_000;
    expect(await use()).toMatchObject({ may_go: true, quiet_days: 7, units: [{ may_go: true }] });
    const { certificate, audit_head, readiness } = await report();
    expect(readiness).toMatchObject({ about: 'completion', verdict: 'ready' });
    const head = await asked<{ head: object }>('/api/audit/verify');
    expect(audit_head).toEqual(head.head);
    expect(certificate).toMatchObject({ merchant_id: ARGENTINA, units: 1, quiet_days: 7, audit_head });
    expect(certificate?.sign_off.map(({ as, name }) => [as, name])).toEqual([
      ['operator', ''],
      ['auditor', ''],
    ]);
    // Without a start it covers the whole migration; the first sale was made on legacy.
    const began_on = new Date(began).toISOString().slice(0, 10);
    const period = { since: `${began_on}T00:00:00.000Z` };
    expect(certificate).toMatchObject({ period, began_on, deleted_before: null });
    expect((await report()).sums).toMatchObject([{ what: 'sale', lane: 'legacy', outcome: 'canceled', count: 1 }]);
    const later = new Date(began + 2 * DAY_MS).toISOString();
    expect(await asked<Report>(`/api/report?merchant=${ARGENTINA}&since=${later}`)).toMatchObject({
      ...{ period: { since: later }, sums: [], certificate: null, certificate_since: period.since },
    });
    for (const [language, ...texts] of [
      ['en', 'Certificate of completion', 'Signature', 'its one terminal or point of sale does not need legacy'],
      ['es', 'Certificado de finalización', 'Firma', 'no necesita legacy'],
      ['pt', 'Certificado de conclusão', 'Assinatura', 'não precisa do legacy'],
    ] as const)
      for (const text of [...texts, audit_head.hash]) expect(await page(language)).toContain(text);
    const ran = await cli('decommission', ARGENTINA);
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining(`${ARGENTINA} MAY GO.`)]);
    await bench.notify(ARGENTINA, { name: 'Farmacia Sol' });
    expect(await page('en')).toContain(`all new work of merchant ${ARGENTINA} (Farmacia Sol) goes to orders`);
  });

  it('with a lost sale may not go, until a person accepts that: verdict, report and certificate name it', async () => {
    const fault = {
      method: 'POST',
      path: '/v1/orders',
      kind: 'error',
      status: 409,
      code: 'idempotency_key_already_used',
    };
    await bench.control('/faults', { body: { ...fault, times: 'always' } });
    expect((await bench.till(INTENTS, { body: { amount: 2599 } })).status).toBe(504);
    // Puente searches for it minute by minute, and then gives it up.
    const lost = async () => {
      passed_ms += 60_000;
      return (await asked<SalesView>(`/api/sales?merchant=${ARGENTINA}&state=lost`)).sales;
    };
    const [sale] = await eventually(lost, (found) => found.length > 0);
    await bench.control('/faults', { method: 'DELETE' });
    const id = sale?.legacy_id ?? '';
    expect(await report()).toMatchObject({
      ...{ readiness: { verdict: 'inconclusive', acknowledged: [] }, certificate: null },
      unmatched: [{ id, kind: 'lost', state: 'open' }],
    });
    const refused = await cli('sales', 'acknowledge', 'nothing', '--expected', '0', '--reason', 'refunded in cash');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('No sale nothing is stored')]);
    const shown = await cli('sales', 'disagreements', id);
    expect(shown.out).toContain(`${id}, 25.99 ARS`);
    const expected = /--expected (\d+)/.exec(shown.out)?.[1] ?? '';
    const accept = (reason: string) => cli('sales', 'acknowledge', id, '--expected', expected, '--reason', reason);
    const ran = await accept('refunded in cash, case 1234');
    expect([ran.code, ran.out]).toEqual([0, expect.stringMatching(NAMED)]);
    expect(ran.out).toContain(id);
    const again = await accept('refunded in cash');
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('was accepted by operator at')]);
    const made = await report();
    const named = { id, amount: '25.99', currency: 'ARS', who: 'operator', reason: 'refunded in cash, case 1234' };
    expect(made).toMatchObject({
      readiness: { verdict: 'ready', acknowledged: [named] },
      unmatched: [
        { id, state: 'acknowledged', acknowledged_by: 'operator', acknowledged_why: 'refunded in cash, case 1234' },
      ],
      certificate: { acknowledged: [named] },
      decisions: expect.arrayContaining([expect.objectContaining({ action: 'sale acknowledged', subject: id })]),
    });
    for (const [language, text] of [
      ['en', 'except one whose disagreement was accepted'],
      ['es', 'salvo una cuya discrepancia se aceptó'],
      ['pt', 'exceto uma cuja divergência foi aceita'],
    ] as const) {
      const html = await page(language);
      expect(html).toContain(text);
      // The verdict and the certificate each name it.
      expect(html.split('refunded in cash, case 1234').length).toBeGreaterThan(2);
    }
    expect((await cli('can-migrate', ARGENTINA)).out).toMatch(/Accepted disagreements; block nothing \(1\):\n {2}- /);
    expect(await use()).toMatchObject({ may_go: true });
  });

  it('is a line of the fleet', async () => {
    const { merchants } = await asked<FleetDecommissionView>('/api/decommission');
    expect(merchants).toMatchObject([{ merchant_id: ARGENTINA, may_go: true, units: 1, units_free: 1 }]);
    for (const part of ['completion', 'units']) expect(await csv(part)).toMatch(/^"700100200","Farmacia Sol",.*true/);
    const ran = await cli('decommission');
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('1 of 1')]);
    for (const [id, status] of Object.entries({ nobody: 400, [ARGENTINA.slice(1)]: 404 }))
      expect((await bench.ops(`/api/merchants/${id}/decommission`)).status).toBe(status);
  });

  it('with a terminal that is new says so in its certificate, as its table does', async () => {
    const sold = await bench.till(`${POINT}/devices/NEWLAND_N950__SBX0000001/payment-intents`, {
      body: { amount: 1500 },
    });
    expect(sold.status, sold.text).toBe(201);
    expect(await use()).toMatchObject({ may_go: true, units: [{ may_go: false }, { may_go: true }] });
    expect(await report()).toMatchObject({ certificate: { units: 2, units_new: 1 } });
    for (const [language, text] of [
      ['en', 'none of its 2 terminals and points of sale needs legacy (one was first seen less than 7 days before'],
      ['es', 'ninguno de sus 2 terminales y puntos de venta necesita legacy (uno se vio por primera vez'],
      ['pt', 'nenhum de seus 2 terminais e pontos de venda precisa do legacy (um foi visto pela primeira vez'],
    ] as const)
      expect(await page(language)).toContain(text);
    const one = { id: ARGENTINA, at: '', last: 'none', quiet: 0, units: 1, units_new: 1, accepted: 0, needed: 7 };
    for (const [language, text] of [
      ['en', 'its one terminal or point of sale does not need legacy (it was first seen'],
      ['es', 'su única terminal o punto de venta no necesita legacy (se vio por primera vez'],
      ['pt', 'seu único terminal ou ponto de venda não precisa do legacy (foi vist'],
    ] as const)
      expect(loadWords()[language].t('certificate.says', one)).toContain(text);
  });
});
