/** Incidents and alerts at the doors of operators: API, commands, doctor and console, on a running Puente. */
import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import {
  ANA,
  ARGENTINA,
  BEN,
  BRAZIL,
  call,
  clockOf,
  DEVICE,
  eventually,
  MEXICO,
  PEOPLE,
  POINT,
  SECOND_DEVICE,
  startBench,
  startReceiver,
} from '../../kit.ts';
import { closing, openForAll } from '../../open.ts';
import { openConsole } from '../console/browser.ts';
import { command } from '../moves/command.ts';

const SECRET = 'a-secret-that-tests-invent';
let status = 200;
const receiver = await startReceiver(() => status);
afterAll(() => receiver.close());
const RECEIVERS = {
  ops: { url: receiver.url, secret: SECRET, kinds: ['move_waiting'] },
  nights: { url: `${receiver.url}/nights`, secret: SECRET },
};
let passed_ms = 0;
const clock = clockOf(() => Date.now() + passed_ms);
const bench = openForAll(() =>
  startBench(
    {
      ...PEOPLE,
      PUENTE_ALERTS_RECEIVERS: JSON.stringify(RECEIVERS),
      PUENTE_ALERTS_LANGUAGE: 'es',
      PUENTE_MOVES_SECOND_APPROVER: 'true',
    },
    { clock },
  ),
);
const as = (person: { token: string }, path: string, body?: unknown, method?: string) =>
  call(bench.app.ops_url + path, {
    token: person.token,
    ...(body === undefined ? {} : { body }),
    ...(method === undefined ? {} : { method }),
  });
const puente = (person: { token: string }, ...argv: string[]) =>
  command(argv, { PUENTE_OPS_TOKEN: person.token, PUENTE_OPS_URL: bench.app.ops_url });
const incidents = async (query = ''): Promise<{ id: string; kind: string; state: string; merchant: string }[]> =>
  ((await as(ANA, `/api/incidents${query}`)).body as { incidents: never[] }).incidents; // the API's shape

/** Upstream answers a create with another amount, which only a person can look into. */
async function contradicted(merchant: string, device: string): Promise<void> {
  await bench.control('/faults', {
    body: { method: 'POST', path: '/v1/orders', kind: 'alter', set: { total_amount: '1.00' }, times: 'always' },
  });
  await bench.till(`${POINT}/devices/${device}/payment-intents`, { merchant, body: { amount: 90_000 } });
  await bench.control('/faults', { method: 'DELETE' });
}

describe('incidents', () => {
  it('of a move that waits: open at once, announced to both receivers in Spanish, closed when it is decided', async () => {
    await bench.till(`${POINT}/devices`);
    await bench.ops(`/api/merchants/${ARGENTINA}/rollback`, { body: { reason: 'back to the start' } });
    const first = (await as(ANA, `/api/merchants/${ARGENTINA}`)).body as { revision: number }; // every view has one
    const naming = { name: 'Café Sur', reason: 'its name', revision: first.revision };
    expect((await as(BEN, `/api/merchants/${ARGENTINA}`, naming, 'PUT')).status).toBe(200);
    const { revision } = (await as(ANA, `/api/merchants/${ARGENTINA}`)).body as { revision: number }; // every view has one
    const move = { stage: 'shadow', reason: 'second look', revision };
    expect((await as(BEN, `/api/merchants/${ARGENTINA}/stage`, move, 'PUT')).body).toMatchObject({
      result: 'proposed',
    });
    const [open] = await incidents('?state=open&kind=move_waiting');
    expect(open).toMatchObject({ kind: 'move_waiting', state: 'open', merchant: ARGENTINA, name: 'Café Sur' });
    const sent = await receiver.waitFor(2);
    expect(sent.map(({ path }) => path).toSorted()).toEqual(['/notices', '/notices/nights']);
    for (const { headers, text, body } of sent) {
      const digest = createHmac('sha256', SECRET).update(`${headers['puente-timestamp']}.${text}`).digest('hex');
      expect(headers['puente-signature']).toBe(`sha256=${digest}`);
      expect(body).toMatchObject({ event: 'opened', text: expect.stringContaining(`${ARGENTINA} (Café Sur)`) });
    }
    const refused = await as(BEN, `/api/incidents/${open?.id}/close`, { reason: 'it is not over' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('closes by itself')]);
    await bench.ops(`/api/merchants/${ARGENTINA}/rollback`, { body: { reason: 'it is withdrawn' } });
    expect(await incidents(`?merchant=${ARGENTINA}&kind=move_waiting`)).toMatchObject([
      { id: open?.id, state: 'closed' },
    ]);
    expect((await receiver.waitFor(4)).slice(2).map(({ body }) => (body as { event: string }).event)).toEqual([
      'recovered',
      'recovered',
    ]);
    expect((await puente(ANA, 'incidents', 'list', '--state', 'closed')).out).toContain('move_waiting');
    const [over] = await incidents('?state=closed&kind=move_waiting');
    const was = 'Over now; it was: One move waits for approval, the oldest since ';
    expect(over).toMatchObject({ reason: expect.stringContaining(was), said: { code: 'incident.over' } });
    expect((await puente(ANA, 'incidents', 'list', '--state', 'closed')).out).toContain(was);
  });

  it('that need a person are closed by an operator, with a reason and an audit line', async () => {
    await contradicted(BRAZIL, DEVICE);
    const [one] = await incidents('?kind=mismatch&state=open');
    expect(one).toMatchObject({ merchant: BRAZIL, state: 'open' });
    const id = one?.id ?? '';
    expect((await as(ANA, `/api/incidents/${id}/close`, { reason: 'a viewer' })).status).toBe(403);
    expect((await as(BEN, '/api/incidents/nothing/close', { reason: 'unknown' })).status).toBe(404);
    expect((await puente(BEN, 'incidents', 'close', id, '--reason', 'compared with the panel')).out).toContain(
      `incident ${id} is closed`,
    );
    expect((await puente(BEN, 'incidents', 'close', id, '--reason', 'compared again')).err).toContain('closed already');
    expect((await as(ANA, '/api/audit?action=incident%20closed')).body).toMatchObject({
      lines: [{ who: 'ben', reason: 'compared with the panel' }],
    });
    expect(await incidents('?kind=mismatch&state=open')).toEqual([]);
  });

  it.each(['kind=weather', 'state=ajar', 'since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z'])(
    'refuse %s',
    async (query) => {
      expect((await as(ANA, `/api/incidents?${query}`)).status).toBe(400);
    },
  );
});

describe('receivers', () => {
  it('may not be private when alerts.allow_private is off, though those of notices may', async () => {
    const env = { PUENTE_ALERTS_RECEIVERS: JSON.stringify(RECEIVERS), PUENTE_ALERTS_ALLOW_PRIVATE: 'false' };
    await using closed = closing(await startBench({ ...env, PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true' }));
    const { body } = await closed.ops('/api/alerts');
    const refused = expect.stringMatching(/^The receiver's URL /);
    expect(body).toMatchObject({ receivers: [{ refused }, { refused }] });
  });

  it('are listed and tried by command, without path or secret; what fails says so, and the doctor too', async () => {
    const listed = await puente(ANA, 'alerts', 'list');
    expect(listed.out).toContain(new URL(receiver.url).host);
    expect(listed.out).not.toMatch(new RegExp(`/nights|${SECRET}`));
    const test = (person: { token: string }, ...more: string[]) =>
      puente(person, 'alerts', 'test', ...more, '--reason', 'a new channel');
    expect((await as(BEN, '/api/alerts/test', {})).text).toContain('reason');
    expect(await test(BEN)).toMatchObject({
      code: 0,
      out: expect.stringContaining('delivered'),
    });
    expect((await test(ANA)).err).toContain('role operator');
    status = 500;
    expect(await test(BEN, '--receiver', 'ops')).toMatchObject({
      code: 1,
      out: expect.stringContaining('answered 500'),
    });
    status = 200;
    expect((await test(BEN, '--receiver', 'nobody')).err).toContain('puente alerts list');
    const { lines } = (await as(ANA, '/api/audit?action=test%20alert')).body as { lines: unknown[] }; // the API's shape
    expect(lines).toMatchObject([
      { who: 'ben', reason: 'a new channel', detail: { receivers: ['ops'] } },
      { who: 'ben', reason: 'a new channel', detail: { receivers: ['ops', 'nights'] } },
    ]);
    const { body } = await as(BEN, '/api/doctor');
    expect(body).toMatchObject({
      findings: expect.arrayContaining([expect.objectContaining({ name: 'alerts of ops', level: 'ok' })]),
    });
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  it.skipIf(!hasChromium)(
    'are tried on the page of incidents, which filters them by kind and holds a form to close one',
    async () => {
      await contradicted(BRAZIL, SECOND_DEVICE);
      const ben = await openConsole(bench, BEN);
      await ben.go('/incidents?kind=mismatch');
      await ben.page
        .getByRole('row', { name: /mismatch/ })
        .first()
        .waitFor();
      expect(await ben.seriousFindings()).toEqual([]);
      const trace = ben.page.locator('td a[href^="/trace?id="]');
      expect(await trace.count()).toBeGreaterThan(0);
      await ben.go('/incidents?kind=move_waiting');
      expect(await ben.page.getByRole('link', { name: `${ARGENTINA} (Café Sur)` }).count()).toBeGreaterThan(0);
      expect(await trace.count()).toBe(0);
      await ben.go('/incidents?kind=mismatch');
      await ben.page.getByText('Close', { exact: true }).first().click();
      await ben.page.getByLabel('Reason').first().fill('looked into');
      await ben.page.getByRole('button', { name: 'Close' }).first().click();
      await ben.page.getByText('The incident is closed.').waitFor();
      await ben.page.locator('#reason-ops').fill('a new channel');
      await ben.page.getByRole('button', { name: 'Send a test alert' }).first().click();
      await ben.page.getByText('The test alert was delivered.').waitFor();
      status = 500;
      await ben.page.locator('#reason-ops').fill('a new channel');
      await ben.page.getByRole('button', { name: 'Send a test alert' }).first().click();
      await ben.page.getByText('was not delivered to receiver').waitFor();
      status = 200;
      await ben.close();
    },
  );

  it.skipIf(!hasChromium)(
    'a paid sale that is too old to be watched is closed, and not shown as good news',
    async () => {
      await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { merchant: MEXICO, body: { amount: 1500 } });
      await bench.atTerminal('pay', { merchant: MEXICO });
      passed_ms = 10 * 60_000;
      const kind = 'kind=paid_unacknowledged';
      await eventually(
        () => incidents(`?${kind}`),
        ([one]) => one?.state === 'open',
      );
      passed_ms += 25 * 60 * 60_000;
      expect(await incidents(`?${kind}`)).toMatchObject([{ state: 'closed' }]);
      const ben = await openConsole(bench, BEN, { locale: 'es' });
      await ben.go(`/incidents?${kind}`);
      const badge = ben.page.getByRole('row', { name: MEXICO }).locator('.badge');
      expect([await badge.innerText(), await badge.getAttribute('class')]).toEqual(['cerrado', 'badge warn']);
      await ben.close();
    },
  );
});
