/** A till in its own process: an unchanged `mercadopago` SDK that does what its parent asks for, call by call. */
import { MercadoPagoConfig, Point } from 'mercadopago';
import { answerCalls } from './sdk-child.ts';

export const pointCalls = [
  'getDevices',
  'changeDeviceOperatingMode',
  'createPaymentIntent',
  'searchPaymentIntent',
  'cancelPaymentIntent',
  'getPaymentIntentList',
  'getPaymentIntentStatus',
] as const;
export type PointCall = (typeof pointCalls)[number];

const clients = new Map<string, Point>();

answerCalls<PointCall>(({ client, token, call, argument }) => {
  const point = clients.get(client) ?? new Point(new MercadoPagoConfig({ accessToken: token }));
  clients.set(client, point);
  const method = point[call] as (argument: unknown) => Promise<unknown>; // each takes one object of its own type
  return method.call(point, argument);
});
