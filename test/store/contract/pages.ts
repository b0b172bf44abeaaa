/** Pages of exchanges: every filter alone and combined, each page starting where the last one ended. */
import { expect, it } from 'vitest';
import type { ExchangeFilter, RecordedExchange } from '../../../src/proxy/records/evidence.ts';
import { messages, newExchange } from './evidence-kit.ts';
import { type Harness, MERCHANT, MINUTE_MS, NOON, OTHER_MERCHANT } from './harness.ts';

const STEP_MS = 7 * MINUTE_MS;

/** 120 calls over 14 hours, of two merchants and of none; some were recorded late. */
function calls(): RecordedExchange[] {
  return Array.from({ length: 120 }, (_, index) =>
    newExchange({
      at: NOON + (index % 10 === 9 ? index - 9 : index) * STEP_MS,
      merchant_id: [MERCHANT, OTHER_MERCHANT, null][index % 3] ?? null,
      operation: index % 4 === 0 ? 'devices.list' : 'point.create',
      lane: index % 5 === 0 ? 'orders' : 'legacy',
      legacy_id: index % 6 === 0 ? `intent-${index % 12}` : null,
      messages: index % 7 === 0 ? messages : null,
    }),
  );
}

const filters: ExchangeFilter[] = [
  {},
  { merchant_id: MERCHANT },
  { merchant_id: 'nobody' },
  { legacy_id: 'intent-6' },
  { legacy_id: 'intent-6', merchant_id: OTHER_MERCHANT },
  { since: NOON + 61 * STEP_MS },
  { until: NOON + 61 * STEP_MS },
  { since: NOON + 20 * STEP_MS, until: NOON + 20 * STEP_MS },
  { since: NOON + 20 * STEP_MS, until: NOON + 40 * STEP_MS },
  { since: NOON + 20 * STEP_MS, until: NOON + 90 * STEP_MS, merchant_id: OTHER_MERCHANT },
  { since: NOON + 900 * STEP_MS },
  { operation: 'devices.list' },
  { lane: 'orders', merchant_id: MERCHANT },
  { captured: true },
  { captured: false, lane: 'legacy' },
  { captured: true, merchant_id: MERCHANT, since: NOON + 20 * STEP_MS },
];

export function pageTests(harness: Harness): void {
  const { store } = harness;
  it('reads what passes a filter, each once and in order, whatever the size of a page', async () => {
    const batch = calls();
    await store.exchanges.recordExchanges(batch);
    for (const filter of filters) {
      const wanted = batch.filter((exchange) => passes(exchange, filter)).map(({ id }) => id);
      for (const limit of [1000, 7]) {
        expect(await walk(harness, filter, limit), `${JSON.stringify(filter)} by ${limit}`).toEqual(wanted);
      }
    }
  });

  it('reads of each only what counting needs, in the same pages', async () => {
    await store.exchanges.recordExchanges(calls());
    const filter = { since: NOON + 20 * STEP_MS, until: NOON + 90 * STEP_MS };
    const whole = await store.exchanges.exchanges(filter, 30, 25);
    expect(await store.exchanges.calls(filter, 30, 25)).toEqual(
      whole.map(({ sequence, at, merchant_id, operation, legacy_id, lane, outcome, duration_ms }) => {
        return { sequence, at, merchant_id, operation, legacy_id, lane, outcome, duration_ms };
      }),
    );
    expect(whole).toHaveLength(25);
  });

  it('goes on with what is recorded while it is being read', async () => {
    await store.exchanges.recordExchanges([newExchange(), newExchange()]);
    const page = await store.exchanges.exchanges({}, 0, 5);
    const late = newExchange({ at: NOON - MINUTE_MS });
    await store.exchanges.recordExchanges([late]);
    expect(await store.exchanges.exchanges({}, page.at(-1)?.sequence ?? 0, 5)).toMatchObject([{ id: late.id }]);
    expect(await store.exchanges.exchanges({}, 3, 5)).toEqual([]);
  });
}

async function walk(harness: Harness, filter: ExchangeFilter, limit: number): Promise<string[]> {
  const { store } = harness;
  const ids: string[] = [];
  let after = 0;
  for (;;) {
    const page = await store.exchanges.exchanges(filter, after, limit);
    ids.push(...page.map(({ id }) => id));
    if (page.length < limit) return ids;
    after = page.at(-1)?.sequence ?? 0;
  }
}

function passes(exchange: RecordedExchange, filter: ExchangeFilter): boolean {
  const { since = 0, until = Number.MAX_SAFE_INTEGER, captured, ...named } = filter;
  if (exchange.at < since || exchange.at >= until) return false;
  if (captured !== undefined && captured !== (exchange.messages !== null)) return false;
  return Object.entries(named).every(([name, value]) => Reflect.get(exchange, name) === value);
}
