/** Admission alone: shedding order; no merchant's flood and no number of names takes the room of the others. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { type Admission, type AdmissionLimits, callClasses, createAdmission } from '../../src/proxy/http/admission.ts';

const LIMITS: AdmissionLimits = {
  calls: 100,
  unknown_calls: 40,
  merchant_calls: 20,
  merchant_per_second: 10,
  lag_ms: 1_000_000,
};
const gates: Admission[] = [];
afterEach(() => {
  for (const gate of gates.splice(0)) gate.stop();
});

/** Admission with a clock that the test advances; merchants `a`, `b`, … are known. */
function open(limits: Partial<AdmissionLimits> = {}, merchants = 'abcdefgh') {
  const time = { now_ms: 0 };
  const counted: string[] = [];
  const gate = createAdmission(
    { ...LIMITS, ...limits },
    () => time.now_ms,
    (...count) => counted.push(count.join(' ')),
  );
  gates.push(gate);
  for (const merchant of merchants) gate.noteKnown(merchant);
  return { gate, time, counted };
}

/** Admits calls of a kind until one is refused. */
function fill(gate: Admission, kind: 'payment' | 'read' | 'event', who: string | null): number {
  let entered = 0;
  while (entered < 1_000 && gate.enter(kind, who) !== null) entered++;
  return entered;
}

describe('the order of shedding [F98]', () => {
  it('shadows from half on, reads from three quarters on, payments when it is full', () => {
    const { gate, counted } = open({ merchant_calls: 100, merchant_per_second: 1_000 });
    const at: Record<string, number> = {};
    for (let calls = 0; calls <= 100; calls++) {
      at[gate.level()] ??= calls;
      if (calls < 100) expect(gate.enter('payment', 'a')).not.toBeNull();
    }
    expect(at).toEqual({ nothing: 0, shadow: 50, reads: 75, payments: 100 });
    for (const kind of ['payment', 'read', 'event'] as const) expect(gate.enter(kind, 'b')).toBeNull();
    expect(counted).toEqual(['shed payment load', 'shed read load', 'shed event load']);
  });

  it('a place is free again when its call is over, once', () => {
    const { gate } = open();
    const leave = gate.enter('read', 'a');
    expect(gate.callsUnderWay()).toBe(1);
    leave?.();
    leave?.();
    expect(gate.callsUnderWay()).toBe(0);
  });
});

describe('a flood by one merchant [F99]', () => {
  it('of a merchant has its own share, and payments have the last quarter of that', () => {
    const { gate } = open();
    expect(fill(gate, 'read', 'a')).toBe(15);
    expect(fill(gate, 'payment', 'a')).toBe(5);
    expect(fill(gate, 'payment', 'b')).toBe(20);
  });

  it('of strangers, and of events, has a share that is not the merchants’', () => {
    const { gate } = open();
    expect(fill(gate, 'payment', null)).toBe(40);
    expect(gate.enter('payment', 'never seen')).toBeNull();
    expect(fill(gate, 'payment', 'a')).toBe(20);
    expect(open().gate.enter('event', null)).not.toBeNull();
    expect(fill(open().gate, 'event', null)).toBe(30);
  });

  it('a rate counts only while others need the room: reads while shadows give way, payments while reads do', () => {
    const { gate, time } = open({ merchant_calls: 60, unknown_calls: 60 });
    for (let call = 0; call < 40; call++) gate.enter('read', 'a')?.();
    expect(gate.enter('read', 'a'), 'there is room').not.toBeNull();
    for (let call = 0; call < 50; call++) gate.enter('payment', 'b');
    expect(gate.level()).toBe('shadow');
    expect(gate.enter('read', 'a'), 'over its rate').toBeNull();
    expect(gate.enter('read', 'c'), 'within its rate').not.toBeNull();
    expect(gate.enter('payment', 'a')).not.toBeNull();
    time.now_ms += 1_000;
    expect(fill(gate, 'read', 'a'), 'a second later').toBe(10);
    for (let call = 0; call < 20; call++) gate.enter('payment', null);
    expect(gate.level()).toBe('reads');
    expect(gate.enter('payment', 'a'), 'over its rate').toBeNull();
    expect(gate.enter('payment', 'd')).not.toBeNull();
  });

  it('is no business of many: payments of strangers, and events of all merchants, share no one’s rate', () => {
    const late = open({ calls: 1_000, unknown_calls: 400, lag_ms: 1_000 }, '');
    late.time.now_ms += 1_500; // a stall after a start
    expect(late.gate.level()).toBe('reads');
    for (let nth = 0; nth < 390; nth++) expect(late.gate.enter('payment', `merchant ${nth}`)).not.toBeNull();
    expect(fill(late.gate, 'payment', 'one more'), 'their room is all they have').toBe(10);
    const busy = open({ calls: 1_000, unknown_calls: 400, lag_ms: 1_000 });
    busy.time.now_ms += 900;
    expect(busy.gate.level()).toBe('shadow');
    for (let event = 0; event < 500; event++) busy.gate.enter('event', null)?.();
    expect(busy.counted).toEqual([]);
  });

  it('of strangers crowds them out, so that the store is asked whose they are, once their rate or their room is spent', () => {
    const { gate, time } = open({ calls: 1_000, unknown_calls: 400, lag_ms: 1_000 });
    expect(fill(gate, 'read', null), 'their room').toBe(300);
    expect([gate.isCrowdedOut('till'), gate.isCrowdedOut('a')]).toEqual([true, false]);
    const late = open({ calls: 1_000, unknown_calls: 400, lag_ms: 1_000 });
    for (let call = 0; call < 10; call++) late.gate.enter('read', null)?.();
    expect(late.gate.isCrowdedOut('till'), 'there is room').toBe(false);
    late.time.now_ms += 900;
    for (let call = 0; call < 10; call++) late.gate.enter('read', null)?.();
    expect([late.gate.isCrowdedOut('till'), late.gate.isCrowdedOut('a')]).toEqual([true, false]);
    expect(late.gate.enter('read', 'till')).toBeNull();
    late.gate.noteKnown('till');
    expect(late.gate.isCrowdedOut('till')).toBe(false);
    expect(late.gate.enter('read', 'till')).not.toBeNull();
    time.now_ms += 5_000;
    expect(gate.isCrowdedOut('till'), 'time gives a rate back, and no room').toBe(true);
  });

  it('of bodies that are still coming has a quarter of the room they are of, and calls that have come have the rest', () => {
    const { gate, counted } = open();
    const uploads = (kind: 'payment' | 'event', who: string | null): number => {
      let entered = 0;
      while (entered < 1_000 && gate.upload(kind, who) !== null) entered++;
      return entered;
    };
    expect([uploads('payment', 'a'), uploads('payment', null), uploads('event', null)]).toEqual([5, 10, 10]);
    expect(uploads('payment', 'never seen'), 'with all strangers').toBe(0);
    expect(counted).toEqual(['shed payment upload', 'shed payment upload', 'shed event upload', 'shed payment upload']);
    expect([fill(gate, 'payment', 'a'), fill(gate, 'payment', null)]).toEqual([20, 40]);
  });

  it('a place for a body is free again when the body has come, once', () => {
    const { gate } = open({ merchant_calls: 4 });
    const come = gate.upload('payment', 'a');
    expect(gate.upload('payment', 'a')).toBeNull();
    come?.();
    come?.();
    expect(gate.upload('payment', 'a')).not.toBeNull();
    expect(gate.upload('payment', 'a')).toBeNull();
  });

  it('a clock that stands still, or goes back, gives and takes nothing', () => {
    const { gate, time } = open({ merchant_calls: 60 });
    for (let call = 0; call < 50; call++) gate.enter('payment', 'b');
    time.now_ms = -5_000;
    expect(fill(gate, 'read', 'a')).toBe(10);
  });
});

it('any mix of calls keeps every limit, and ends with nothing under way [F98 F99]', () => {
  const step = fc.record({
    who: fc.constantFrom('a', 'b', 'c', null, 'stranger'),
    kind: fc.constantFrom('payment' as const, 'read' as const, 'event' as const),
    leaves: fc.nat(3),
    pause_ms: fc.constantFrom(0, 0, 1, 500),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 250 }), (steps) => {
      const { gate, time } = open();
      const inside: { group: string; leave: () => void }[] = [];
      for (const { who, kind, leaves, pause_ms } of steps) {
        time.now_ms += pause_ms;
        const level = gate.level();
        const leave = gate.enter(kind, who);
        const group = kind === 'event' ? 'event' : who === null || who === 'stranger' ? 'stranger' : who;
        if (leave !== null) inside.push({ group, leave });
        if (level === 'payments' || (level === 'reads' && kind !== 'payment')) expect(leave).toBeNull();
        const together = inside.filter((one) => one.group === group).length;
        if (leave === null && kind === 'payment' && level === 'nothing')
          expect(together, 'only for its own share').toBeGreaterThanOrEqual(20);
        if (leave === null && level !== 'payments' && kind === 'payment' && group === 'stranger')
          expect(together, 'only for their room').toBe(40);
        if (leave === null && level !== 'payments' && level !== 'reads' && kind === 'event')
          expect(together, 'only for their room').toBe(30);
        for (let left = 0; left < leaves - 1; left++) inside.shift()?.leave();
        expect(gate.callsUnderWay()).toBe(inside.length);
        expect(inside.length).toBeLessThanOrEqual(LIMITS.calls);
        for (const [name, most] of Object.entries({ a: 20, b: 20, c: 20, stranger: 40, event: 30 }))
          expect(inside.filter((one) => one.group === name).length).toBeLessThanOrEqual(most);
      }
      for (const { leave } of inside) leave();
      expect(gate.callsUnderWay()).toBe(0);
      gate.stop();
    }),
    { numRuns: 300 },
  );
});

it('of a hundred thousand tokens, the admission remembers a bounded number, and always those in use [F102]', () => {
  const { gate } = open({ merchant_per_second: 1_000 }, '');
  gate.noteKnown('in use');
  for (let nth = 0; nth < 100_000; nth++) {
    gate.noteKnown(`token ${nth}`);
    if (nth % 1_000 === 0) gate.enter('read', 'in use')?.();
  }
  expect(fill(gate, 'payment', 'in use'), 'its own share').toBe(20);
  expect(fill(gate, 'payment', 'token 0'), 'forgotten: the room of strangers').toBe(40);
  expect(fill(gate, 'payment', 'token 99999')).toBe(20);
  expect(gate.callsUnderWay()).toBe(80);
});

describe('the class of a call', () => {
  const { operations } = loadTables('mappings');
  const classOf = callClasses(operations);

  it('every create, cancel and refund of the tables is in the class of payments, however its path ends [F98]', () => {
    for (const { method, path, kind, name } of operations) {
      const target = path.replaceAll(/:[a-z_]+/g, 'X1');
      const wanted = method === 'GET' || kind === 'devices' ? 'read' : 'payment';
      for (const end of ['', '/', '?a=1', '/?a=1'])
        expect([name, classOf(method, target + end)]).toEqual([name, wanted]);
    }
  });

  it.each([
    ['POST', '/v1/payments', 'payment'],
    ['POST', '/checkout/preferences?a=1', 'payment'],
    ['PUT', '/v1/payments/5', 'payment'],
    ['PATCH', '/v1/orders/X/', 'payment'],
    ['DELETE', '/', 'payment'],
    ['PUT', '', 'payment'],
    ['PUT', '/webhooks/orders', 'payment'],
    ['POST', '/point/integration-api/devices/x/y/payment-intents', 'payment'],
    ['PATCH', '/point/integration-api/devices/x/y', 'payment'],
    ['POST', '/point/integration-api/devices/x', 'payment'],
  ])('%s %s is in no table: it may be a payment, so its class is %s [F98]', (method, target, wanted) => {
    expect(classOf(method, target)).toBe(wanted);
  });

  it.each([
    ['POST', '/webhooks/orders', 'event'],
    ['POST', '/webhooks/orders/?data.id=1', 'event'],
    ['GET', '/webhooks/orders', 'read'],
    ['GET', '/v1/whatever', 'read'],
    ['OPTIONS', '/v1/payments', 'read'],
    ['HEAD', '/point/integration-api/devices/x/payment-intents', 'read'],
    ['PATCH', '/point/integration-api/devices/x', 'read'],
  ])('%s %s is a %s', (method, target, wanted) => {
    expect(classOf(method, target)).toBe(wanted);
  });
});
