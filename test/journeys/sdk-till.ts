/** A till in its own process: an unchanged `mercadopago` SDK that does what its parent asks for, call by call. */
import { MercadoPagoConfig, Point } from 'mercadopago';

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

export interface Asked {
  number: number;
  /** Calls with the same name share one client object, as in a till that makes it once. */
  client: string;
  token: string;
  call: PointCall;
  argument: unknown;
}

export interface Told {
  number: number;
  /** What the call resolved to. */
  result?: unknown;
  /** What it threw. */
  error?: { name: string; message: string; status?: number; error?: string; cause?: string };
}

const clients = new Map<string, Point>();

process.on('message', (asked: Asked) => {
  void run(asked).then((told) => process.send?.(told));
});

async function run({ number, client, token, call, argument }: Asked): Promise<Told> {
  const point = clients.get(client) ?? new Point(new MercadoPagoConfig({ accessToken: token }));
  clients.set(client, point);
  try {
    const method = point[call] as (argument: unknown) => Promise<unknown>; // each takes one object of its own type
    return { number, result: await method.call(point, argument) };
  } catch (error) {
    return { number, error: described(error) };
  }
}

function described(error: unknown): NonNullable<Told['error']> {
  if (!(error instanceof Error)) return { name: 'not an error', message: String(error) };
  const { status, error: code } = error as Error & { status?: number; error?: string }; // what the SDK's errors carry
  return {
    name: error.name,
    message: error.message,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { error: code }),
    cause: causeOf(error),
  };
}

/** The innermost reason, e.g. why a certificate was not trusted. */
function causeOf(error: Error): string {
  let inner: unknown = (error as Error & { __cause__?: unknown }).__cause__ ?? error; // where the SDK keeps it
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause;
  return inner instanceof Error ? `${(inner as NodeJS.ErrnoException).code ?? ''} ${inner.message}` : String(inner);
}
