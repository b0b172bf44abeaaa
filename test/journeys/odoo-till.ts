/** A till like Odoo's `pos_mercado_pago`; written from `docs/field-notes.md` Point §4.1, finding 3 and finding 9. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { request } from 'undici';
import { listen, shut } from '../listen.ts';

/** An answer's JSON: the till tests for keys and ignores the HTTP status. */
type Reply = Record<string, unknown>;

export type Line =
  | { kind: 'done'; payment_id: number }
  /** The card was declined: the intent is FINISHED and its payment is not approved. */
  | { kind: 'refused' }
  | { kind: 'canceled' }
  /** "Unknown payment status": the cashier must check the terminal; the sale does not count as paid. */
  | { kind: 'unknown status'; state: unknown }
  | { kind: 'not created'; message: unknown };

export interface Handled {
  answered: number;
  body: Reply;
  query: string;
  read_state: unknown;
}

export interface OdooTill {
  webhook_url: string;
  handled: Handled[];
  create(device: string, amount: number, reference: string): Promise<Reply>;
  /**
   * Concludes the open payment line with the state it reads after a webhook. Any webhook that arrives meanwhile counts,
   * because the till takes each as one about its open line.
   */
  conclude(intent_id: string): Promise<Line>;
  read(intent_id: string): Promise<Reply>;
  close(): Promise<void>;
}

export interface OdooSettings {
  door_url: string;
  token: string;
  webhook_secret: string;
  /** Delay of webhooks in the shop's network before the till receives them. */
  webhook_delay_ms?: number;
}

const TIMEOUT_MS = 10_000;
const PLATFORM_ID = 'dev_cdf1cfac242111ef9fdebe8d845d0987';
/** `{session}_{method}_{uuid}` since 18.0; webhooks with another form are answered with 400. */
const REFERENCE = /^\d+_\d+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A legacy webhook sometimes arrived while the intent was still ON_TERMINAL. */
const RETRIES = 5;
const RETRY_MS = 1_000;

export async function startOdooTill(settings: OdooSettings): Promise<OdooTill> {
  const handled: Handled[] = [];
  let arrival = (): void => undefined;
  const ask = (method: string, path: string, payload: object = {}): Promise<Reply> =>
    askVendor(settings, method, path, payload);
  const read = (intent_id: string): Promise<Reply> => ask('GET', `/point/integration-api/payment-intents/${intent_id}`);
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', async () => {
      if (settings.webhook_delay_ms) await setTimeout(settings.webhook_delay_ms);
      const body = jsonOrNull(Buffer.concat(chunks).toString('utf8')) ?? {};
      const status = judgeWebhook(settings, incoming.headers, body);
      const seen = status === 200 ? await read(String(body.id)) : {};
      handled.push({ answered: status, body, query: incoming.url?.split('?')[1] ?? '', read_state: seen.state });
      response.writeHead(status).end(status === 200 ? 'OK' : '');
      if (status === 200) arrival();
    });
  });
  const port = await listen(server);
  return {
    webhook_url: `http://127.0.0.1:${port}/pos_mercado_pago/notification`,
    handled,
    read,
    create: (device, amount, reference) =>
      ask('POST', `/point/integration-api/devices/${device}/payment-intents`, {
        amount: Number.parseInt(String(amount * 100), 10), // one cent short for some prices, as in Odoo
        additional_info: { external_reference: reference, print_on_terminal: true },
      }),
    async conclude(intent_id) {
      const arrived = handled.some(({ answered, body }) => answered === 200 && body.id === intent_id);
      if (!arrived) {
        await new Promise<void>((resolve) => {
          arrival = resolve;
        });
      }
      return concluded(await settledIntent(read, intent_id), (payment_id) => ask('GET', `/v1/payments/${payment_id}`));
    },
    close: () => closed(server),
  };
}

/** A JSON body with every method, the platform header on every call, no check of the HTTP status. */
async function askVendor(
  { door_url, token }: OdooSettings,
  method: string,
  path: string,
  payload: object,
): Promise<Reply> {
  const answer = await request(door_url + path, {
    method: method as 'GET', // one of the till's four methods
    headers: {
      authorization: `Bearer ${token}`,
      'x-platform-id': PLATFORM_ID,
      'content-type': 'application/json',
      accept: '*/*',
      'user-agent': 'python-requests/2.31.0',
    },
    body: JSON.stringify(payload),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await answer.body.text();
  return jsonOrNull(text) ?? { errorMessage: text };
}

/** 400 without the headers or the reference, 401 for a wrong signature over the body's id, otherwise 200. */
function judgeWebhook(settings: OdooSettings, headers: IncomingHttpHeaders, body: Reply): number {
  const request_id = headers['x-request-id'];
  const [, ts, v1] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-signature'] ?? '')) ?? [];
  const reference = (body.additional_info as Reply | undefined)?.external_reference;
  if (typeof request_id !== 'string' || ts === undefined || v1 === undefined) return 400;
  if (typeof body.id !== 'string' || typeof reference !== 'string') return 400;
  if (!REFERENCE.test(reference)) return 400;
  const signed = createHmac('sha256', settings.webhook_secret).update(
    `id:${body.id};request-id:${request_id};ts:${ts};`,
  );
  return timingSafeEqual(signed.digest(), Buffer.from(v1, 'hex')) ? 200 : 401;
}

async function settledIntent(read: OdooTill['read'], intent_id: string): Promise<Reply> {
  let intent = await read(intent_id);
  for (
    let retry = 0;
    retry < RETRIES && ['OPEN', 'ON_TERMINAL', 'PROCESSING'].includes(String(intent.state));
    retry++
  ) {
    await setTimeout(RETRY_MS);
    intent = await read(intent_id);
  }
  return intent;
}

/** FINISHED is not yet paid: the payment itself must be approved. */
async function concluded(intent: Reply, readPayment: (payment_id: unknown) => Promise<Reply>): Promise<Line> {
  const { state } = intent;
  if (state === 'CANCELED') return { kind: 'canceled' };
  if (state !== 'FINISHED' && state !== 'PROCESSED') return { kind: 'unknown status', state };
  const payment_id = (intent.payment as { id: number }).id; // throws without a payment, as in Odoo
  const payment = await readPayment(payment_id);
  return payment.status === 'approved' ? { kind: 'done', payment_id } : { kind: 'refused' };
}

function jsonOrNull(text: string): Reply | null {
  try {
    return JSON.parse(text) as Reply; // read by key only
  } catch {
    return null;
  }
}

function closed(server: Server): Promise<void> {
  return shut(server);
}
