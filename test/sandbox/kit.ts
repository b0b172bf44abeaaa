/** Shared by all sandbox tests: a sandbox on a free port, the cast's tokens, and calls over real HTTP. */
import { Agent, request } from 'undici';
import type { Profile } from '../../src/sandbox/assumptions.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';

export const ARGENTINA = '700100200';
export const BRAZIL = '700100300';
export const MEXICO = '700100400';
export const CHILE = '700100500';
export const URUGUAY = '700100600';
export const VIRTUAL_TERMINAL = 'NEWLAND_N950__SBX0000001';
export const PAX_TERMINAL = 'PAX_A910__SMARTPOS0000000001';
export const POINT_PRO = 'GERTEC_MP35P__8701000000000001';
export const STANDALONE_TERMINAL = 'PAX_A910__SMARTPOS0000000002';
export const UNKNOWN_ORDER = 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD';

export function tokenOf(user_id: string): string {
  return `APP_USR-4004001-112026-00000000000000000000000000000a01-${user_id}`;
}

export interface CallOptions {
  /** The owner of the token, by default Argentina; null sends none. */
  merchant?: string | null;
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON came and asserts on it
  body: any;
}

export interface Kit {
  sandbox: Sandbox;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** A call to the control door that must succeed. */
  control(method: string, path: string, body?: unknown): Promise<Reply>;
  /** The reply with a created order. */
  createOrder(changes?: object, options?: CallOptions): Promise<Reply>;
  order(changes?: object, options?: CallOptions): Promise<string>;
  /** The person at a terminal of Argentina. */
  atTerminal(action: string, options?: object, terminal?: string): Promise<Reply>;
  close(): Promise<void>;
}

/** The clock moves only when the test moves it; notifications may go to receivers on this machine. */
export async function openKit(settings: object = {}, profile: Profile = 'specification', now = Date.now): Promise<Kit> {
  const sandbox = await startSandbox({
    port: 0,
    host: '127.0.0.1',
    now,
    profile,
    settings: { local_notification_urls: 'called', ...settings },
  });
  sandbox.world.clock.setMode('manual');
  const agent = new Agent();
  let count = 0;
  const call: Kit['call'] = async (method, path, options = {}) => {
    const { merchant = ARGENTINA, key, body, headers } = options;
    const answer = await request(sandbox.url + path, {
      method,
      dispatcher: agent,
      headers: {
        ...(merchant !== null && { authorization: `Bearer ${tokenOf(merchant)}` }),
        ...(key !== undefined && { 'x-idempotency-key': key }),
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
    const text = await answer.body.text();
    const isJson = String(answer.headers['content-type'] ?? '').startsWith('application/json');
    return { status: answer.statusCode, text, body: isJson ? JSON.parse(text) : null };
  };
  const control: Kit['control'] = async (method, path, body) => {
    const reply = await call(method, `/_sandbox/${path}`, { merchant: null, body });
    if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
    return reply;
  };
  const createOrder: Kit['createOrder'] = (changes = {}, options = {}) => {
    const number = ++count;
    const body = { ...orderBody({ external_reference: `sale-${number}` }), ...changes };
    return call('POST', '/v1/orders', { key: `key-${number}`, body, ...options });
  };
  return {
    sandbox,
    call,
    control,
    createOrder,
    async order(changes, options) {
      const reply = await createOrder(changes, options);
      if (reply.status !== 201) throw new Error(`create answered ${reply.status}: ${reply.text}`);
      return reply.body.id;
    },
    atTerminal: (action, options, terminal = VIRTUAL_TERMINAL) =>
      control('POST', `terminals/${ARGENTINA}/${terminal}/${action}`, options),
    async close() {
      await agent.destroy();
      await sandbox.close();
    },
  };
}

export function orderBody(changes: object = {}): Record<string, unknown> {
  return {
    type: 'point',
    external_reference: 'sale-0',
    transactions: { payments: [{ amount: '150.00' }] },
    config: { point: { terminal_id: VIRTUAL_TERMINAL } },
    ...changes,
  };
}
