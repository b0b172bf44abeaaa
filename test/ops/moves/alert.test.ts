/** Rollback by alert: what an Alertmanager sends, or a script, with a token that may do nothing else. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { alertAsk, alertQuery, rollBackByAlert } from '../../../src/ops/moves/alert.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, EVA, PEOPLE } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { auditsOf } from '../../proxy/http/till.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';
import { messageOf, startMoves } from './kit.ts';

const ALERTS = { token: 'token-of-the-alertmanager' };
const UNSEEN = '700109999';
const PATH = '/api/rollback-by-alert';

const people = { ...JSON.parse(PEOPLE.PUENTE_OPS_TOKENS), alertmanager: { role: 'rollback', ...ALERTS } };
const bench = openForAll(() => startMoves({ PUENTE_OPS_TOKENS: JSON.stringify(people), PUENTE_MOVES_GATE: 'advise' }));

/** As in Alertmanager's documentation, with fields that are ignored. */
const webhook = (alerts: object[], status = 'firing') => ({
  version: '4',
  groupKey: '{}:{alertname="TillsFail"}',
  truncatedAlerts: 0,
  status,
  receiver: 'puente',
  groupLabels: { alertname: 'TillsFail' },
  commonLabels: {},
  commonAnnotations: {},
  externalURL: 'http://alertmanager.example:9093',
  alerts,
});
const alert = (labels: object, change: object = {}) => ({
  status: 'firing',
  labels: { alertname: 'TillsFail', severity: 'critical', ...labels },
  annotations: { summary: 'Tills report errors.' },
  startsAt: '2026-11-28T03:08:45.828Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prometheus.example:9090/graph',
  fingerprint: '1a30ba71cca2921f',
  ...change,
});
const send = (body: unknown, query = '', by: { token: string } = ALERTS) => bench.as(by, 'POST', PATH + query, body);
const canary = (merchant: string) => bench.move({ stage: 'canary', share: 100 }, BEN, merchant);
const stageOf = async (merchant: string) => (await bench.stageOf(merchant)).stage ?? 'legacy';

describe('is refused, and moves nothing', () => {
  it.each([
    [{}, '', 400, 'alert'],
    [{ alert: 'TillsFail' }, '', 400, 'names a merchant'],
    [{ alert: 'TillsFail', merchants: ['7x'] }, '', 400, 'merchants.0'],
    [{ alert: 'TillsFail', merchants: [ARGENTINA], more: 1 }, '', 400, 'more'],
    [webhook([alert({})]), '', 400, 'the label merchant'],
    [webhook([alert({})]), '?label=shop', 400, 'the label shop'],
    [webhook([alert({ merchant: ARGENTINA })]), '?where=stage=moon', 400, 'where.stage'],
    [webhook([alert({ merchant: ARGENTINA })]), '?where=', 400, 'conditions are written stage=shadow'],
    [{ ...webhook([]), version: '3' }, '', 400, 'version'],
    [webhook(Array.from({ length: 1001 }, () => alert({}))), '', 400, 'alerts'],
  ])('%j%s', async (body, query, status, says) => {
    await canary(ARGENTINA);
    const answer = await send(body, query);
    expect([answer.status, messageOf(answer)]).toEqual([status, expect.stringContaining(says)]);
    expect(await stageOf(ARGENTINA)).toBe('canary');
  });

  it('for a viewer', async () => expect((await send(webhook([]), '', ANA)).status).toBe(403));
});

it('rolls back the merchants that firing alerts name, once for each occurrence, with the name of the alert', async () => {
  await canary(ARGENTINA);
  await canary(BRAZIL);
  const body = webhook([
    alert({ merchant: ARGENTINA }),
    alert({ merchant: UNSEEN }, { fingerprint: '2b' }),
    alert({ merchant: BRAZIL }, { status: 'resolved', fingerprint: '3c' }),
  ]);
  const [first, second] = await Promise.all([send(body), send(body)]); // as a pair of Alertmanagers does
  const answers = [first.body, second.body];
  expect(answers).toContainEqual({ rolled_back: [ARGENTINA], untouched: [], unknown: [UNSEEN], near: [], names: {} });
  expect(answers).toContainEqual({ rolled_back: [], untouched: [ARGENTINA], unknown: [UNSEEN], near: [], names: {} });
  expect([await stageOf(ARGENTINA), await stageOf(BRAZIL)]).toEqual(['legacy', 'canary']);
  const last = async () => (await auditsOf(bench.data_dir)).at(-1);
  expect(await last()).toMatchObject({
    who: 'alertmanager',
    action: 'rollback',
    subject: ARGENTINA,
    reason: expect.stringContaining('TillsFail'),
    detail: { rollback: true, alert: 'TillsFail', after: { stage: 'legacy' } },
  });
  const { lines } = (await bench.as(ANA, 'GET', `/api/audit?subject=${ARGENTINA}&action=rollback`)).body as {
    lines: unknown[];
  };
  const said = { code: 'move.alert', facts: { alert: 'TillsFail' } };
  expect(lines).toMatchObject([{ reason: 'The alert TillsFail is firing.', said }]);
  // An operator moves it while the alert still fires: a repeated delivery is no new reason, a new occurrence is.
  await canary(ARGENTINA);
  expect((await send(body)).body).toMatchObject({ rolled_back: [] });
  const again = webhook([alert({ merchant: ARGENTINA }, { startsAt: '2026-11-28T05:00:00Z' })]);
  expect((await send(again)).body).toMatchObject({ rolled_back: [ARGENTINA] });
  expect(await stageOf(ARGENTINA)).toBe('legacy');
});

it('rolls back by a filter of the address, and leaves alone whoever does not meet it', async () => {
  for (const merchant of [ARGENTINA, BRAZIL]) await canary(merchant);
  await bench.move({ stage: 'shadow' }, BEN, CHILE);
  const found = async (query: string, startsAt: string) => (await send(webhook([alert({}, { startsAt })]), query)).body;
  expect(await found(`?where=stage=canary&merchants=${BRAZIL},${CHILE}`, '1')).toMatchObject({ rolled_back: [BRAZIL] });
  expect(await found('?where=stage=canary', '2')).toMatchObject({ rolled_back: [ARGENTINA], untouched: [] });
  expect(await stageOf(CHILE)).toBe('shadow');
  await bench.notify(CHILE, { tags: ['north'] });
  expect(await found('?where=tag=south', '3')).toMatchObject({ rolled_back: [], untouched: [] });
  expect(await found('?where=tag=north', '4')).toMatchObject({ rolled_back: [CHILE] });
  expect((await send(webhook([alert({ merchant: CHILE }, { status: 'resolved' })]))).body).toMatchObject({
    rolled_back: [],
  });
  // One alert of the group names its merchant, the other one means all of the filter.
  for (const merchant of [ARGENTINA, BRAZIL]) await canary(merchant);
  const group = [alert({ merchant: BRAZIL }, { startsAt: '5' }), alert({}, { startsAt: '5', fingerprint: '2b' })];
  expect((await send(webhook(group), '?where=stage=canary')).body).toMatchObject({ rolled_back: [ARGENTINA, BRAZIL] });
});

it('takes a plain body: an operator or a script may send it, and its id makes it act once', async () => {
  await canary(BRAZIL);
  const body = { alert: 'A shop called', id: 'call-1', merchants: [BRAZIL] };
  expect((await send({ ...body, status: 'resolved' })).body).toMatchObject({ rolled_back: [] });
  expect((await send(body, '', BEN)).body).toMatchObject({ rolled_back: [BRAZIL] });
  await canary(BRAZIL);
  expect((await send(body)).body).toMatchObject({ rolled_back: [], untouched: [BRAZIL] });
  const other = { ...body, alert: 'Notices are stuck' };
  expect((await send(other)).body).toMatchObject({ rolled_back: [BRAZIL] });
});

it('looks at nothing that is open: where hundreds of notices wait, hundreds of merchants would wait behind their reads', async () => {
  const store = await openOwnStore();
  const merchants = [ARGENTINA, BRAZIL];
  for (const id of merchants) await setMerchant(store, id, { stage: 'orders' });
  const unread = (): Promise<never> => Promise.reject(new Error('it is not read'));
  const ports = portsAt(withMethods(store, { liveLinks: unread, notices: unread, countNotices: unread }), Date.now);
  const body = alertAsk.parse({ alert: 'TillsFail', merchants });
  const answer = await rollBackByAlert(ports, body, alertQuery.parse({}), BEN);
  expect(answer).toMatchObject({ rolled_back: merchants, untouched: [] });
  await store.close();
});

it('takes a group of as many alerts as it names, with all their labels', async () => {
  await canary(BRAZIL);
  const long = { generator: 'http://prometheus.example/graph?expr='.padEnd(900, 'x') };
  const group = Array.from({ length: 1_000 }, (_, nth) =>
    alert({ ...long, merchant: nth === 0 ? BRAZIL : UNSEEN }, { fingerprint: String(nth), startsAt: '5' }),
  );
  expect((await send(webhook(group))).body).toMatchObject({ rolled_back: [BRAZIL], unknown: [UNSEEN] });
});

it('an alert withdraws a move that waits for a second person, with the alert as its reason, whatever the clock says [F47]', async () => {
  const strict = await startMoves({ PUENTE_MOVES_SECOND_APPROVER: 'true', PUENTE_MOVES_GATE: 'advise' });
  const propose = async (target: object) =>
    ((await strict.move(target, BEN, BRAZIL)).body as { proposed: { id: string } }).proposed.id;
  const id = await propose({ stage: 'shadow' });
  await strict.as(EVA, 'POST', `/api/moves/${id}/approve`, { reason: 'look first' });
  const waiting = await propose({ stage: 'canary', share: 50 });
  const body = { alert: 'TillsFail', merchants: [BRAZIL] };
  expect((await strict.as(BEN, 'POST', PATH, body)).body).toMatchObject({ rolled_back: [BRAZIL] });
  const { body: found } = await strict.as(ANA, 'GET', `/api/audit?subject=${BRAZIL}&action=move%20withdrawn`);
  expect(found).toMatchObject({ lines: [{ who: 'ben', reason: 'The alert TillsFail is firing.' }] });
  // As if the process had ended between the rollback and the withdrawal, and the clock been set back before both.
  const write = (sql: string, id: string): void => {
    const database = new Database(join(strict.data_dir, 'puente.db'));
    database.prepare(sql).run(id);
    database.close();
  };
  write("UPDATE proposals SET state = 'waiting', proposed_at = proposed_at + 3600000 WHERE id = ?", waiting);
  const late = await strict.as(EVA, 'POST', `/api/moves/${waiting}/approve`, { reason: 'at last' });
  expect([late.status, messageOf(late)]).toEqual([400, expect.stringContaining('is withdrawn')]);
  expect((await strict.stageOf(BRAZIL)).stage).toBe('legacy');
  // Made after the rollback, by a clock that was set back since.
  const again = await propose({ stage: 'shadow' });
  write('UPDATE proposals SET proposed_at = proposed_at - 3600000 WHERE id = ?', again);
  expect((await strict.as(EVA, 'POST', `/api/moves/${again}/approve`, { reason: 'go on' })).status).toBe(200);
  await strict.close();
});
