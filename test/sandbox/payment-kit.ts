/** Payments of every origin for the tests of the payments family: Point intent, legacy QR, and order. */
import { ARGENTINA, CHILE, type Kit, URUGUAY, VIRTUAL_TERMINAL } from './kit.ts';

/** Makes a payment by a legacy intent. @param amount in hundredths. @returns the payment's number. */
export async function payIntent(kit: Kit, amount = 15_000, reference = 'TICKET 1', action = 'pay', options = {}) {
  const created = await kit.call('POST', `/point/integration-api/devices/${VIRTUAL_TERMINAL}/payment-intents`, {
    body: { amount, additional_info: { external_reference: reference } },
  });
  if (created.status >= 300) throw new Error(`intent answered ${created.status}: ${created.text}`);
  await kit.atTerminal(action, options);
  return lastPayment(kit);
}

export async function payQr(kit: Kit, unit_price: number, merchant = ARGENTINA, reference = 'INV 0001', options = {}) {
  const currency_id = { [CHILE]: 'CLP', [URUGUAY]: 'UYU' }[merchant] ?? 'ARS';
  const created = await kit.call('POST', `/mpmobile/instore/qr/${merchant}/SUC001POS001`, {
    merchant,
    body: { external_reference: reference, items: [{ title: 'Coffee', currency_id, unit_price, quantity: 1 }] },
  });
  if (created.status >= 300) throw new Error(`QR order answered ${created.status}: ${created.text}`);
  await kit.control('POST', `pos/${merchant}/SUC001POS001/pay`, options);
  return lastPayment(kit);
}

export async function payOrder(kit: Kit): Promise<{ order: string; payment: number }> {
  const order = await kit.order();
  await kit.atTerminal('pay');
  return { order, payment: await lastPayment(kit) };
}

async function lastPayment(kit: Kit): Promise<number> {
  const { payments } = (await kit.control('GET', 'state')).body;
  return payments.at(-1).id;
}
