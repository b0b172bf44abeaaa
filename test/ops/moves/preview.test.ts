/** The preview of a move: units that change lane now, units that wait for an open sale, and the calls affected. */
import { describe, expect, it } from 'vitest';
import { judgeMove } from '../../../src/ops/moves/judge.ts';
import { factsWith, merchantWith, NOW, situationWith, TERMINALS, targetWith } from './situations.ts';

const [FIRST = '', SECOND = ''] = TERMINALS;
const shadowed = merchantWith({ stage: 'shadow' });

function previewOf(merchant = shadowed, target = targetWith({ stage: 'orders' }), facts = factsWith('served')) {
  return judgeMove(situationWith({ merchant, target, facts }, 'served')).judgement.preview;
}

describe('preview', () => {
  it('names every unit that changes side, and the calls of the kinds that move', () => {
    const preview = previewOf();
    expect(preview).toMatchObject({ units_seen: 20, units_now: 20, units_later: 0, calls_a_day: 120 });
    expect(preview.calls_a_day_touched).toBe(120);
    expect(preview.changes).toContain('intents: shadow to orders');
  });

  it('a share that is none or all of a few units says so', () => {
    const units = [{ slot: TERMINALS[0] ?? '', calls: 5 }];
    const noted = (target: object, facts = factsWith('served', { units })) =>
      previewOf(shadowed, targetWith({ stage: 'canary', ...target }), facts).notes;
    const bounds = [noted({ share: 0.01 }), noted({ share: 99.99 })].flat();
    expect(bounds).toEqual([
      '0.01 % of the one unit of intents seen so far is less than one unit: name units, or take a higher share.',
      '99.99 % is all of the one unit of intents seen so far: name units, or take a lower share.',
    ]);
    expect(noted({ share: 0, units_in: [units[0]?.slot ?? ''] })).toEqual([]);
    expect(noted({ share: 50 }, factsWith('served'))).toEqual([]);
  });

  it('a unit with an open sale on legacy moves later, and says until when', () => {
    const open = [{ side: 'legacy', legacy_id: 'an-intent', slot: FIRST, ends_at: NOW + 60_000 }] as const;
    const { units, units_now, units_later, open_on_legacy } = previewOf(
      shadowed,
      undefined,
      factsWith('served', { open }),
    );
    expect([units_now, units_later, open_on_legacy]).toEqual([19, 1, 1]);
    expect(units[0]).toEqual({
      slot: FIRST,
      to: 'orders',
      when: 'later',
      why: 'a sale on legacy may still be open there (an-intent)',
      why_said: { code: 'held.legacy', facts: { id: 'an-intent' } },
      until: new Date(NOW + 60_000).toISOString(),
    });
  });

  it('a unit whose order is still open from before does not change side: it is there', () => {
    const open = [{ side: 'orders', legacy_id: 'an-intent', slot: FIRST, ends_at: NOW }] as const;
    expect(previewOf(shadowed, undefined, factsWith('served', { open }))).toMatchObject({
      units_now: 19,
      units_later: 0,
    });
  });

  it('a canary touches the share of its units, and the calls that those made', () => {
    const facts = factsWith('served', { units: TERMINALS.map((slot) => ({ slot, calls: slot === FIRST ? 190 : 10 })) });
    const target = targetWith({ stage: 'canary', kind: 'intents', units_in: [FIRST] });
    const preview = previewOf(shadowed, target, facts);
    expect(preview).toMatchObject({ units_now: 1, calls_a_day: 40, calls_a_day_touched: 20 });
    expect(preview.units).toEqual([{ slot: FIRST, to: 'orders', when: 'now', why: null, why_said: null, until: null }]);
  });

  it('shadow changes the side of nothing', () => {
    const preview = previewOf(merchantWith({ stage: 'legacy' }), targetWith({ stage: 'shadow' }));
    expect(preview).toMatchObject({ units_now: 0, units_later: 0, calls_a_day: 120, calls_a_day_touched: 0 });
  });

  it('going back tells which orders keep their units', () => {
    const open = [{ side: 'orders', legacy_id: null, slot: SECOND, ends_at: NOW + 1 }] as const;
    const preview = previewOf(
      merchantWith({ stage: 'orders' }),
      targetWith({ stage: 'legacy' }),
      factsWith('served', { open }),
    );
    expect(preview).toMatchObject({ units_now: 19, units_later: 1 });
    expect(preview.units[0]).toMatchObject({ slot: SECOND, to: 'legacy', why: 'an order is open there' });
  });
});
