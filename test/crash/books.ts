/** Collects a history for the checker: from the clients, the sandbox's books, the receiver, and the database file itself. */
import Database from 'better-sqlite3';
import { ARGENTINA } from '../kit.ts';
import type { AuditFacts, History, LinkFacts } from './checker.ts';
import type { Stand } from './stand.ts';
import type { Till } from './till.ts';

/** Work that is left; all zero when the server is quiet. */
export interface Backlog {
  in_doubt: number;
  /** Live orders that no client was told of. */
  unclaimed: number;
  live: number;
  events: number;
  notices: number;
}

/** Reads the file as somebody else would, while the server runs or after it died. */
export function readDatabase<T>(path: string, read: (database: Database.Database) => T): T {
  const database = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    return read(database);
  } finally {
    database.close();
  }
}

export function readBacklog(path: string): Backlog {
  return readDatabase(path, (database) => {
    const count = (sql: string): number => Number(database.prepare(`SELECT count(*) FROM ${sql}`).pluck().get());
    return {
      in_doubt: count(`links WHERE state IN ('SENDING', 'IN_DOUBT')`),
      unclaimed: count(`links WHERE state = 'LIVE' AND client_answer <> 'maybe'`),
      live: count(`links WHERE state = 'LIVE'`),
      events: count(`events WHERE state = 'pending'`),
      notices: count(`notices WHERE state = 'pending'`),
    };
  });
}

/** The events and rows that hold up the quiet, for the person who reads a failure. */
export function describeBacklog(path: string): string {
  return readDatabase(path, (database) => {
    const all = (sql: string): unknown[] => database.prepare(sql).all();
    return JSON.stringify({
      now: Date.now(),
      events: all(`SELECT * FROM events WHERE state = 'pending'`),
      notices: all(`SELECT legacy_id, attempts, next_attempt_at FROM notices WHERE state = 'pending'`),
      links: all(
        `SELECT legacy_id, state, client_answer, order_id, cancel, attempts, next_check_at, expires_at, created_at
         FROM links WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE')`,
      ),
    });
  });
}

/**
 * Everything the checker needs, at a moment when the server is quiet.
 * @param unsettled what was not quiet in time before.
 */
export async function collect(stand: Stand, till: Till, unsettled: string[] = []): Promise<History> {
  const reads: History['reads'] = new Map();
  for (const id of new Set(till.creates.flatMap(({ legacy_id }) => legacy_id ?? []))) {
    const answer = await till.get(id);
    const body = (answer?.body ?? {}) as { state?: unknown; amount?: unknown }; // only compared, never trusted
    if (answer !== null) reads.set(id, { status: answer.status, state: body.state, amount: body.amount });
  }
  const { creates, cancels, probes } = till;
  const told = stand.receiver.received.map(({ body, query }) => ({
    legacy_id: query.get('id') ?? '',
    state: (body as { state?: unknown }).state, // a notice is a flat intent
  }));
  const clients = { creates, cancels, probes, reads, notices: told, unsettled };
  return { ...clients, ...upstreamBooks(stand), ...databaseBooks(stand.database) };
}

function upstreamBooks(stand: Stand): Pick<History, 'orders' | 'legacy_intents' | 'keys_seen' | 'webhooks'> {
  const { world } = stand.sandbox;
  const legacy = (world.views().legacy as { intents: { id: string; state: string; amount: number }[] }).intents; // the sandbox's own view
  return {
    orders: [...world.orders.values()].map((order) => ({
      id: order.id,
      merchant_id: order.merchant.user_id,
      device: order.place.type === 'point' ? order.place.terminal_id : order.place.external_pos_id,
      reference: order.external_reference,
      amount_minor: order.transaction.amount_minor,
      status: order.status,
      detail: order.transaction.status_detail,
      created_at: order.created_at_ms,
      updated_at: order.updated_at_ms,
    })),
    legacy_intents: new Map(legacy.map(({ id, state, amount }) => [id, { amount_minor: amount, status: state }])),
    keys_seen: world.request_log
      .list()
      .flatMap((line) => (line.method === 'POST' && line.path === '/v1/orders' ? (line.idempotency_key ?? []) : [])),
    webhooks: world.sent_log
      .list()
      .filter((line) => line.topic === 'order')
      .map(({ subject, action, status }) => ({ order_id: subject, action, status })),
  };
}

type DatabaseBooks = Pick<History, 'links' | 'events' | 'notice_rows' | 'audits' | 'merchants' | 'integrity'>;

export function databaseBooks(path: string): DatabaseBooks {
  return readDatabase(path, (database) => {
    const all = <Row>(sql: string): Row[] => database.prepare<[], Row>(sql).all();
    const merchants = all<{ id: string; settings: string }>('SELECT id, settings FROM merchants');
    return {
      links: all<LinkFacts>('SELECT * FROM links ORDER BY legacy_id'),
      events: all('SELECT order_id, action, state FROM events'),
      notice_rows: all('SELECT legacy_id, state FROM notices'),
      audits: all<AuditFacts & { detail: string }>('SELECT * FROM audit').map((line) => ({
        ...line,
        detail: JSON.parse(line.detail),
      })),
      merchants: merchants.map(({ id, settings }) => ({ id, stage: JSON.parse(settings).stage ?? null })),
      integrity: String(database.pragma('integrity_check', { simple: true })),
    };
  });
}

/** The merchant all sales are made for. */
export const MERCHANT = ARGENTINA;
