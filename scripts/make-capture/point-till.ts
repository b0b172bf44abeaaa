/** A till with a card terminal: sells, reads, cancels and refunds by the legacy Point API, with tills' mistakes. */
import type { Chance } from './chance.ts';
import type { Connection } from './counter.ts';
import { afterPayment } from './payments.ts';

const POINT = '/point/integration-api';

/** One sale with its surrounding calls; then the terminal is free. @param number of the sale, for its reference. */
export async function sellAtTerminal(
  connection: Connection,
  chance: Chance,
  device: string,
  number: number,
): Promise<void> {
  const intents = `${POINT}/devices/${device}/payment-intents`;
  await aroundSales(connection, chance, device);
  if (chance.is(0.12)) await connection.call('point.create_intent', 'POST', intents, { body: wrongBody(chance) });
  const reference = chance.pick([`T-${number}`, `Pedido ${number}`, `mesa_${number}`, `Ticket #${number} / caja 2`]);
  const body = intentBody(connection.site, chance, reference);
  const created = await connection.call('point.create_intent', 'POST', intents, { body, headers: headersOf(chance) });
  if (created.status >= 300) return;
  connection.counts.made.point++;
  const { id } = created.body as { id: string }; // every intent has one
  const intent = `${POINT}/payment-intents/${id}`;
  await connection.call('point.get_intent', 'GET', intent);
  if (chance.is(0.1)) await connection.call('point.create_intent', 'POST', intents, { body });
  if (chance.is(0.15)) await connection.call('point.last_status', 'GET', `${intent}/events`);
  await settle(connection, chance, device, id);
  const { body: seen } = await connection.call('point.get_intent', 'GET', intent);
  const paid = (seen as { payment?: { id?: number } }).payment?.id ?? null; // absent unless a card was read
  await afterPayment(connection, chance, reference, paid);
}

async function settle(connection: Connection, chance: Chance, device: string, id: string): Promise<void> {
  const terminal = `/terminals/${connection.merchant}/${device}`;
  const cancel = `${POINT}/devices/${device}/payment-intents/${id}`;
  const plan = chance.between(1, 10);
  if (plan <= 6) await connection.act(`${terminal}/pay`);
  else if (plan === 7) await connection.act(`${terminal}/decline`);
  else if (plan <= 9) await connection.call('point.cancel_intent', 'DELETE', cancel);
  else {
    await connection.act(`${terminal}/pick_up`);
    await connection.call('point.cancel_intent', 'DELETE', cancel);
    await connection.act(`${terminal}/cancel`);
  }
}

/** Calls that a till makes besides its sales. */
async function aroundSales(connection: Connection, chance: Chance, device: string): Promise<void> {
  if (chance.is(0.1))
    await connection.call('point.list_devices', 'GET', `${POINT}/devices?limit=${chance.between(1, 50)}`);
  if (chance.is(0.03)) {
    const operating_mode = chance.pick(['PDV', 'PDV', 'KIOSK']);
    await connection.call('point.change_mode', 'PATCH', `${POINT}/devices/${device}`, { body: { operating_mode } });
  }
  if (chance.is(0.04)) {
    const today = new Date().toISOString().slice(0, 10);
    const query = `startDate=${today}&endDate=${today}`;
    await connection.call('point.list_events', 'GET', `${POINT}/payment-intents/events?${query}`);
  }
  if (chance.is(0.02)) await connection.call('point.get_intent', 'GET', `${POINT}/payment-intents/no-such-intent`);
  if (chance.is(0.05)) await connection.call('', 'GET', chance.pick(UNKNOWN_TARGETS));
}

const UNKNOWN_TARGETS = [
  `${POINT}/integrator`,
  '/v1/payment_methods',
  '/stores/10001',
  '/users/700100200/stores/search',
] as const;

function headersOf(chance: Chance): Record<string, string> {
  return {
    'user-agent': chance.pick(['python-requests/2.31.0', 'MercadoPago Java SDK/2.1.7', 'pos/4']),
    ...(chance.is(0.4) ? { 'x-platform-id': 'dev_pos' } : {}),
    ...(chance.is(0.2) ? { 'x-ttl-store-preference': String(chance.between(60, 900)) } : {}),
    ...(chance.is(0.1) ? { 'x-idempotency-key': `sale-${chance.between(1, 1e9)}` } : {}),
    ...(chance.is(0.1) ? { 'x-corporation-id': 'corp-7' } : {}),
    ...(chance.is(0.1) ? { 'x-cashier': 'marta' } : {}),
  };
}

function intentBody(site: string, chance: Chance, external_reference: string): object {
  const additional_info = {
    external_reference,
    ...(chance.is(0.6) ? { print_on_terminal: chance.is(0.5) } : {}),
    ...(chance.is(0.3) ? { ticket_number: `S${chance.between(1, 99_999)}` } : {}),
  };
  const amount = chance.between(15, 900) * 100;
  if (site === 'MLM') return { amount, additional_info };
  const description = chance.pick(['Venta', 'Paga marta.canary@buyers.example.test', 'tarjeta 5031755734530604']);
  return {
    amount,
    additional_info,
    ...(chance.is(0.3) ? { description } : {}),
    ...(site === 'MLB' && chance.is(0.6) ? { payment: preference(chance) } : {}),
    ...(chance.is(0.1) ? { notification_url: 'https://shop.example.test/hook/c4n4ry?key=c4n4ry' } : {}),
    ...(chance.is(0.1) ? { tip: 3 } : {}),
  };
}

function preference(chance: Chance): object {
  return chance.pick<object>([
    { type: 'credit_card', installments: 1, installments_cost: 'seller' },
    { type: 'debit_card' },
    { type: 'voucher_card', voucher_type: 'sodexo' },
  ]);
}

/** Mistakes of tills under development. */
function wrongBody(chance: Chance): unknown {
  return chance.pick<unknown>([
    { amount: 1 },
    { amount: '1500' },
    { additional_info: { external_reference: 'no amount' } },
    { amount: 1500.5 },
    '{"amount": 1500,',
    { amount: 900_000_000_000 },
  ]);
}
