/** The connections to the server: so many at most, each replaced when it broke, and nothing of the address ever shown. */
import { Pool, type PoolClient, types } from 'pg';
import { storeFailed } from '../failure.ts';
import { failureOf, textOf } from './failure.ts';
import { restored } from './text.ts';

export interface PoolSettings {
  connections: number;
  /** For a place among the connections, and for a new one. */
  connect_timeout_ms: number;
  /** For the answer to a statement; what takes longer is broken off. */
  statement_timeout_ms: number;
}

/** The client waits a little longer than the server, whose own words are better than none. */
export const ANSWER_GRACE_MS = 500;
/** A connection of a process that died without a word is noticed by the server, not kept for hours. */
const KEEP_ALIVE_DELAY_MS = 10_000;

/** Numbers of eight bytes are epoch milliseconds, minor units and counts: all within what a double holds exactly. */
const INT8 = 20;
/** Only sums of them are of this type. */
const NUMERIC = 1700;
const TEXT = 25;

export function openPool(url: string, settings: PoolSettings): Pool {
  const { connections, connect_timeout_ms, statement_timeout_ms } = settings;
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connect_timeout_ms,
    statement_timeout: statement_timeout_ms,
    idle_in_transaction_session_timeout: statement_timeout_ms,
    query_timeout: statement_timeout_ms + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    application_name: 'puente',
    pipeline: true,
    types: {
      getTypeParser(type: number, format?: 'text' | 'binary') {
        if (type === INT8 || type === NUMERIC) return Number;
        return type === TEXT ? restored : types.getTypeParser(type, format);
      },
    },
  });
  // Without a listener a connection that breaks would end the process: while it is idle, and also at the very moment at
  // which it is lent, when nobody listens yet.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Lends a connection for some work, and gives up one that broke meanwhile.
 * @throws PuenteError store_failed when there is none; then nothing was sent. Whatever `work` throws.
 */
export async function withConnection<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  let client: PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw storeFailed('gone', textOf(error));
  }
  let broken = false;
  const onError = (): void => {
    broken = true;
  };
  client.on('error', onError);
  try {
    return await work(client);
  } catch (error) {
    // After a fault of this program nobody knows what else was sent on it.
    broken ||= [null, 'gone'].includes(failureOf(error));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** What `send` asks of a connection leaves together, where each statement would be a write and a wake-up of the server by itself. */
export function inOneWrite(client: PoolClient, send: () => void): void {
  const { stream } = client.connection;
  stream.cork();
  try {
    send();
  } finally {
    stream.uncork();
  }
}
