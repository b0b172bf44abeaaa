/** The gate on a running Puente: no move forward without evidence, moves back always allowed, each with its reason. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  ANA,
  ARGENTINA,
  BEN,
  BRAZIL,
  CHILE,
  clockOf,
  DEVICE,
  EVA,
  eventually,
  MEXICO,
  POINT,
  URUGUAY,
} from '../../kit.ts';
import { auditsOf } from '../../proxy/http/till.ts';
import { verifyAudit } from '../audit-chain.ts';
import { command } from './command.ts';
import { type MovesBench, messageOf, startMoves } from './kit.ts';

let bench: MovesBench;

describe('with the gate enforced', () => {
  beforeAll(async () => {
    bench = await startMoves();
  });
  afterAll(() => bench.close());

  it('no door lets a merchant jump from legacy to orders', async () => {
    const refused = await bench.move({ stage: 'orders' }, EVA, BRAZIL);
    expect([refused.status, refused.body]).toMatchObject([400, { error: 'refused', needs: 'override' }]);
    expect(messageOf(refused)).toMatch(new RegExp(`^${BRAZIL} is not moved\\.\\n.* skips shadow, canary\\.\\nTry `));
    expect(messageOf(refused)).toContain(`\`puente stage ${BRAZIL} shadow --reason …\``);
    expect(messageOf(refused)).toContain('--override');
    const aside = { stage: 'orders', reason: 'by the side door', revision: 0 };
    expect((await bench.as(EVA, 'PUT', `/api/merchants/${BRAZIL}`, aside)).status).toBe(400);
    const items = [{ merchant_id: BRAZIL }];
    const bulk = await bench.as(BEN, 'POST', '/api/bulk', {
      target: { stage: 'orders' },
      items,
      reason: 'all at once',
      new: true,
    });
    const { id } = bulk.body as { id: string };
    const done = await eventually(
      async () => (await bench.as(BEN, 'GET', `/api/bulk/${id}`)).body as { state: string; items: object[] },
      ({ state }) => state === 'done',
    );
    expect(done.items).toMatchObject([{ state: 'refused', detail: expect.stringContaining('skips shadow, canary') }]);
    expect(await bench.stageOf(BRAZIL)).toMatchObject({ stage: 'legacy', revision: 0 });
  });

  it('no role but an approver does without evidence, and the audit says what was missing', async () => {
    const jump = { stage: 'orders', override: true };
    expect((await bench.move(jump, ANA, MEXICO)).status).toBe(403);
    expect(messageOf(await bench.move(jump, BEN, MEXICO))).toContain('needs the role approver');
    const moved = await bench.move(jump, EVA, MEXICO);
    expect(moved.body).toMatchObject({
      revision: 1,
      in_force: { intents: { stage: 'orders' }, qr: { stage: 'orders' }, devices: { stage: 'orders' } },
      judgement: { allowed: true, overridden: true },
    });
    const lines = await auditsOf(bench.data_dir);
    const line = lines.find(({ action, subject }) => action === 'stage' && subject === MEXICO);
    expect(line).toMatchObject({
      who: EVA.name,
      detail: {
        before: { stage: 'legacy' },
        after: { stage: 'orders' },
        judgement: { overridden: true, missing: [{ code: 'skipped_stage' }, { code: 'no_creates' }] },
        evidence: { verdict: 'inconclusive', exchange_sequence: 0 },
      },
    });
    expect(verifyAudit(lines)).toMatchObject({ intact: true });
  });

  it('a hard blocker is waived by nobody', async () => {
    await bench.move({ stage: 'shadow' });
    await sellWhatIsRefused();
    const refused = await bench.move({ stage: 'canary', share: 5, override: true }, EVA);
    expect(refused.body).toMatchObject({ error: 'refused', needs: 'nothing' });
    expect(messageOf(refused)).toContain('The field body.tip was seen once; it is in no table');
  });

  it('shadow needs nothing; canary says how many calls are missing, and so does its preview', async () => {
    expect((await bench.move({ stage: 'shadow' }, BEN, CHILE)).status).toBe(200);
    const refused = await bench.move({ stage: 'canary', share: 5 }, BEN, CHILE);
    expect(messageOf(refused)).toContain(`No call of ${CHILE}`);
    const preview = await bench.as(ANA, 'GET', `/api/merchants/${CHILE}/stage/preview?stage=canary&share=5`);
    expect(preview.body).toMatchObject({ revision: 1, judgement: { allowed: false, kind: 'forward' } });
    expect(await bench.stageOf(CHILE)).toMatchObject({ stage: 'shadow', revision: 1 });
  });

  it('an old revision is told before anything else', async () => {
    const body = { stage: 'shadow', reason: 'too late', revision: 7, new: true };
    expect((await bench.as(BEN, 'PUT', `/api/merchants/${URUGUAY}/stage`, body)).status).toBe(409);
  });

  it('a kind moves alone, and follows its merchant again', async () => {
    await bench.move({ stage: 'shadow', kind: 'qr' }, BEN, URUGUAY);
    expect((await bench.stageOf(URUGUAY)).in_force).toMatchObject({
      qr: { stage: 'shadow' },
      intents: { stage: 'legacy' },
    });
    await bench.move({ stage: null, kind: 'qr' }, BEN, URUGUAY);
    expect((await bench.stageOf(URUGUAY)).in_force).toMatchObject({ qr: { stage: 'legacy' } });
  });
});

/** A sale with a field that its merchant refuses (a hard blocker); resolves when the evidence shows it. */
async function sellWhatIsRefused(): Promise<void> {
  expect((await bench.notify(ARGENTINA, { unknown_field: 'refuse' })).status).toBe(200);
  const body = { amount: 1500, tip: 100 };
  expect((await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body })).status).toBe(201);
  await eventually(
    async () => (await bench.as(ANA, 'GET', `/api/merchants/${ARGENTINA}/stage/preview?stage=orders`)).text,
    (text) => text.includes('unknown_refused'),
  );
}

describe('with a second approver', () => {
  beforeAll(async () => {
    bench = await startMoves({ PUENTE_MOVES_SECOND_APPROVER: 'true' });
  });
  afterAll(() => bench.close());

  async function proposed(
    person: { token: string },
    merchant: string,
    target: object = { stage: 'shadow' },
  ): Promise<string> {
    const { body } = await bench.move(target, person, merchant);
    return (body as { proposed: { id: string } }).proposed.id;
  }
  const decide = (id: string, what: 'approve' | 'decline', person: { token: string }) =>
    bench.as(person, 'POST', `/api/moves/${id}/${what}`, { reason: 'decided by a test' });

  it('a move forward waits for another approver, and is made once', async () => {
    const id = await proposed(BEN, ARGENTINA);
    expect(await bench.stageOf()).toMatchObject({ stage: 'legacy', revision: 0 });
    expect((await decide(id, 'approve', BEN)).status).toBe(403);
    expect((await bench.as(ANA, 'GET', `/api/moves/${id}`)).body).toMatchObject({
      state: 'waiting',
      proposed_by: BEN.name,
    });
    const twice = await Promise.all([decide(id, 'approve', EVA), decide(id, 'approve', EVA)]);
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(await bench.stageOf()).toMatchObject({ stage: 'shadow', revision: 1 });
    expect(await auditsOf(bench.data_dir)).toMatchObject([
      { action: 'move proposed', who: BEN.name },
      { action: 'stage', who: EVA.name, detail: { proposal: id, proposed_by: BEN.name } },
    ]);
  });

  it('going back never waits', async () => {
    expect((await bench.move({ stage: 'legacy' }, BEN)).body).toMatchObject({ id: ARGENTINA, revision: 2 });
  });

  it('nobody approves their own, whatever the role', async () => {
    const own = await decide(await proposed(EVA, BRAZIL), 'approve', EVA);
    expect([own.status, messageOf(own)]).toEqual([403, expect.stringContaining('puente moves decline')]);
    expect((await bench.stageOf(BRAZIL)).stage).toBe('legacy');
  });

  it('it is judged again on what holds when it is approved', async () => {
    await decide(await proposed(BEN, ARGENTINA), 'approve', EVA);
    const id = await proposed(EVA, ARGENTINA, { stage: 'canary', share: 5, override: true });
    await sellWhatIsRefused();
    const late = await bench.ops(`/api/moves/${id}/approve`, { body: { reason: 'agreed yesterday' } });
    expect([late.status, messageOf(late)]).toEqual([400, expect.stringContaining('and the call would be refused')]);
    expect((await bench.stageOf()).stage).toBe('shadow');
  });

  it('a proposal is declined by another, withdrawn by its proposer, and by a rollback', async () => {
    const declined = await proposed(EVA, CHILE);
    expect((await decide(declined, 'decline', BEN)).status).toBe(403);
    const other = await bench.ops(`/api/moves/${declined}/decline`, { body: { reason: 'not now' } });
    expect(other.body).toMatchObject({ state: 'declined', decided_by: 'operator' });
    const withdrawn = await proposed(BEN, CHILE);
    expect((await decide(withdrawn, 'decline', BEN)).body).toMatchObject({ state: 'withdrawn' });
    const rolled = await proposed(BEN, CHILE);
    await bench.as(BEN, 'POST', `/api/merchants/${CHILE}/rollback`, { reason: 'to be sure' });
    expect((await bench.as(ANA, 'GET', `/api/moves/${rolled}`)).body).toMatchObject({ state: 'withdrawn' });
    for (const id of [declined, withdrawn, rolled]) expect((await decide(id, 'approve', EVA)).status).toBe(400);
    expect((await bench.stageOf(CHILE)).stage).toBe('legacy');
  });

  it('the same move does not wait twice, and the command says that nothing has moved', async () => {
    const env = { PUENTE_OPS_TOKEN: BEN.token, PUENTE_OPS_URL: bench.app.ops_url };
    const ask = ['stage', CHILE, 'shadow', '--reason', 'a first look', '--new'];
    const first = await command(ask, env);
    expect([first.code, first.out]).toEqual([
      0,
      expect.stringMatching(
        `^proposed, not moved: merchant ${CHILE} stays as it is\nAnother approver can approve it until`,
      ),
    ]);
    const [, id] = /puente moves approve (\S+)/.exec(first.out) ?? [];
    const again = await command(ask, env);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining(`puente moves approve ${id} --reason`)]);
    const other = await bench.move({ stage: 'shadow', kind: 'qr' }, BEN, CHILE);
    expect(other.body).toMatchObject({ result: 'proposed', proposed: { state: 'waiting' } });
    expect((await bench.stageOf(CHILE)).stage).toBe('legacy');
    await bench.as(BEN, 'POST', `/api/merchants/${CHILE}/rollback`, { reason: 'to be sure' });
  });

  it('a bulk move proposes, within its budget', async () => {
    const items = [{ merchant_id: URUGUAY }, { merchant_id: MEXICO }];
    const ask = { target: { stage: 'shadow' }, items, per_day: 1, reason: 'wave 1', new: true };
    const { id } = (await bench.as(BEN, 'POST', '/api/bulk', ask)).body as { id: string };
    await eventually(
      async () => (await bench.as(BEN, 'GET', `/api/bulk/${id}`)).body as { detail: string },
      ({ detail }) => detail.startsWith('1 of 1 moves of today'),
    );
    const { moves } = (await bench.as(EVA, 'GET', '/api/moves?state=waiting')).body as {
      moves: { merchant_id: string }[];
    };
    expect(moves.map(({ merchant_id }) => merchant_id)).toContain(URUGUAY);
    expect(moves.map(({ merchant_id }) => merchant_id)).not.toContain(MEXICO);
  });
});

describe('by the clock', () => {
  afterEach(() => bench.close());
  /** A Wednesday. */
  const NOON = Date.parse('2026-11-18T12:00:00Z');

  it('a proposal is over after a while, and a window closes for moves forward alone', async () => {
    let now = NOON;
    const clock = clockOf(() => now);
    const settings = { PUENTE_MOVES_PROPOSAL_KEPT_MS: '3600000', PUENTE_MOVES_WINDOW: 'Mon-Fri 09:00-15:00 UTC' };
    bench = await startMoves({ PUENTE_MOVES_SECOND_APPROVER: 'true', ...settings }, { clock });
    const { proposed } = (await bench.move({ stage: 'shadow' }, BEN)).body as { proposed: { id: string } };
    now += 3_600_000;
    const late = await bench.as(EVA, 'POST', `/api/moves/${proposed.id}/approve`, { reason: 'at last' });
    expect([late.status, messageOf(late)]).toEqual([400, expect.stringContaining('is expired')]);
    const { moves } = (await bench.as(ANA, 'GET', '/api/moves?state=expired')).body as { moves: { id: string }[] };
    expect(moves.map(({ id }) => id)).toEqual([proposed.id]);
    now += 3 * 3_600_000;
    expect(messageOf(await bench.move({ stage: 'shadow' }))).toContain('it opens next at 2026-11-19T09:00:00.000Z');
    expect((await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'to be sure' })).status).toBe(
      200,
    );
  });

  it('a bulk move waits for the window with merchants that lack nothing else but what its override waives', async () => {
    let now = NOON;
    bench = await startMoves({ PUENTE_MOVES_WINDOW: 'Thu 09:00-15:00 UTC' }, { clock: clockOf(() => now) });
    const start = async (merchants: string[], override: boolean): Promise<string> => {
      const target = { stage: 'canary', share: 50, override };
      const { body } = await bench.as(EVA, 'POST', '/api/bulk', { target, merchants, reason: 'wave 1', new: true });
      return (body as { id: string }).id;
    };
    const bulk = async (id: string) =>
      (await bench.as(ANA, 'GET', `/api/bulk/${id}`)).body as { state: string; detail: string; items: object[] };
    const waits = await start([BRAZIL], true);
    const lacks = await start([URUGUAY], false);
    await eventually(
      () => bulk(waits),
      ({ detail }) => detail.includes('it opens next at 2026-11-19T09:00:00.000Z'),
    );
    const over = await eventually(
      () => bulk(lacks),
      ({ state }) => state !== 'running',
    );
    expect(over).toMatchObject({ items: [{ state: 'refused' }] });
    now += 24 * 3_600_000;
    const moved = await eventually(
      () => bulk(waits),
      ({ state }) => state !== 'running',
    );
    expect(moved).toMatchObject({ state: 'done', items: [{ state: 'moved' }] });
  });

  it('a bulk move leaves a merchant that was rolled back while it waited', async () => {
    let now = NOON;
    const clock = clockOf(() => now);
    bench = await startMoves({}, { clock });
    await bench.move({ stage: 'shadow' }, BEN, BRAZIL);
    const items = [{ merchant_id: URUGUAY }, { merchant_id: BRAZIL, stage: 'canary', share: 50 }];
    const ask = { target: { stage: 'shadow', override: true }, items, per_day: 1, reason: 'wave 1', new: true };
    const { id } = (await bench.as(EVA, 'POST', '/api/bulk', ask)).body as { id: string };

    const bulk = async () =>
      (await bench.as(ANA, 'GET', `/api/bulk/${id}`)).body as { state: string; detail: string; items: object[] };
    await eventually(bulk, ({ detail }) => detail.startsWith('1 of 1 moves of today'));
    now += 1000;
    await bench.as(BEN, 'POST', `/api/merchants/${BRAZIL}/rollback`, { reason: 'tills stand still' });
    now += 24 * 3_600_000;
    const over = await eventually(bulk, ({ state }) => state !== 'running');
    const detail = `rolled back by ben since the bulk move began: tills stand still`;
    expect(over).toMatchObject({ state: 'done', items: [{ state: 'moved' }, { state: 'skipped', detail }] });
    expect((await bench.stageOf(BRAZIL)).stage).toBe('legacy');
  });
});

it('nothing starts with a window that can not be read', async () => {
  await expect(startMoves({ PUENTE_MOVES_WINDOW: 'Mo-Fr 09:00-17:00 UTC' })).rejects.toThrow(
    "moves.window is 'Mo-Fr 09:00-17:00 UTC', which has days that can't be read: Mo-Fr",
  );
});
