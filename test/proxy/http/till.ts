/** Shared by the tests of the doors: fresh terminals, creates, faults, and reads of rows and upstream. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { AppParts } from '../../../src/app/app.ts';
import type { AuditLine } from '../../../src/proxy/audit.ts';
import { usualKeeping } from '../../engines/keeping.ts';
import { type Answer, ARGENTINA, type Bench, type Call, POINT, startBench } from '../../kit.ts';

/** Short times, so that a timeout takes a second, and none ends an answer that a busy machine makes late. */
export const FAST = {
  PUENTE_CREATE_DEADLINE_MS: '4000',
  PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '1200',
  PUENTE_READS_TIMEOUT_MS: '2500',
  PUENTE_SANDBOX_SETTINGS: JSON.stringify({ extra_terminals: 200 }),
};

export interface Row {
  legacy_id: string;
  state: string;
  client_answer: string;
  order_id: string | null;
  attempts: number;
  legacy_state: string;
  idempotency_key: string;
  tables_revision: string;
  body_kept: number;
}

export interface UpstreamRequest {
  method: string;
  path: string;
  idempotency_key: string | null;
  status: number | null;
}

export interface UpstreamOrder {
  id: string;
  external_reference: string;
  status: string;
  merchant_id: string;
  config: { point?: { terminal_id: string } };
}

/** The fault that leaves a create in doubt: upstream reports the key as used, but not the order. */
export const LEFT_IN_DOUBT = {
  method: 'POST',
  path: '/v1/orders',
  kind: 'error',
  status: 409,
  code: 'idempotency_key_already_used',
};

export interface Shop extends Bench {
  freshDevice(): string;
  create(device: string, body?: object, options?: Call & { merchant?: string }): Promise<Answer>;
  read(id: string, options?: Call & { merchant?: string }): Promise<Answer>;
  cancel(device: string, id: string, options?: Call & { merchant?: string }): Promise<Answer>;
  /** Links of a device, oldest first. */
  rows(device: string): Row[];
  /** Orders upstream on a device, oldest first. */
  orders(device: string): Promise<UpstreamOrder[]>;
  requests(path: string): Promise<UpstreamRequest[]>;
  fault(rule: object): Promise<Answer>;
  clearFaults(): Promise<unknown>;
  upstreamSettings(settings: object): Promise<Answer>;
}

export async function openShop(settings: Record<string, string> = {}, parts: AppParts = {}): Promise<Shop> {
  // Short pauses: with full jitter, a third try may exceed the short deadline of the tests.
  const bench = await startBench({ ...FAST, ...settings }, { random: () => 0.1, ...parts });
  let devices = 0;
  const state = async (): Promise<{ orders: UpstreamOrder[]; requests: UpstreamRequest[] }> =>
    (await bench.control('/state')).body as { orders: UpstreamOrder[]; requests: UpstreamRequest[] }; // the control door's form
  return {
    ...bench,
    freshDevice: () => `NEWLAND_N950__LOAD${String(++devices).padStart(7, '0')}`,
    create: (device, body = {}, options = {}) =>
      bench.till(`${POINT}/devices/${device}/payment-intents`, { body: { amount: 1500, ...body }, ...options }),
    read: (id, options) => bench.till(`${POINT}/payment-intents/${id}`, options),
    cancel: (device, id, options) =>
      bench.till(`${POINT}/devices/${device}/payment-intents/${id}`, { method: 'DELETE', ...options }),
    rows: (device) => rowsOf(bench.data_dir, device),
    orders: async (device) => (await state()).orders.filter((order) => order.config.point?.terminal_id === device),
    requests: async (path) => (await state()).requests.filter((line) => line.path.startsWith(path)),
    fault: async (rule) => {
      const answer = await bench.control('/faults', { body: rule });
      if (answer.status !== 201) throw new Error(`the sandbox refused the fault: ${answer.text}`);
      return answer;
    },
    clearFaults: () => bench.control('/faults', { method: 'DELETE' }),
    upstreamSettings: async (change) => {
      const answer = await bench.control('/settings', { method: 'PUT', body: change });
      if (answer.status !== 200) throw new Error(`the sandbox refused the setting: ${answer.text}`);
      return answer;
    },
  };
}

/** The links of a device, read beside the running process. */
export function rowsOf(data_dir: string, device: string, merchant = ARGENTINA): Row[] {
  const database = new Database(join(data_dir, 'puente.db'), { readonly: true });
  try {
    return database
      .prepare<[string, string], Row>(
        `SELECT legacy_id, state, client_answer, order_id, attempts, legacy_state, idempotency_key, tables_revision,
         sealed_body IS NOT NULL AS body_kept FROM links WHERE unit = ? AND merchant_id = ? ORDER BY created_at, legacy_id`,
      )
      .all(device, merchant);
  } finally {
    database.close();
  }
}

/** The audit chain, oldest first, read beside the running process. */
export async function auditsOf(data_dir: string): Promise<AuditLine[]> {
  const sql = 'SELECT * FROM audit ORDER BY sequence';
  const lines = await usualKeeping().read<AuditLine & { detail: string }>(data_dir, sql);
  return lines.map((line) => ({ ...line, detail: JSON.parse(line.detail) as Record<string, unknown> })); // the store's own JSON
}

export function idOf(answer: Answer): string {
  const id = (answer.body as { id?: unknown }).id;
  if (typeof id !== 'string') throw new Error(`no id in ${answer.status} ${answer.text}`);
  return id;
}

/** Every refusal has the legacy form, without an id (`docs/field-notes.md` Point §1.9). */
export function legacyErrorOf(answer: Answer): { error: string; message: string; status: number } {
  const body = answer.body as { error: string; message: string; status: number; id?: unknown };
  if (
    typeof body.error !== 'string' ||
    typeof body.message !== 'string' ||
    body.status !== answer.status ||
    'id' in body
  )
    throw new Error(`not the legacy shape: ${answer.status} ${answer.text}`);
  return body;
}
