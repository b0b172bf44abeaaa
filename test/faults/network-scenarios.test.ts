/** Generated network faults per attempt: one key, same bytes, one order, no success without it (F4–F10, F22, F24). */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Answer, eventually } from '../kit.ts';
import { legacyErrorOf } from '../proxy/http/till.ts';
import type { Act } from './fault-server.ts';
import * as acts from './fault-server-acts.ts';
import { openTill, SHORT, startUpstream, type Till, type Upstream } from './upstream-stand.ts';

/** Number of sales, each with its own faults; nightly runs set `NETWORK_SCENARIOS=400` (`docs/protocol.md` §5.1). */
const SCENARIOS = Number(process.env.NETWORK_SCENARIOS ?? 40);
/** Sales at a time on one Puente; more would exhaust its retry budget. */
const TOGETHER = 10;
/** Only ends a test that hangs. */
const PATIENCE_MS = 60_000 + SCENARIOS * 5_000;
const DEADLINE_MS = Number(SHORT.PUENTE_CREATE_DEADLINE_MS);

/** The fault of one attempt: wraps the honest act, which may take effect before it is spoiled. */
type Spoil = (honest: Act) => Act;

const spoils: fc.Arbitrary<{ name: string; spoil: Spoil }> = fc.oneof(
  fc.constant({ name: 'nothing', spoil: (honest: Act) => honest }),
  fc.record({ bytes: fc.nat(500), end: fc.constantFrom('close' as const, 'reset' as const) }).map(({ bytes, end }) => ({
    name: `${end} at byte ${bytes}`,
    spoil: (honest: Act) => acts.cutAt(bytes, honest, end),
  })),
  fc
    .record({ bytes: fc.integer({ min: 1, max: 200 }), every_ms: fc.integer({ min: 1, max: 60 }) })
    .map(({ bytes, every_ms }) => ({
      name: `drip of ${bytes} each ${every_ms} ms`,
      spoil: (honest: Act) => acts.drip(honest, bytes, every_ms),
    })),
  fc
    .nat(DEADLINE_MS + 300)
    .map((wait_ms) => ({ name: `late by ${wait_ms} ms`, spoil: (honest: Act) => acts.late(honest, wait_ms) })),
  unanswered('reset', acts.reset),
  unanswered('close', acts.close),
  unanswered('silence', acts.silence),
  unanswered('no HTTP', acts.rawThenClose('SSH-2.0-OpenSSH_9.6\r\n')),
  fc
    .constantFrom(500, 502, 503, 504)
    .chain((status) => unanswered(`${status}`, acts.answer(status, '<html></html>', { 'content-type': 'text/html' }))),
  fc
    .integer({ min: -10, max: 10 })
    .chain((by) => unanswered(`length off by ${by}`, acts.wrongLength(201, '{"id":"ORD"}', by))),
);

/** The order may have been made although no answer arrives. */
function unanswered(what: string, act: Act): fc.Arbitrary<{ name: string; spoil: Spoil }> {
  return fc.boolean().map((made) => ({
    name: `${what}${made ? ', order made' : ''}`,
    spoil: (honest) => (made ? acts.unheard(honest, act) : act),
  }));
}

const scenario = fc.record({
  creates: fc.array(spoils, { minLength: 1, maxLength: 3 }),
  reads: fc.array(spoils, { maxLength: 2 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

interface Sale {
  device: string;
  scenario: Scenario;
  told: Answer;
}

it(
  'faults of the network at every try of a create: each answer to the till is true, and no sale is doubled or lost [F4 F5 F6 F8 F22 F24]',
  async () => {
    let judged = 0;
    const batches = fc.array(scenario, { minLength: TOGETHER, maxLength: TOGETHER });
    const property = fc.asyncProperty(batches, async (scenarios) => {
      judged += await sellUnder(scenarios);
    });
    // Shrinking would change the history of the batch; the seed repeats it instead.
    await fc.assert(property, { numRuns: Math.ceil(SCENARIOS / TOGETHER), endOnFailure: true });
    expect(judged).toBeGreaterThanOrEqual(SCENARIOS);
  },
  PATIENCE_MS,
);

/** @returns the number of sales checked. */
async function sellUnder(scenarios: readonly Scenario[]): Promise<number> {
  const upstream = await startUpstream();
  const puente = await openTill(upstream.url, SHORT);
  try {
    const devices = scenarios.map(() => puente.device());
    const plan = new Map(devices.map((device, index) => [device, scenarios[index]]));
    upstream.onCreate = (honest, heard, nth) =>
      plan.get(deviceIn(heard.body))?.creates[nth - 1]?.spoil(honest) ?? honest;
    upstream.onRead = (honest, heard, nth) => {
      const order = [...upstream.orders.values()].find(({ id }) => heard.path.includes(id));
      return plan.get(deviceIn(JSON.stringify(order)))?.reads[nth - 1]?.spoil(honest) ?? honest;
    };
    const answers = await Promise.all(devices.map((device) => puente.create(device)));
    const sales = devices.map((device, index): Sale => {
      const [told, faults] = [answers[index], scenarios[index]];
      if (told === undefined || faults === undefined) throw new Error('there are as many of each');
      return { device, scenario: faults, told };
    });
    for (const sale of sales) await judge(upstream, puente, sale);
    return sales.length;
  } finally {
    await puente.close();
    await upstream.close();
  }
}

async function judge(upstream: Upstream, puente: Till, { device, scenario: faults, told }: Sale): Promise<void> {
  const what = `${[...faults.creates, ...faults.reads].map(({ name }) => name).join('; ')}: ${told.status} ${told.text}`;
  if (told.status !== 201) legacyErrorOf(told);
  const row = await eventually(
    async () => puente.row(device),
    ({ state }) => state !== 'IN_DOUBT' && state !== 'SENDING',
  );
  const sent = upstream.creates().filter(({ body }) => deviceIn(body) === device);
  expect(new Set(sent.map(({ headers }) => headers['x-idempotency-key'])).size, what).toBe(1);
  expect(new Set(sent.map(({ body }) => body.toString('hex'))).size, what).toBe(1);
  expect(row.order_id, what).toBe(upstream.orders.get(row.idempotency_key)?.id ?? null);
  if (told.status === 201) {
    expect(row.order_id, what).not.toBeNull();
    expect(told.body, what).toMatchObject({ id: row.legacy_id });
  }
}

function deviceIn(text: unknown): string {
  return /NEWLAND_N950__FAULT\d+/.exec(String(text))?.[0] ?? '';
}
