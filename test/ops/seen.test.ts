/** An action on a merchant or a unit that was never seen is refused on every path, with those that are near it. */
import { expect, it } from 'vitest';
import { nearTo } from '../../src/mapping/near.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, EVA, eventually, MEXICO, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { command } from './moves/command.ts';
import { messageOf, startMoves } from './moves/kit.ts';

const bench = openForAll(() => startMoves());

/** Argentina's id without one digit. */
const MISTYPED = '70010020';
const NEVER_READ = `The merchant ${MISTYPED} was never seen: no call, no sale, no setting. Near it: ${ARGENTINA}.`;
const GONE = '555000111';
const UNIT = 'point:PAX_A910__SMARTPOS0000000001';
const CREATE = '/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents';
const why = { reason: 'a test mistypes it' };
const move = { target: { stage: 'shadow' }, ...why };
const period = { since: '2026-01-31T03:00:00Z', until: '2026-01-31T04:00:00Z' };
const window = { from: '2030-01-31T03:00:00Z', until: '2030-01-31T04:00:00Z', ...why };

const audits = async (): Promise<unknown[]> =>
  ((await bench.as(ANA, 'GET', '/api/audit')).body as { lines: unknown[] }).lines; // the API's shape

it('refuses every action on a merchant that was never seen, and changes nothing', async () => {
  await bench.notify(ARGENTINA, {});
  const before = await audits();
  const actions: [method: string, path: string, body?: object][] = [
    ['PUT', `/api/merchants/${MISTYPED}/stage`, { stage: 'shadow', revision: 0, ...why }],
    ['GET', `/api/merchants/${MISTYPED}/stage/preview?stage=shadow`],
    ['POST', `/api/merchants/${MISTYPED}/rollback`, why],
    ['PUT', `/api/merchants/${MISTYPED}`, { declined: 'error', revision: 0, ...why }],
    ['PUT', `/api/merchants/${MISTYPED}`, { notice_secret: 'a secret of a receiver', revision: 0, ...why }],
    ['POST', `/api/merchants/${MISTYPED}/safety/reset`, { kind: 'qr', revision: 0, ...why }],
    ['POST', '/api/bulk', { items: [{ merchant_id: ARGENTINA }, { merchant_id: MISTYPED }], ...move }],
    ['POST', '/api/brownouts', { merchants: [ARGENTINA, MISTYPED], ...window }],
    ['POST', '/api/notices/replay', { ...period, merchant: MISTYPED, ...why }],
    ['POST', '/api/reconcile', { merchant: MISTYPED }],
    ['POST', '/api/notices/test', { merchant: MISTYPED, ...why }],
    ['POST', `/api/merchants/${MISTYPED}/erase`, { apply: true, ...why }],
  ];
  for (const [method, path, body] of actions) {
    const refused = await bench.as(EVA, method, path, body);
    expect([path, refused.status], refused.text).toEqual([path, 404]);
    expect(messageOf(refused)).toContain(`Near it: ${ARGENTINA}.`);
  }
  expect(await audits()).toEqual(before);
  expect((await bench.as(ANA, 'GET', `/api/merchants/${MISTYPED}`)).body).toMatchObject({ revision: 0 });
});

it('rolls back a merchant that has only called, and one that is new on purpose', async () => {
  const rollback = (id: string, more: object = {}) =>
    bench.as(BEN, 'POST', `/api/merchants/${id}/rollback`, { ...why, ...more });
  expect((await bench.till(CREATE, { merchant: BRAZIL, body: { amount: 1500 } })).status).toBe(201);
  expect((await rollback(BRAZIL)).status).toBe(200);
  expect((await rollback(MEXICO)).status).toBe(404);
  expect((await rollback(MEXICO, { new: true })).status).toBe(200);
});

it('refuses units that were never seen, in moves, previews and bulk moves; --new takes them', async () => {
  const target = { stage: 'canary', share: 0, units_in: [UNIT.replace('PAX', 'APX')], override: true };
  const stage = `/api/merchants/${BRAZIL}/stage`;
  await eventually(
    () => bench.as(ANA, 'GET', `${stage}/preview?stage=shadow`),
    ({ text }) => text.includes('"units_seen":1'),
  );
  const { revision } = await bench.stageOf(BRAZIL);
  for (const refused of [
    await bench.as(EVA, 'PUT', stage, { ...target, revision, ...why }),
    await bench.as(EVA, 'GET', `${stage}/preview?stage=canary&share=0&units_out=${target.units_in[0]}`),
    await bench.as(EVA, 'POST', '/api/bulk', { items: [{ merchant_id: BRAZIL }], target, ...why }),
  ]) {
    expect(refused.status, refused.text).toBe(404);
    expect(messageOf(refused)).toContain(`Near it: ${UNIT}.`);
  }
  const preview = await bench.as(EVA, 'GET', `${stage}/preview?stage=canary&units_in=${target.units_in[0]}&new=true`);
  expect(preview.status).toBe(200);
});

it('the command names what is near, exits 1, and takes --new', async () => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token };
  const refused = await command(['rollback', MISTYPED, '--reason', 'tills stand still'], env);
  expect(refused).toEqual({
    code: 1,
    out: '',
    err: `The merchant ${MISTYPED} was never seen: no call, no sale, no setting. Nothing was changed. Near it: ${ARGENTINA}. If it is new, repeat this with --new (API: "new": true).`,
  });
  const stage = ['stage', CHILE, 'shadow', '--reason', 'before its first call'];
  expect((await command(stage, env)).code).toBe(1);
  expect(await command([...stage, '--new'], env)).toMatchObject({ code: 0 });
});

it('a rollback by alert names what is near those never seen, rolls back the others, and its command exits 1', async () => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token };
  const body = { alert: 'TillsFail', merchants: [CHILE, MISTYPED] };
  const answer = await bench.as(BEN, 'POST', '/api/rollback-by-alert', body);
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ rolled_back: [CHILE], unknown: [MISTYPED], near: [ARGENTINA] });
  const typed = await command(['rollback-by-alert', 'TillsFail', MISTYPED], env);
  expect(typed.code).toBe(1);
  expect(typed.out).toMatch(new RegExp(`near those never seen.*${ARGENTINA}`));
  expect((await command(['rollback-by-alert', 'TillsFail', CHILE], env)).code).toBe(0);
});

it.each([
  ...['json', 'csv', 'html'].map((format) => `/api/report?format=${format}&`),
  '/api/report?format=csv&part=sales&',
  '/api/report/sums?',
  '/api/report/compare?',
])('writes no report of a merchant that was never seen: %s', async (path) => {
  const refused = await bench.as(ANA, 'GET', `${path}merchant=${MISTYPED}`);
  expect([refused.status, messageOf(refused)]).toEqual([404, NEVER_READ]);
  expect((await bench.as(ANA, 'GET', `${path}merchant=${ARGENTINA}`)).status).toBe(200);
});

it('a report or a judgement of decommission changes nothing, and its refusal does not say so', async () => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token };
  const refused = { code: 1, out: '', err: NEVER_READ };
  expect(await command(['report', MISTYPED, '--format', 'html'], env)).toEqual(refused);
  expect(await command(['decommission', MISTYPED], env)).toEqual(refused);
});

it('can-migrate says first that the merchant was never seen, and nothing of its move', async () => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token };
  const { code, out } = await command(['can-migrate', MISTYPED], env);
  expect(code).toBe(1);
  expect(out).toMatch(new RegExp(`^The merchant ${MISTYPED} was never seen: .* Near it: ${ARGENTINA}`));
  expect(out).not.toContain('INCONCLUSIVE');
});

it.each([
  ['sales', ['sales']],
  ['notices', ['notices', 'list']],
  ['notices/receivers', ['notices', 'receivers']],
  ['incidents', ['incidents', 'list']],
  ['losses', ['losses']],
  ['differences', ['differences', 'list']],
  ['unknowns', ['unknowns']],
  ['verdicts', ['verdicts']],
  ['captured', ['capture', 'list']],
  ['exchanges', ['capture', 'export']],
  ['ramps', ['ramps', 'list']],
  ['moves', ['moves', 'list']],
])('lists no %s of a merchant that was never seen as "none matches"', async (list, typed) => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: ANA.token };
  const refused = await bench.as(ANA, 'GET', `/api/${list}?merchant=${MISTYPED}`);
  expect([refused.status, messageOf(refused)]).toEqual([404, NEVER_READ]);
  expect(await command([...typed, '--merchant', MISTYPED], env)).toEqual({ code: 1, out: '', err: NEVER_READ });
  expect(await command([...typed, '--merchant', ARGENTINA], env)).toMatchObject({ code: 0 });
});

it('has neither coverage nor figures of a merchant that was never seen', async () => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: ANA.token };
  for (const path of [`merchants/${MISTYPED}/coverage`, `report/figures?merchant=${MISTYPED}`]) {
    const refused = await bench.as(ANA, 'GET', `/api/${path}`);
    expect([path, refused.status, messageOf(refused)]).toEqual([path, 404, NEVER_READ]);
    expect((await bench.as(ANA, 'GET', `/api/${path.replace(MISTYPED, ARGENTINA)}`)).status).toBe(200);
  }
  expect(await command(['coverage', MISTYPED], env)).toEqual({ code: 1, out: '', err: NEVER_READ });
});

it('reports of an erased merchant, of which audit lines stay', async () => {
  await bench.notify(GONE, {});
  const erased = await bench.as(EVA, 'POST', `/api/merchants/${GONE}/erase`, { apply: true, ...why });
  expect(erased.body).toMatchObject({ erased: true });
  expect((await bench.as(ANA, 'GET', `/api/report?merchant=${GONE}`)).status).toBe(200);
});

it.each([
  ['safety show', '/safety'],
  ['drain', '/drain'],
  ['drain --watch', '/drain'],
  ['merchants show', ''],
])('%s says of a merchant that was never seen that it was not, and not that all is well', async (words, path) => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: ANA.token };
  const asked = words.split(' ');
  expect(await command([...asked, MISTYPED], env)).toMatchObject({ code: 1, out: `${NEVER_READ}\n` });
  expect(await command([...asked, ARGENTINA], env)).toMatchObject({ code: 0 });
  const answer = async (id: string) => (await bench.as(ANA, 'GET', `/api/merchants/${id}${path}`)).body;
  const said = [{ code: 'refusal.unseen_read' }, { code: 'refusal.near' }];
  expect(await answer(MISTYPED)).toMatchObject({ unseen: NEVER_READ, unseen_said: said });
  expect(await answer(ARGENTINA)).toMatchObject({ unseen: null, unseen_said: [] });
});

it('tries a credential when it is set; a page that forbids refuses none [F138]', async () => {
  const set = async (credential: string) => {
    const { revision } = await bench.stageOf();
    const body = { credential, revision, ...why };
    return bench.as(BEN, 'PUT', `/api/merchants/${ARGENTINA}`, body);
  };
  const page = { path: '/users/me', kind: 'html', status: 403, times: 1 };
  await bench.control('/faults', { body: page });
  expect(messageOf(await set(tokenOf(ARGENTINA)))).toContain('could not be tried, because upstream did not say whose');
  const invented = `APP_USR-4004001-112026-0000000000000000000000000000ffff-${ARGENTINA}`;
  expect(messageOf(await set(invented))).toContain(`Upstream refuses this credential of ${ARGENTINA} (401)`);
  expect(messageOf(await set(tokenOf(BRAZIL)))).toContain(`is of merchant ${BRAZIL}, not of ${ARGENTINA}`);
  expect((await set(tokenOf(ARGENTINA))).body).toMatchObject({ credential: 'set', site: 'MLA' });
});

it.each([
  ['one digit missing', '70010020', ['700100200']],
  ['one too many', '7001002000', ['700100200']],
  ['two swapped', '700100020', ['700100200']],
  ['one wrong', '700100400', ['700100200', '700100300']],
  ['another', '123456789', []],
])('near an id with %s', (_slip, wanted, near) => {
  expect(nearTo(wanted, ['700100200', '700100300', '900100250'])).toEqual(near);
});
