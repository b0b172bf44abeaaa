/** The demonstration's stand: Puente with its sandbox in this process, on free ports and a directory that goes away. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';

export interface Stand {
  public_url: string;
  /** The person at a terminal acts: `pay`, `decline`, `cancel`, `pick_up`. */
  atTerminal(device: string, action: string): Promise<void>;
  /** Orders that exist underneath, oldest first. */
  orders(): Promise<SandboxOrder[]>;
  /** Where the merchant's notices go, and the secret that signs them. */
  notify(url: string, secret: string): Promise<void>;
  close(): Promise<void>;
}

/** What the demonstration shows of an order. */
export interface SandboxOrder {
  id: string;
  status: string;
  external_reference: string;
  currency: string;
  config: { point: { terminal_id: string } };
  transactions: { payments: { amount: string }[] };
}

/** A merchant of the sandbox's cast; its token is invented. */
export const MERCHANT = '700100200';
export const TOKEN = `APP_USR-4004001-112026-00000000000000000000000000000a01-${MERCHANT}`;

/** Settings are given here and nothing is read from the environment, so that the demonstration is the same everywhere. */
export async function startStand(): Promise<Stand> {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-demo-'));
  const remove = (): void => rmSync(data_dir, { recursive: true, force: true });
  const interrupted = (): void => {
    remove();
    process.exit(1);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const env = {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_SANDBOX_PORT: '0',
      PUENTE_LOG_LEVEL: 'silent',
    };
    const app = await startApp(loadConfig({ env, cwd: data_dir }));
    const control = `${app.sandbox?.url}/_sandbox`;
    return {
      public_url: app.public_url,
      atTerminal: async (device, action) => {
        await ask('POST', `${control}/terminals/${MERCHANT}/${device}/${action}`, {});
      },
      orders: async () => ((await ask('GET', `${control}/state`)) as { orders: SandboxOrder[] }).orders, // the sandbox's own view
      notify: async (notice_url, notice_secret) => {
        const path = `${app.ops_url}/api/merchants/${MERCHANT}`;
        const token = app.ops_token.reveal();
        const { revision } = (await ask('GET', path, undefined, token)) as { revision: number }; // every view has one
        const change = { reason: 'the demonstration', revision, notice_url, notice_secret };
        await ask('PUT', path, { ...change, dialect: 'point_integration_wh' }, token);
      },
      async close() {
        await app.close();
        remove();
        process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** @throws Error for anything but a 2xx: the stand itself must work. */
async function ask(method: 'GET' | 'POST' | 'PUT', url: string, body?: unknown, token?: string): Promise<unknown> {
  const answer = await request(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${method} ${url} was answered ${answer.statusCode}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
