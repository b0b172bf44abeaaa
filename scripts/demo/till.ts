/** A till in the style of Odoo's `pos_mercado_pago`: it speaks the legacy Point API only. Source: `legacy-point.md` §4.1. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';

export interface TillAnswer {
  status: number;
  body: Record<string, unknown>;
}

/** A notification, with what the till read while it was handling it. */
export interface TillNotice {
  body: Record<string, unknown>;
  signature_right: boolean;
  /** `GET …/payment-intents/{id}`, inside the handler. */
  intent: TillAnswer;
  /** `GET /v1/payments/{id}`, inside the handler; null when the intent names no payment. */
  payment: TillAnswer | null;
}

export interface Till {
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<TillAnswer>;
  /** Where the till wants its notifications. */
  notice_url: string;
  notices: readonly TillNotice[];
  /** Resolves with the notice of an intent; null when none has come in time. */
  noticeOf(intent_id: string): Promise<TillNotice | null>;
  close(): Promise<void>;
}

export const POINT = '/point/integration-api';
/** Against the sandbox everything takes milliseconds; longer means that no notice will come. */
const NOTICE_LIMIT_MS = 10_000;

/** @param secret signs the till's webhooks, as it was set in the vendor's panel. */
export async function startTill(base_url: string, token: string, secret: string): Promise<Till> {
  const notices: TillNotice[] = [];
  const waiting: (() => void)[] = [];

  /** Every call carries a JSON body, GET and DELETE too, as Python's `requests` does with `json={}`. */
  async function call(method: 'GET' | 'POST' | 'DELETE', path: string, body: unknown = {}): Promise<TillAnswer> {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-platform-id': 'dev_demo',
    };
    const answer = await request(base_url + path, { method, headers, body: JSON.stringify(body) });
    return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) };
  }

  /** As Odoo: check the signature, then read the intent and the payment before the answer. */
  async function handle(incoming: IncomingMessage): Promise<void> {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    const body = JSON.parse(text);
    const intent = await call('GET', `${POINT}/payment-intents/${body.id}`);
    const payment_id = (intent.body.payment as { id?: number } | undefined)?.id; // absent unless the flow completed
    const payment = payment_id === undefined ? null : await call('GET', `/v1/payments/${payment_id}`);
    notices.push({ body, signature_right: isSigned(incoming, body.id, secret), intent, payment });
    for (const look of waiting) look();
  }

  const server = createServer((incoming, response) => {
    handle(incoming).then(
      () => response.end('OK'),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  return {
    call,
    notice_url: `http://127.0.0.1:${port}/pos_mercado_pago/notification`,
    notices,
    noticeOf: (intent_id) =>
      new Promise((resolve) => {
        const limit = setTimeout(() => resolve(null), NOTICE_LIMIT_MS);
        const look = (): void => {
          const found = notices.find(({ body }) => body.id === intent_id);
          if (found === undefined) return;
          clearTimeout(limit);
          resolve(found);
        };
        waiting.push(look);
        look();
      }),
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** HMAC over `id:{body.id};request-id:{X-Request-Id};ts:{ts};`, the intent id in its own case (`legacy-point.md` finding 3). */
function isSigned(incoming: IncomingMessage, id: string, secret: string): boolean {
  const [, ts = '', v1 = ''] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(incoming.headers['x-signature'])) ?? [];
  if (v1 === '') return false;
  const manifest = `id:${id};request-id:${incoming.headers['x-request-id']};ts:${ts};`;
  return timingSafeEqual(createHmac('sha256', secret).update(manifest).digest(), Buffer.from(v1, 'hex'));
}
