/** Evaluating many exchanges: cached findings of equal calls are what each call would yield alone. */
import { describe, expect, it } from 'vitest';
import { fieldsThatCame } from '../../../src/mapping/assemble.ts';
import type { Exchange } from '../../../src/proxy/evidence/exchange.ts';
import { createEvaluation, nothingFound, recordedOf } from '../../../src/proxy/evidence/findings.ts';
import { shadowOf } from '../../../src/proxy/shadow/shadow.ts';
import { createOf, randomOf, tables, taskOf, tools } from '../shadow/kit.ts';

const task = taskOf(
  {
    operation: 'point.create_intent',
    site: 'MLA',
    path: { device_id: 'PAX_A910__SMARTPOS0000000001' },
    headers: {},
    body: { amount: 1500, description: 'Mesa 4' },
  },
  { lane: 'orders', stage: 'orders', status: 201 },
);
const shadow = shadowOf(tools, task);
const call: Exchange = { ...task.exchange, fired: shadow.fired, losses: shadow.losses };
const note = { name: 'create', status: 201, code: null, duration_ms: 3 };

const cancel: Partial<Exchange> = { operation: 'point.cancel_intent_without_device', fired: [], losses: [] };
const proxied: Partial<Exchange> = { lane: 'legacy', stage: 'shadow', fired: [], losses: [] };

/** A replaced code: its limitations depend on the upstream calls and on the answer (LIM-21, LIM-55). */
const replaced = (name: string, status: number, code: string | null = null): Partial<Exchange> => ({
  ...{ operation: 'qr.put_code', kind: 'qr', status: 400, error: 'bad_request', fired: [], losses: [] },
  upstream: [
    { ...note, name: 'cancel', status: 200 },
    { ...note, name, status, code },
  ],
});

/** Each differs from the call, or from the one before it, in one fact that decides the findings. */
const ways: Record<string, Partial<Exchange>> = {
  'as it is': {},
  'the other lane': { lane: 'legacy' },
  'another operation': { operation: 'point.get_intent', kind: 'intents' },
  'no operation': { operation: null, kind: null },
  'a cancel': { ...cancel, status: 200 },
  'a cancel with another status': { ...cancel, status: 409 },
  'a refusal of a table': { status: 400, error: 'bad_request' },
  'a refusal without a name': { status: 400 },
  'a refusal of the service': {
    status: 400,
    error: 'bad_request',
    upstream: [{ ...note, status: 400, code: 'property_value' }],
  },
  'a token that was refused': { outcome: 'auth' },
  'one row less': { fired: shadow.fired.slice(1) },
  'no loss': { losses: [] },
  'a loss at another place': {
    losses: shadow.losses.map((one) => ({ ...one, path: 'body.additional_info.external_reference' })),
  },
  'a loss of a field that nobody knows': {
    losses: [{ table: 'point.create.request', path: 'body.colour', why: 'no row knows body.colour', unknown: true }],
  },
  'the same loss for another reason': { losses: shadow.losses.map((one) => ({ ...one, why: 'another reason' })) },
  'a call upstream': { upstream: [note] },
  'a code whose create was refused': replaced('create', 400),
  'a code whose read was refused': replaced('get', 400),
  'a code whose create failed': replaced('create', 500),
  'a code whose fee was refused': replaced('create', 500, 'marketplace_not_valid'),
  'a mark of the code': { limitations: ['LIM-07'] },
  'a proxied call': proxied,
  'a proxied call with its shadow': { ...proxied, shadow },
};

describe('evaluating one exchange after the other', () => {
  it.each(Object.keys(ways))('tells of %s what it alone taught, also the second time and after all others', (name) => {
    const evaluate = createEvaluation(tables);
    for (const changes of [...Object.values(ways), {}]) evaluate({ ...call, ...changes }, nothingFound);
    for (const at of [1, 2]) {
      const seen = { ...call, ...ways[name], id: `exchange ${at}`, at, duration_ms: at * 7 };
      expect(evaluate(seen, nothingFound)).toEqual(recordedOf(tables, seen, nothingFound));
    }
  });

  it.each([
    ['a long text of its own', [{ table: 'point.create.request', path: 'body.payment.type', why: 'x'.repeat(4_000) }]],
    [
      'a loss of each of many items',
      Array.from({ length: 17 }, (_, index) => ({
        table: 'qr.request',
        path: `body.items[${index}].sku_number`,
        why: 'orders have no such field',
      })),
    ],
  ])('remembers nothing of a call with %s', (_, losses) => {
    const evaluate = createEvaluation(tables);
    const seen = { ...call, losses };
    const [one, other] = [evaluate(seen, nothingFound), evaluate(seen, nothingFound)];
    expect(one).toEqual(recordedOf(tables, seen, nothingFound));
    expect(other.cells).not.toBe(one.cells);
  });

  it('remembers nothing of calls that were compared', () => {
    const evaluate = createEvaluation(tables);
    evaluate(call, nothingFound);
    const found = {
      ...nothingFound,
      compared: true,
      came: fieldsThatCame(tables, task.exchange.operation, task.request),
    };
    expect(evaluate(call, found)).toEqual(recordedOf(tables, call, found));
    expect(evaluate(call, nothingFound).compared).toBe(false);
  });

  it('holds for random creates of all operations', () => {
    const evaluate = createEvaluation(tables);
    for (let seed = 1; seed <= 300; seed++) {
      const one = taskOf(createOf(randomOf(seed)), { lane: 'orders', stage: 'orders' });
      const { fired, losses } = shadowOf(tools, one);
      const seen = { ...one.exchange, fired, losses };
      expect(evaluate(seen, nothingFound)).toEqual(recordedOf(tables, seen, nothingFound));
    }
  });

  it('shares what calls of one way taught, so that a batch is summed by ways', () => {
    const evaluate = createEvaluation(tables);
    const [one, other] = [evaluate(call, nothingFound), evaluate({ ...call, id: 'another' }, nothingFound)];
    expect(other.cells.length).toBeGreaterThan(0);
    expect(other.cells).toBe(one.cells);
    expect(() => other.cells.pop()).toThrow(TypeError);
  });
});
