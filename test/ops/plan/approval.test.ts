/** Files of merchants where a second person approves moves forward; and any history of hands and files. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ARGENTINA, BEN, BRAZIL, EVA, MEXICO } from '../../kit.ts';
import { openForAll, openForEach } from '../../open.ts';
import { auditsOf } from '../../proxy/http/till.ts';
import { messageOf, startMoves } from '../moves/kit.ts';
import { filesOn, resultsIn, stepsIn } from './kit.ts';

const bench = openForEach(() => startMoves({ PUENTE_MOVES_SECOND_APPROVER: 'true', PUENTE_MOVES_GATE: 'advise' }));
const files = filesOn(bench);

it('proposes a move forward, waits for its approval, and tells that from drift', async () => {
  const text = `merchants: [{id: ${ARGENTINA}, new: true, name: Café, stage: shadow}]`;
  expect(stepsIn(await files.plan(text))).toEqual(['make: name: the default → Café', 'propose: legacy → shadow']);
  const applied = await files.apply(text);
  expect(resultsIn(applied)).toEqual(['made: name: the default → Café', 'proposed: legacy → shadow']);
  expect((await bench.stageOf()).stage).toBe('legacy');

  const waiting = await files.plan(text);
  expect(waiting).toMatchObject({ changes: 0, refused: 0 });
  const [step] = waiting.merchants[0]?.steps ?? [];
  expect(step).toMatchObject({ outcome: 'waits', drift: null });
  const [, id = ''] = /proposed by ben: `puente moves approve (\S+) /.exec(step?.why.join() ?? '') ?? [];
  const own = await bench.as(BEN, 'POST', `/api/moves/${id}/approve`, { reason: 'my own' });
  expect(own.status).toBe(403);
  expect(await files.apply(text)).toMatchObject({ made: 0, not_made: 0 });

  expect((await bench.as(EVA, 'POST', `/api/moves/${id}/approve`, { reason: 'looked at it' })).status).toBe(200);
  expect(await files.plan(text)).toMatchObject({ changes: 0 });
  const moves = (await auditsOf(bench.data_dir)).filter(
    ({ action }) => action === 'move proposed' || action === 'stage',
  );
  const of_file = { file: 'shops.yaml', sha256: waiting.sha256, proposal: id };
  expect(moves.map(({ who, detail }) => ({ who, detail }))).toMatchObject([
    { who: 'ben', detail: of_file },
    { who: 'eva', detail: of_file },
  ]);

  // The approval is the file's, and what a person does after it is drift.
  await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'tills report errors' });
  const [back] = (await files.plan(text)).merchants[0]?.steps ?? [];
  expect(back).toMatchObject({ outcome: 'propose', drift: expect.stringContaining('rolled back: shadow → legacy') });
});

it('a move back needs nobody', async () => {
  await bench.notify(ARGENTINA, { name: 'Café' });
  const proposed = await bench.move({ stage: 'shadow' }, BEN);
  const { id } = (proposed.body as { proposed: { id: string } }).proposed;
  await bench.as(EVA, 'POST', `/api/moves/${id}/approve`, { reason: 'looked at it' });
  const text = `merchants: [{id: ${ARGENTINA}, stage: legacy}]`;
  expect(resultsIn(await files.apply(text))).toEqual(['made: shadow → legacy']);
});

// Any history: whatever people and files did before, an applied file stands, and its second plan is empty.

const stage = fc.constantFrom('legacy', 'shadow', 'canary', 'orders');
const route = stage.map((one) => (one === 'canary' ? { stage: one, share: 10 } : { stage: one }));
const kind = fc.oneof(route, fc.constant({ stage: 'follow' }));
const settings = fc.record(
  {
    name: fc.constantFrom('Café Sur', '1e3', null),
    tags: fc.constantFrom([], ['centro'], ['2026', 'wave-1'], null),
    voucher: fc.constantFrom('refuse', 'drop', null),
    capture: fc.constantFrom(true, false, null),
    safety_stop: fc.constantFrom('armed', 'off', null),
    notice_url: fc.constantFrom('https://shop.example/a', 'https://shop.example/b', null),
  },
  { requiredKeys: [] },
);
const entry = (id: string) =>
  fc
    .tuple(settings, fc.option(route, { nil: {} }), fc.record({ qr: kind, intents: kind }, { requiredKeys: [] }))
    .map(([own, to, kinds]) => ({ id, new: true, ...own, ...to, kinds }));
const file = fc.tuple(entry(ARGENTINA), entry(BRAZIL), entry(MEXICO)).map((merchants) => stringify({ merchants }));
const hand = fc.oneof(
  fc.record({ do: fc.constant('set' as const), change: settings }),
  fc.record({ do: fc.constant('move' as const), to: route }),
  fc.constant({ do: 'rollback' as const }),
);

it('an applied file stands: its second plan is empty, whatever was done before by hand or by file', {
  timeout: 240_000,
}, async () => {
  const act = async (one: typeof hand extends fc.Arbitrary<infer Act> ? Act : never): Promise<void> => {
    if (one.do === 'set') await bench.notify(ARGENTINA, one.change);
    else if (one.do === 'move') await bench.move(one.to, BEN);
    else await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'a test does it', new: true });
  };
  const alone = filesOn(bench);
  await fc.assert(
    fc.asyncProperty(fc.array(hand, { maxLength: 3 }), file, async (hands, text) => {
      for (const one of hands) await act(one);
      const plan = await alone.plan(text);
      const applied = await alone.apply(text);
      // Each step ends as it was planned: what a second person decides is proposed, with all after it.
      expect(resultsIn(applied)).toEqual(
        stepsIn(plan).map((step) => step.replace(/^make:/, 'made:').replace(/^propose:/, 'proposed:')),
      );
      for (const { steps, merchant_id } of (await alone.plan(text)).merchants) {
        const open = steps.filter(({ outcome }) => outcome === 'make' || outcome === 'propose');
        expect([merchant_id, open]).toEqual([merchant_id, []]);
      }
      const waiting = (await bench.as(EVA, 'GET', '/api/moves?state=waiting')).body as { moves: { id: string }[] };
      for (const { id } of waiting.moves) {
        const done = await bench.as(EVA, 'POST', `/api/moves/${id}/approve`, { reason: 'a test agrees' });
        if (done.status !== 200) throw new Error(messageOf(done));
      }
    }),
    { numRuns: 12 },
  );
});

describe('where nobody has to approve', () => {
  const alone = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));

  it('a kind is where it was or where the file wants it, after each line of an apply', {
    timeout: 240_000,
  }, async () => {
    const kinds = ['devices', 'intents', 'qr'] as const;
    const placesOf = async (): Promise<Record<string, string>> => {
      const { body } = await alone.as(BEN, 'GET', `/api/merchants/${ARGENTINA}`);
      const { in_force } = body as { in_force: Record<string, { intended: string; share: number }> }; // the row's answer
      return Object.fromEntries(kinds.map((one) => [one, `${in_force[one]?.intended} ${in_force[one]?.share}`]));
    };
    const { apply } = filesOn(alone);
    await fc.assert(
      fc.asyncProperty(entry(ARGENTINA), async (wanted) => {
        const before = await placesOf();
        const known = (await auditsOf(alone.data_dir)).length;
        await apply(stringify({ merchants: [wanted] }));
        const after = await placesOf();
        for (const { action, detail } of (await auditsOf(alone.data_dir)).slice(known)) {
          // A line whose sides are equal gives a kind a stage of its own, or none, where it is.
          if (action !== 'stage' || isDeepStrictEqual(detail.before, detail.after)) continue;
          const { stage: all, share, ...others } = detail.after as Record<string, unknown>; // the facts of a move
          const named = kinds.some((one) => Object.hasOwn(others, one));
          for (const one of kinds) {
            const to = (others[one] ?? (named || all === undefined ? null : { stage: all, share })) as null | {
              stage: string;
              share: number;
            }; // a route
            if (to !== null) expect([before[one], after[one]]).toContain(`${to.stage} ${to.share}`);
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});
