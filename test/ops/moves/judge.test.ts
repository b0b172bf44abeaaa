/** The judge of moves: all pairs of stages with all kinds of evidence, gate and role; then rules outside the table. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Role, roles } from '../../../src/ops/api/person.ts';
import { judgeMove } from '../../../src/ops/moves/judge.ts';
import { directionOf, routingOf, settingsAfter } from '../../../src/ops/moves/target.ts';
import {
  type MerchantSettings,
  merchantSettings,
  routedKinds,
  type Stage,
  stages,
} from '../../../src/proxy/routing/merchant.ts';
import { isOnOrders, kindOfSlot } from '../../../src/proxy/routing/stage.ts';
import {
  type Evidence,
  factsWith,
  findingOf,
  MERCHANT,
  merchantWith,
  NOW,
  readinessWith,
  rules,
  situationWith,
  TERMINALS,
  targetWith,
} from './situations.ts';

const gates = ['enforce', 'advise'] as const;
const evidences: Evidence[] = ['none', 'shadowed', 'served', 'blocked'];

const SETTINGS = { gate: 'enforce', second_approver: false, window: null, min_sample: 20 } as const;
const APPROVER = { name: 'eva', role: 'approver' } as const;
const STOP = { at: NOW, why: '4 of 20', evidence: { calls: 20, faults: 4, slow: 0, window_ms: 1, sample: null } };
const judged = (...ask: Parameters<typeof situationWith>) => judgeMove(situationWith(...ask)).judgement;

/** The rules of a move in the order of precedence, written independently of the judge. */
function mayMove(from: Stage, to: Stage, evidence: Evidence, gate: string, role: Role, override: boolean): boolean {
  const steps = stages.indexOf(to) - stages.indexOf(from);
  if (role === 'viewer') return false;
  if (steps <= 0) return true;
  if (override && role !== 'approver') return false;
  if (gate === 'advise') return true;
  if (evidence === 'blocked' && to !== 'shadow') return false;
  if (override) return true;
  const proven = { legacy: true, shadow: true, canary: evidence !== 'none', orders: evidence === 'served' };
  return steps === 1 && proven[to];
}

describe('every pair of stages, with every evidence, gate, role and override', () => {
  for (const from of stages)
    for (const to of stages)
      it(`${from} to ${to}`, () => {
        for (const evidence of evidences)
          for (const gate of gates)
            for (const role of roles.filter((one) => one !== 'rollback')) // may not ask for a move
              for (const override of [false, true]) {
                const share = to === 'canary' ? { share: 10 } : {};
                const judgement = judged(
                  {
                    merchant: merchantWith({ stage: from, share: from === 'canary' ? 10 : 0 }),
                    target: targetWith({ stage: to, override, ...share }),
                    person: { name: 'eva', role },
                    settings: { ...SETTINGS, gate },
                  },
                  evidence,
                );
                const said = { from, to, evidence, gate, role, override, allowed: judgement.allowed };
                expect(said).toEqual({ ...said, allowed: mayMove(from, to, evidence, gate, role, override) });
                if (!judgement.allowed) expect(judgement.missing).not.toEqual([]);
                if (judgement.needs === 'override') expect(judgement.allowed).toBe(false);
              }
      });
});

describe('going back', () => {
  it('is allowed outside of the window, without evidence, approver or second person, and with a stop that stands', () => {
    const judgement = judged(
      {
        merchant: merchantWith({ stage: 'orders' }, { intents: STOP }),
        target: targetWith({ stage: 'canary', share: 50, override: true }),
        settings: { ...SETTINGS, second_approver: true, window: 'Sat 09:00-10:00 UTC' },
      },
      'blocked',
    );
    expect(judgement).toMatchObject({ allowed: true, kind: 'back', missing: [], needs: 'nothing' });
  });

  it('a lower share is back, a higher one forward; the same is neither', () => {
    const kindOf = (share: number): string => {
      const merchant = merchantWith({ stage: 'canary', share: 10 });
      return judged({ merchant, target: targetWith({ stage: 'canary', share }) }).kind;
    };
    expect([kindOf(9.99), kindOf(10), kindOf(10.01)]).toEqual(['back', 'same', 'forward']);
  });

  it('a move that lowers the share and names one more unit is forward', () => {
    const merchant = merchantWith({ stage: 'canary', share: 10 });
    const target = targetWith({ stage: 'canary', share: 1, units_in: ['point:PAX_A910__SMARTPOS0000000001'] });
    expect(judged({ merchant, target })).toMatchObject({ kind: 'forward', allowed: false });
  });

  it('a unit that is not kept out any more is forward', () => {
    const merchant = merchantWith({ stage: 'canary', share: 10, units_out: ['point:A'] });
    const target = targetWith({ stage: 'canary', units_out: [] });
    expect(judged({ merchant, target }).kind).toBe('forward');
  });

  it('never puts a unit on orders that was not there, whatever the settings', () => {
    const slot = fc.constantFrom(...TERMINALS.slice(0, 6), 'qr:CAJA1', 'qr:CAJA2');
    const route = fc.record({ stage: fc.constantFrom(...stages), share: fc.integer({ min: 0, max: 100 }) });
    const settings = fc
      .record({
        stage: fc.constantFrom(...stages),
        share: fc.integer({ min: 0, max: 100 }),
        units_in: fc.uniqueArray(slot, { maxLength: 3 }),
        units_out: fc.uniqueArray(slot, { maxLength: 3 }),
        kinds: fc.record({ devices: route, intents: route, qr: route }, { requiredKeys: [] }),
      })
      .map((one): MerchantSettings => merchantSettings.parse(one));
    fc.assert(
      fc.property(settings, settings, slot, (before, after, unit) => {
        if (directionOf(routingOf(rules, before), routingOf(rules, after)).kind === 'forward') return;
        for (const kind of [kindOfSlot(unit), ...routedKinds.filter((one) => one === 'devices')]) {
          if (kind === 'devices' && unit.startsWith('qr:')) continue;
          const on = (one: MerchantSettings): boolean => isOnOrders(rules, merchantWith(one), MERCHANT, kind, unit);
          expect([on(before), on(after)]).not.toEqual([false, true]);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('what stands in the way of a move forward', () => {
  const canary = targetWith({ stage: 'canary', share: 5 });
  const shadowed = merchantWith({ stage: 'shadow' });

  it('a safety stop, of the kind that would move, whatever the gate and the override', () => {
    const settings = { ...SETTINGS, gate: 'advise' } as const;
    const stopped = merchantWith({ stage: 'canary', share: 5 }, { intents: STOP });
    const judge = (target: Parameters<typeof targetWith>[0]) =>
      judged(
        { merchant: stopped, target: targetWith({ override: true, ...target }), settings, person: APPROVER },
        'served',
      );
    expect(judge({ stage: 'orders' })).toMatchObject({
      allowed: false,
      missing: [{ code: 'safety_stop', command: `puente safety reset ${MERCHANT} --kind intents --reason …` }],
    });
    expect(judge({ stage: 'orders', kind: 'qr' }).allowed).toBe(true);
  });

  it('the window, with the next opening', () => {
    const settings = { ...SETTINGS, gate: 'advise', window: 'Mon-Fri 09:00-11:00 UTC' } as const;
    const judgement = judged({ merchant: shadowed, target: canary, settings }, 'served');
    expect(judgement).toMatchObject({ allowed: false, needs: 'nothing', missing: [{ code: 'outside_window' }] });
    expect(judgement.missing[0]?.what).toContain('2026-11-19T09:00:00.000Z');
  });

  it('a blocker of another kind does not stand in the way of this one', () => {
    const operations = [
      {
        operation: 'qr.create',
        kind: 'qr',
        calls: 30,
        outcomes: { ok: 30, business: 0, auth: 0, fault: 0 },
        verdict: 'blocked',
      },
    ] as const;
    const readiness = readinessWith('blocked', {
      blockers: [findingOf('open_difference', 'qr.create')],
      operations: [...operations],
    });
    const judge = (kind: 'intents' | 'qr') =>
      judged({ merchant: shadowed, target: { ...canary, kind }, readiness, facts: factsWith('served') });
    expect([judge('intents').allowed, judge('qr').allowed]).toEqual([true, false]);
  });

  it('too few calls, with the number that would do', () => {
    const sample = { shadow: 19, orders: 0, seen: 19, calls_a_day: 3 };
    const facts = factsWith('none', {
      samples: { devices: sample, intents: sample, qr: { ...sample, shadow: 0, seen: 0 } },
    });
    const judgement = judged({ merchant: shadowed, target: canary, facts });
    expect(judgement).toMatchObject({ allowed: false, needs: 'override', missing: [{ code: 'too_few_calls' }] });
    expect(judgement.missing[0]?.what).toContain('19 intents calls');
  });

  it('orders needs calls that orders served, not only paper', () => {
    const merchant = merchantWith({ stage: 'canary', share: 5 });
    const facts = factsWith('shadowed');
    const readiness = readinessWith('served');
    const judgement = judged({ merchant, target: targetWith({ stage: 'orders' }), facts, readiness });
    expect(judgement.missing.map(({ code, what }) => [code, what.split(' calls ')[0]])).toEqual([
      ['too_few_calls', '0 intents'],
      ['too_few_calls', '0 QR'],
    ]);
  });

  it('orders needs what only a canary shows, though the verdict on the next move is ready; a canary does not', () => {
    const readiness = readinessWith('served', { unproven: [findingOf('legacy_only')] });
    const judge = (stage: 'shadow' | 'canary', target: Parameters<typeof targetWith>[0]) => {
      const merchant = merchantWith({ stage, ...(stage === 'canary' ? { share: 5 } : {}) });
      return judged({ merchant, target: targetWith(target), readiness }, 'served');
    };
    expect(judge('shadow', { stage: 'canary', share: 5 })).toMatchObject({ allowed: true, missing: [] });
    expect(judge('canary', { stage: 'orders' })).toMatchObject({
      allowed: false,
      needs: 'override',
      missing: [{ code: 'legacy_only' }],
    });
  });

  it('a canary needs somewhere to tell its sales, which an approver may do without', () => {
    const readiness = readinessWith('served', { unproven: [findingOf('no_notice_url')], verdict: 'inconclusive' });
    const ask = { merchant: shadowed, target: canary, readiness };
    const missing = [{ code: 'no_notice_url' }];
    expect(judged(ask, 'served')).toMatchObject({ needs: 'override', missing });
    const target = { ...canary, override: true };
    expect(judged({ ...ask, target, person: APPROVER }, 'served')).toMatchObject({
      allowed: true,
      missing,
    });
  });

  it('a stage that is skipped, with the command for the next one', () => {
    const target = targetWith({ stage: 'orders', kind: 'qr' });
    const judgement = judged({ merchant: shadowed, target }, 'served');
    expect(judgement.missing).toMatchObject([
      { code: 'skipped_stage', command: `puente stage ${MERCHANT} canary --share 5 --kind qr --reason …` },
    ]);
  });
});

describe('who has to agree', () => {
  const ask = { merchant: merchantWith({ stage: 'shadow' }), target: targetWith({ stage: 'canary', share: 5 }) };

  it('a second person, where the setting says so, and never for a refused move', () => {
    const settings = { ...SETTINGS, second_approver: true };
    expect(judged({ ...ask, settings }, 'shadowed')).toMatchObject({
      allowed: true,
      needs: 'approval',
    });
    expect(judged({ ...ask, settings })).toMatchObject({
      allowed: false,
      needs: 'override',
    });
  });

  it('an override is told only where something was missing', () => {
    const target = { ...ask.target, override: true };
    expect(judged({ ...ask, target, person: APPROVER }, 'shadowed').overridden).toBe(false);
    expect(judged({ ...ask, target, person: APPROVER })).toMatchObject({
      allowed: true,
      overridden: true,
      missing: [{ code: 'never_seen' }],
    });
  });
});

describe('targets', () => {
  it.each([
    ['a canary without units', { stage: 'canary' }, 'A canary needs units'],
    ['a share beside another stage', { stage: 'orders', share: 5 }, 'stage canary alone'],
    ['units beside another stage', { stage: 'shadow', units_in: ['point:A'] }, 'stage canary alone'],
    ['no stage for a merchant', { stage: null }, 'Name a stage'],
    ['a unit in and out', { stage: 'canary', units_in: ['point:A'], units_out: ['point:A'] }, 'both in and out'],
  ] as const)('%s is refused', (_name, target, says) => {
    const asked = targetWith(target as Parameters<typeof targetWith>[0]);
    expect(() => settingsAfter(rules, merchantSettings.parse({ stage: 'legacy' }), asked)).toThrow(says);
  });

  it('what belongs to a canary goes with it, and units kept out stay out', () => {
    const before = merchantSettings.parse({ stage: 'canary', share: 7, units_in: ['point:A'], units_out: ['point:B'] });
    expect(settingsAfter(rules, before, targetWith({ stage: 'legacy' }))).toMatchObject({
      stage: 'legacy',
      share: 0,
      units_in: [],
      units_out: ['point:B'],
    });
  });

  it('named units stay while another kind is on a canary', () => {
    const before = merchantSettings.parse({
      stage: 'canary',
      share: 7,
      units_in: ['qr:A'],
      kinds: { qr: { stage: 'canary', share: 1 } },
    });
    expect(settingsAfter(rules, before, targetWith({ stage: 'shadow' })).units_in).toEqual(['qr:A']);
  });

  it('a kind moves alone, and follows its merchant again', () => {
    const before = merchantSettings.parse({ stage: 'shadow' });
    const own = settingsAfter(rules, before, targetWith({ stage: 'canary', share: 5, kind: 'qr' }));
    expect(own).toMatchObject({ stage: 'shadow', kinds: { qr: { stage: 'canary', share: 5 } } });
    expect(settingsAfter(rules, own, targetWith({ stage: null, kind: 'qr' }))).toEqual(before);
  });
});
