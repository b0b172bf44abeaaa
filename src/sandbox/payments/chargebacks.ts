/** `GET /v1/chargebacks/{id}`: the dispute that a `chargebacks` notice names. No shape is shown; the fields are those of the official SDK's type. */
import { json } from '../answer.ts';
import { offsetDate } from '../dates.ts';
import { amountNumber } from '../json-amount.ts';
import { type OlderHandler, refuseWith } from '../older-call.ts';

export const getChargeback: OlderHandler = ({ world, merchant, path }) => {
  const chargeback = world.chargebacks.get(Number(path('id')));
  if (chargeback?.merchant_id !== merchant.user_id) {
    throw refuseWith({ status: 404, error: 'not_found', message: 'Chargeback not found' });
  }
  const { id, payment_id, amount_minor, status, created_at_ms, updated_at_ms } = chargeback;
  return json(200, {
    id: String(id),
    ...(world.settings.chargeback_payment === 'payment_id' ? { payment_id } : { payments: [payment_id] }),
    status,
    amount: amountNumber(amount_minor, merchant.site),
    currency_id: merchant.site.currency,
    reason_id: null,
    reason: null,
    date_created: offsetDate(created_at_ms),
    last_modified: offsetDate(updated_at_ms),
  });
};
