/** Puente with the fault server as upstream: it stores orders by key, and a test decides how it treats each call. */
import type { AppParts } from '../../src/app/app.ts';
import type { Log, LogFields } from '../../src/proxy/log.ts';
import { type Answer, ARGENTINA, POINT } from '../kit.ts';
import { type Row, rowsOf } from '../proxy/http/till.ts';
import { type Outside, orderFor, startOutside } from '../proxy/http/unruly.ts';
import { type Act, type FaultServer, type FaultServerOptions, type Heard, startFaultServer } from './fault-server.ts';
import { json } from './fault-server-acts.ts';

export type Order = Record<string, unknown> & { id: string };

/** Chooses the act for a call; gets upstream's honest act, so that a test can spoil it. */
export type Twist = (honest: Act, heard: Heard, nth: number) => Act;

export interface Upstream extends FaultServer {
  /** By idempotency key, as upstream stores them. */
  orders: Map<string, Order>;
  /** Creates so far; those of one key if given. */
  creates(key?: string): Heard[];
  /** Act for creates; `nth` counts the attempts of one key, from 1. */
  onCreate: Twist;
  /** Act for reads of one order, and for cancels. */
  onRead: Twist;
  onCancel: Twist;
  onWho: Twist;
}

const honest: Twist = (act) => act;

/** Starts upstream. An honest create takes effect before its answer is spoiled; an ignored one takes no effect. */
export async function startUpstream(options: FaultServerOptions = {}): Promise<Upstream> {
  const orders = new Map<string, Order>();
  const tries = new Map<string, number>();
  const count = (key: string): number => {
    tries.set(key, (tries.get(key) ?? 0) + 1);
    return tries.get(key) ?? 0;
  };
  const server = await startFaultServer((heard) => {
    const key = heard.headers['x-idempotency-key'] ?? '';
    if (heard.path === '/users/me') {
      return upstream.onWho(json(200, { id: Number(ARGENTINA), site_id: 'MLA' }), heard, 1);
    }
    if (heard.method === 'POST' && heard.path === '/v1/orders') {
      return upstream.onCreate(making(orders, key), heard, count(key));
    }
    const order = [...orders.values()].find(({ id }) => heard.path.startsWith(`/v1/orders/${id}`));
    if (order === undefined) return json(404, { errors: [{ code: 'order_not_found', message: 'Order not found.' }] });
    if (heard.method === 'GET') return upstream.onRead(json(200, order), heard, count(`read ${order.id}`));
    return upstream.onCancel(canceling(order), heard, count(`cancel ${order.id}`));
  }, options);
  const upstream: Upstream = {
    ...server,
    orders,
    creates: (key) =>
      server.heard.filter(
        ({ method, path, headers }) =>
          method === 'POST' && path === '/v1/orders' && (key === undefined || headers['x-idempotency-key'] === key),
      ),
    onCreate: honest,
    onRead: honest,
    onCancel: honest,
    onWho: honest,
  };
  return upstream;
}

function making(orders: Map<string, Order>, key: string): Act {
  return (socket, heard) => {
    const order = orders.get(key) ?? { ...orderFor(heard), id: newOrderId() };
    orders.set(key, order as Order); // it was just given an id
    json(201, order)(socket, heard);
  };
}

/** Ends an order now, with a later change date, because older readings change nothing. */
export function end(order: Order, status: string): void {
  order.status = status;
  order.status_detail = status;
  order.last_updated_date = new Date(Date.now() + 1_000).toISOString();
}

function canceling(order: Order): Act {
  return (socket, heard) => {
    end(order, 'canceled');
    json(200, order)(socket, heard);
  };
}

let made = 0;
function newOrderId(): string {
  return `ORD01K7Q2V5B8N4T6W9XJ3M${String(++made).padStart(6, '0')}`;
}

/** Breaker, sweep and read cache are off, because these tests make one failure after the other. */
const QUICK = {
  PUENTE_READS_TIMEOUT_MS: '1000',
  PUENTE_READS_FRESH_MS: '0',
  PUENTE_UPSTREAM_POOL_CONNECT_TIMEOUT_MS: '150',
  PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '0',
  PUENTE_RECONCILE_SWEEP_PER_SECOND: '0',
};

export interface Till extends Outside {
  /** A terminal that no test of this file has used. */
  device(): string;
  create(device: string, token?: string): Promise<Answer>;
  row(device: string): Row;
  alerts: ({ message: string } & LogFields)[];
}

/** For tests that wait for the timeout of an attempt. */
export const SHORT = { PUENTE_CREATE_DEADLINE_MS: '1500', PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '400' };

let devices = 0;

export async function openTill(
  url: string,
  settings: Record<string, string> = {},
  parts: AppParts = {},
): Promise<Till> {
  const alerts: Till['alerts'] = [];
  const alert = (message: string, fields: LogFields = {}): unknown => alerts.push({ message, ...fields });
  const log: Log = { debug: () => undefined, info: () => undefined, warn: alert, error: alert };
  // Short pauses: with full jitter a third attempt could miss the tests' short deadline.
  const outside = await startOutside(url, { ...QUICK, ...settings }, { random: () => 0.1, log, ...parts });
  return {
    ...outside,
    alerts,
    device: () => `NEWLAND_N950__FAULT${String(++devices).padStart(6, '0')}`,
    create: (device, token) =>
      outside.till(`${POINT}/devices/${device}/payment-intents`, {
        body: { amount: 1500 },
        ...(token === undefined ? {} : { token }),
      }),
    row: (device) => {
      const [row, ...others] = rowsOf(outside.data_dir, device);
      if (row === undefined || others.length > 0)
        throw new Error(`${device} has ${others.length} rows too many, or none`);
      return row;
    },
  };
}
