/** A back office in its own process: clients of the unchanged SDK for payments, refunds and merchant orders of QR. */
import { Invoice, MercadoPagoConfig, MerchantOrder, Payment, PaymentRefund } from 'mercadopago';
import { answerCalls } from './sdk-child.ts';

export type QrCall =
  | 'MerchantOrder.get'
  | 'MerchantOrder.search'
  | 'Payment.get'
  | 'Payment.search'
  | 'PaymentRefund.create'
  | 'PaymentRefund.total'
  | 'PaymentRefund.get'
  | 'PaymentRefund.list'
  | 'Invoice.get'
  | 'Invoice.search';

const made = new Map<string, Record<string, object>>();

answerCalls<QrCall>(({ client, token, call, argument }) => {
  const clients = made.get(client) ?? clientsOf(new MercadoPagoConfig({ accessToken: token }));
  made.set(client, clients);
  const [name = '', method = ''] = call.split('.');
  const owner = clients[name] as Record<string, (argument: unknown) => Promise<unknown>>; // each takes an object of its own type
  return (owner[method] as (argument: unknown) => Promise<unknown>).call(owner, argument);
});

function clientsOf(config: MercadoPagoConfig): Record<string, object> {
  return {
    MerchantOrder: new MerchantOrder(config),
    Payment: new Payment(config),
    PaymentRefund: new PaymentRefund(config),
    Invoice: new Invoice(config),
  };
}
