/** A change that changes nothing is answered as one, and leaves no audit line and no revision. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, BEN, BRAZIL, CHILE, EVA, eventually, MEXICO } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { auditsOf } from '../../proxy/http/till.ts';
import { command } from './command.ts';
import { startMoves } from './kit.ts';

const reason = 'a test changes nothing';
const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));
beforeAll(async () => {
  for (const merchant of [ARGENTINA, BRAZIL, CHILE, MEXICO])
    await bench.till('/point/integration-api/devices', { merchant });
});

const lines = async (merchant: string) =>
  (await auditsOf(bench.data_dir)).filter(({ subject }) => subject === merchant);
const rollBack = async (merchant: string) =>
  (await bench.as(BEN, 'POST', `/api/merchants/${merchant}/rollback`, { reason })).body;
const set = async (change: object, revision: number) =>
  bench.as(BEN, 'PUT', `/api/merchants/${ARGENTINA}`, { reason, revision, ...change });
const cli = (...argv: string[]) =>
  command([...argv, '--reason', reason], { PUENTE_OPS_TOKEN: BEN.token, PUENTE_OPS_URL: bench.app.ops_url });

/** What an act answers, and the audit lines that it adds about a merchant. */
async function told<Answer>(merchant: string, act: () => Promise<Answer>): Promise<[Answer, string[]]> {
  const before = (await lines(merchant)).length;
  const answer = await act();
  return [answer, (await lines(merchant)).slice(before).map(({ action }) => action)];
}

describe('a move', () => {
  it('to the same stage, also to the one that a merchant without a stage follows', async () => {
    for (const stage of ['legacy', 'shadow']) {
      if (stage === 'shadow') await bench.move({ stage }, BEN);
      const { revision } = await bench.stageOf();
      const preview = await bench.as(BEN, 'GET', `/api/merchants/${ARGENTINA}/stage/preview?stage=${stage}`);
      expect(preview.body).toMatchObject({ changes_nothing: true, judgement: { kind: 'same', allowed: true } });
      const [{ body }, written] = await told(ARGENTINA, () => bench.move({ stage, new: false }, BEN));
      expect([body, written]).toEqual([expect.objectContaining({ result: 'unchanged', revision }), []]);
      const [{ code, out }, by_hand] = await told(ARGENTINA, () => cli('stage', ARGENTINA, stage));
      expect([code, out, by_hand]).toEqual([
        0,
        `nothing to change: merchant ${ARGENTINA} stays where it is: stage ${stage}, revision ${revision}\n`,
        [],
      ]);
    }
    const stale = await bench.move({ stage: 'shadow', revision: 0 }, BEN);
    expect([stale.status, stale.body]).toEqual([409, expect.objectContaining({ error: 'conflict' })]);
  });

  it('of a kind that gets a stage of its own is none of them', async () => {
    const preview = await bench.as(BEN, 'GET', `/api/merchants/${ARGENTINA}/stage/preview?stage=shadow&kind=qr`);
    expect(preview.body).toMatchObject({ changes_nothing: false, judgement: { kind: 'same' } });
    const [{ body }, written] = await told(ARGENTINA, () => bench.move({ stage: 'shadow', kind: 'qr' }, BEN));
    expect([body, written]).toEqual([expect.objectContaining({ result: 'moved' }), ['stage']]);
    const [again] = await told(ARGENTINA, () => bench.move({ stage: 'shadow', kind: 'qr' }, BEN));
    expect(again.body).toMatchObject({ result: 'unchanged' });
  });
});

it('settings that are so already, secrets too; of several, only what differs is written', async () => {
  const wanted = { safety_stop: 'armed', tags: ['north'], notice_secret: 'a-secret-of-the-tests' };
  const { revision } = (await set(wanted, (await bench.stageOf()).revision)).body as { revision: number };
  const [same, none] = await told(ARGENTINA, () => set(wanted, revision));
  expect([same.status, same.body, none]).toEqual([200, expect.objectContaining({ result: 'unchanged', revision }), []]);
  expect((await set(wanted, revision - 1)).status).toBe(409);
  const [{ code, out }] = await told(ARGENTINA, () => cli('merchants', 'set', ARGENTINA, '--safety-stop', 'armed'));
  expect([code, out]).toEqual([
    0,
    `nothing to change: merchant ${ARGENTINA} has these settings already, revision ${revision}\n`,
  ]);
  const [changed] = await told(ARGENTINA, () => set({ ...wanted, capture: true }, revision));
  expect(changed.body).toMatchObject({ result: 'changed', revision: revision + 1 });
  expect((await lines(ARGENTINA)).at(-1)?.detail).toEqual({
    before: { capture: null },
    after: { capture: true },
    secrets: [],
  });
  const [again] = await told(ARGENTINA, () => cli('capture', 'on', ARGENTINA));
  expect(again.out).toContain('nothing to change');
});

describe('a rollback of a merchant on legacy', () => {
  it('that waits for nothing', async () => {
    const [body, written] = await told(BRAZIL, () => rollBack(BRAZIL));
    expect([body, written]).toEqual([
      expect.objectContaining({ result: 'unchanged', withdrawn: [], left: [], revision: 0 }),
      [],
    ]);
    const { code, out } = await cli('rollback', BRAZIL);
    expect(code).toBe(0);
    expect(out).toContain(`nothing to change: merchant ${BRAZIL} is on legacy already, and waits for no move\n`);
  });

  it('does something while a bulk move will move it, and once', async () => {
    const body = { target: {}, merchants: [], per_day: 1, reason };
    const items = [
      { merchant_id: CHILE, stage: 'shadow' },
      { merchant_id: MEXICO, stage: 'shadow' },
    ];
    const { id } = (await bench.as(BEN, 'POST', '/api/bulk', { ...body, merchants: undefined, items })).body as {
      id: string;
    };
    const bulk = async () => (await bench.as(BEN, 'GET', `/api/bulk/${id}`)).body as { items: { state: string }[] };
    await eventually(bulk, (now) => now.items[0]?.state === 'moved');
    const [{ code, out }, written] = await told(MEXICO, () => cli('rollback', MEXICO));
    expect([code, written]).toEqual([0, ['rollback']]);
    expect(out).toContain(`merchant ${MEXICO} was on legacy already: new payments go there now`);
    expect(out).toContain(`left alone from now on by bulk moves and ramps: ${id}`);
    const [again, none] = await told(MEXICO, () => rollBack(MEXICO));
    expect([again, none]).toEqual([expect.objectContaining({ result: 'unchanged', left: [] }), []]);
  });

  it('withdraws a move that was proposed, and says which', async () => {
    const strict = await startMoves({ PUENTE_MOVES_GATE: 'advise', PUENTE_MOVES_SECOND_APPROVER: 'true' });
    const proposed = (await strict.move({ stage: 'shadow' }, BEN, BRAZIL)).body as { proposed: { id: string } };
    const back = await strict.as(EVA, 'POST', `/api/merchants/${BRAZIL}/rollback`, { reason });
    expect(back.body).toMatchObject({ result: 'rolled_back', withdrawn: [proposed.proposed.id], left: [] });
    await strict.close();
  });
});
