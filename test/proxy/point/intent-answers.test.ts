/** The answer about a terminal intent: cached for its rows, and rendered again when either row changes. */
import { describe, expect, it } from 'vitest';
import { order } from '../../../src/contract/orders.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import type { LegacyCall } from '../../../src/proxy/http/answer.ts';
import { getIntent, lastStatus } from '../../../src/proxy/point/read.ts';
import type { Merchant } from '../../../src/proxy/routing/merchant.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { orderId } from '../../exchanges/given.ts';
import { newLink } from '../../exchanges/link.ts';
import { operationOf, tablesDirectory } from '../../mapping/kit.ts';

const tables = loadTables(tablesDirectory);
const ports = { tables, settings: { merchants: { voucher: 'refuse' } }, exchange: () => ({}) } as unknown as Ports; // all that the stories use

const paid = order.parse({
  id: orderId(1),
  type: 'point',
  status: 'processed',
  transactions: { payments: [{ id: 'PAY01', amount: '1500.00', reference_id: '7001' }] },
});
const link: Link = Object.freeze({
  ...newLink(1),
  unit: 'PAX_A910__SMARTPOS0000000001',
  state: 'DONE' as const,
  legacy_state: 'FINISHED' as const,
  order: paid,
  amount_minor: 150_000,
});
const merchant = Object.freeze({ id: link.merchant_id, site: 'MLA', settings: {} }) as Merchant; // all that the tables use

function call(name: string, given: { link: Link; merchant: Merchant }): LegacyCall {
  const operation = operationOf(tables, name);
  return { operation, path: { intent_id: given.link.legacy_id }, ...given } as unknown as LegacyCall; // all that the stories use
}

async function read(given: { link: Link; merchant: Merchant }): Promise<unknown> {
  const answer = await getIntent(ports, call('point.get_intent', given));
  return answer.kind === 'answer' ? answer.body : answer;
}

describe('the answer to a poll', () => {
  it('is the same one for the same rows', async () => {
    const first = await read({ link, merchant });
    expect(first).toMatchObject({ state: 'FINISHED', amount: 150_000, payment: { id: 7001 } });
    expect(await read({ link, merchant })).toBe(first);
  });

  it('is another for a merchant whose site has become known', async () => {
    await read({ link, merchant });
    const chilean = Object.freeze({ ...merchant, site: 'MLC' });
    expect(await read({ link, merchant: chilean })).toMatchObject({ amount: 1_500 });
    expect(await read({ link, merchant })).toMatchObject({ amount: 150_000 });
  });

  it('is another for a link that was written anew', async () => {
    await read({ link, merchant });
    const later = Object.freeze({ ...link, legacy_state: 'CANCELED' as const, legacy_state_at: link.created_at + 1 });
    expect(await read({ link: later, merchant })).toMatchObject({ state: 'CANCELED' });
    const last = await lastStatus(ports, call('point.last_status', { link: later, merchant }));
    expect(last).toMatchObject({ body: { status: 'CANCELED' } });
  });

  it('is made anew of a link that may still change under its reader', async () => {
    const open = { ...link };
    await read({ link: open, merchant });
    open.legacy_state = 'ERROR';
    expect(await read({ link: open, merchant })).toMatchObject({ state: 'ERROR' });
  });
});
