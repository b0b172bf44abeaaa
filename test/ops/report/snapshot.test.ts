/** A report on a real store under load: rows written while it is read are in the next report (F130). */
import { expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { DAY_MS, MERCHANT, NOON } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

/** More than two pages of exchanges. */
const BEFORE = 2_300;
const FACTS = { assumptions: [], notice_agent: 'Puente' };

const calls = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    newExchange({ at: NOON - index, merchant_id: MERCHANT, limitations: index % 7 === 0 ? ['LIM-08'] : [] }),
  );

/** The same store; `meanwhile` runs after every page of exchanges that is read. */
function busy(store: Store, meanwhile: () => Promise<void>): Store {
  return withMethods(store, {
    async exchanges(...asked) {
      const page = await store.exchanges.exchanges(...asked);
      await meanwhile();
      return page;
    },
  });
}

it('a report is one snapshot: calls that are recorded during it change nothing in it, and are in the next one [F130]', async () => {
  const harness = await openHarness();
  try {
    const { store } = harness;
    await store.exchanges.recordExchanges(calls(BEFORE));
    const reportOf = (from: Store) => {
      const ports = portsAt(from, () => NOON);
      const ask = { merchant_id: MERCHANT, since: NOON - DAY_MS, until: NOON + 1 };
      return gatherReport(ports, ask, FACTS);
    };
    const quiet = await reportOf(store);
    expect(quiet.exchanges.count).toBe(BEFORE);
    let pages = 0;
    const during = await reportOf(
      busy(store, async () => {
        pages++;
        await store.exchanges.recordExchanges(calls(700));
      }),
    );
    expect(pages).toBeGreaterThan(2);
    expect(during).toEqual(quiet);
    expect((await reportOf(store)).exchanges.count).toBe(BEFORE + pages * 700);
  } finally {
    await harness.dispose();
  }
});
