/** What tills of both kinds do with payments: search, read and refund them. */
import type { Chance } from './chance.ts';
import type { Connection } from './counter.ts';

/** @param payment_id of the sale; null where the till does not know it. */
export async function afterPayment(
  connection: Connection,
  chance: Chance,
  reference: string,
  payment_id: number | null,
): Promise<void> {
  const query = `external_reference=${encodeURIComponent(reference)}&sort=date_created&criteria=desc`;
  const found = chance.is(0.5) || payment_id === null ? await search(connection, query) : payment_id;
  if (found === null) return;
  await connection.call('payments.get', 'GET', `/v1/payments/${found}`);
  if (!chance.is(0.3)) return;
  await refund(connection, chance, found);
  if (chance.is(0.5)) await connection.call('payments.list_refunds', 'GET', `/v1/payments/${found}/refunds`);
}

async function search(connection: Connection, query: string): Promise<number | null> {
  const { body } = await connection.call('payments.search', 'GET', `/v1/payments/search?${query}`);
  const { results } = body as { results?: { id: number }[] }; // the sandbox's shape
  return results?.[0]?.id ?? null;
}

async function refund(connection: Connection, chance: Chance, payment_id: number): Promise<void> {
  const target = `/v1/payments/${payment_id}/refunds`;
  const whole = chance.is(0.6);
  const told = chance.is(0.2)
    ? await connection.call('payments.refund_collection', 'PUT', `/collections/${payment_id}`, {
        body: { status: 'refunded' },
      })
    : await connection.call('payments.create_refund', 'POST', target, whole ? {} : { body: { amount: 1 } });
  if (told.status < 300) connection.counts.refunds++;
}
