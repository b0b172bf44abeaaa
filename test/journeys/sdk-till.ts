/** A till in its own process: an unchanged `mercadopago` SDK that runs the calls of its parent. */
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

/** A retry of the SDK, as it reports it to its callback. */
export interface SdkRetry {
  attempt: number;
  /** HTTP status of the answer; 0 when the connection broke. */
  status: number;
  message: string;
}

const clients = new Map<string, Point>();

answerCalls<PointCall>(async ({ client, token, call, argument }) => {
  const point = clients.get(client) ?? new Point(new MercadoPagoConfig({ accessToken: token }));
  clients.set(client, point);
  const sdk_retries: SdkRetry[] = [];
  const onRetry = (attempt: number, error: Error & { status: number }): void =>
    void sdk_retries.push({ attempt, status: error.status, message: error.message });
  const given = argument as { requestOptions?: object }; // each takes one object of its own type
  const method = point[call] as (argument: unknown) => Promise<object>;
  const result = await method.call(point, { ...given, requestOptions: { ...given.requestOptions, onRetry } });
  return sdk_retries.length === 0 ? result : { ...result, sdk_retries };
});
