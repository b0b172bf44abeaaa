/** The pool of connections: a broken one is replaced, and no error shows the address. */
import {
  Client,
  type Connection,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  Query,
  type QueryConfig,
  types,
} from 'pg';
import { PuenteError } from '../../error.ts';
import { type Failure, storeFailed } from '../engine.ts';
import { restored } from './dialect.ts';

export interface PoolSettings {
  connections: number;
  /** For a free connection of the pool, and for a new one. */
  connect_timeout_ms: number;
  /** For the answer to a statement; a longer statement is canceled. */
  statement_timeout_ms: number;
}

/** The client waits a little longer than the server, whose error says more. */
export const ANSWER_GRACE_MS = 500;
/** The server detects the connection of a dead process in seconds, not in hours. */
const KEEP_ALIVE_DELAY_MS = 10_000;

/** Eight-byte integers are epoch milliseconds, minor units and counts: a double holds all of them exactly. */
const INT8 = 20;
/** Only sums of INT8 have this type. */
const NUMERIC = 1700;
const TEXT = 25;

/** One connection, not open yet. Without an `error` listener a broken connection would end the process. */
export function clientFor(
  url: string,
  connect_timeout_ms: number,
  application_name: string,
  types?: CustomTypesConfig,
): Client {
  const limits = { connectionTimeoutMillis: connect_timeout_ms, application_name };
  const client = new Client({ connectionString: url, ...limits, ...(types === undefined ? {} : { types }) });
  client.on('error', () => undefined);
  return client;
}

/**
 * Connects when a connection is first needed. `bigint` and `numeric` are read as numbers, texts by `restored`.
 * @throws PuenteError store_unusable with a driver that lacks `KNOWN`.
 */
export function openPool(url: string, settings: PoolSettings): Pool {
  const { connections, connect_timeout_ms, statement_timeout_ms } = settings;
  const { connection } = new Client();
  if (!KNOWN.every((name) => name in connection)) {
    const message =
      'The installed driver `pg` lists no prepared statements: install the version that package.json names.';
    throw new PuenteError('store_unusable', message);
  }
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
  // Without a listener a broken connection would end the process: while idle, and before `withConnection` listens.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    // Whatever the user's default has become since the start: a unit reads what was committed before its locks. Not
    // `onConnect`, which would wait for the answer: a heartbeat has no time for it (`beatLimits`).
    client
      .query(`SET default_transaction_isolation = 'read committed'`)
      .catch((error: unknown) => client.emit('error', error));
  });
  return pool;
}

/** Drops a broken connection. @throws PuenteError store_failed without one: nothing was sent; or errors of `work`. */
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
    // After a defect of this program it is unknown what else was sent on the connection.
    broken ||= [null, 'gone'].includes(failureOf(error));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** Sends the statements of `send` in one socket write; separate writes would each wake up the server. */
export function inOneWrite(client: PoolClient, send: () => void): void {
  const { stream } = client.connection;
  stream.cork();
  try {
    send();
  } finally {
    stream.uncork();
  }
}

/** A named statement that is prepared when a connection first needs it. */
export type Prepared = QueryConfig & { name: string };

/**
 * The driver keeps the statements of a connection by name, which its types lack. `package.json` names one version of it:
 * `inOneTransaction` depends on these records, and on what `Query.submit` sends.
 */
const KNOWN = ['parsedStatements', 'submittedNamedStatements'] as const;
type Known = Record<(typeof KNOWN)[number], Record<string, string>>;

/**
 * Runs the statements as one transaction, without `BEGIN` and `COMMIT`: only the last is followed by a Sync, at which the server
 * commits, and to which it skips after an error (PostgreSQL 18, 54.2.4). It answers once, not once for each statement.
 * Rows are not returned. @throws the driver's error, of a statement or of the commit.
 */
export function inOneTransaction(client: PoolClient, statements: readonly Prepared[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const added: string[] = [];
    const known = client.connection as Connection & Known; // see `Known`
    const submit = (connection: Connection): null => {
      const nothing = { value: () => undefined };
      const inner = Object.create(connection, { describe: nothing, sync: nothing });
      for (const statement of statements) {
        const { name } = statement;
        if (!(name in known.parsedStatements || name in known.submittedNamedStatements)) added.push(name);
        // The driver returns the error of a name that has another text already; its types lack that.
        const refused: unknown = new Query(statement).submit(inner);
        if (refused instanceof Error) throw refused;
      }
      connection.sync();
      return null;
    };
    const callback = (error: Error | null): void => {
      for (const name of added) {
        // Of a transaction that failed it is unknown which ones were prepared.
        if (error !== null) client.connection.close({ type: 'S', name }, false);
        else known.parsedStatements[name] = known.submittedNamedStatements[name] ?? '';
        delete known.submittedNamedStatements[name];
      }
      if (error === null) resolve();
      else reject(error);
    };
    const none = (): void => undefined;
    const query = new Query({ text: '' });
    inOneWrite(client, () => {
      client.query(Object.assign(query, { submit, callback, handleDataRow: none, handleCommandComplete: none }));
    });
  });
}

// Health: the outcome of the last write; after a failure, of a probe once a second.

const PROBE_INTERVAL_MS = 1_000;

/** @param probe whether the server would take a write now. */
export function watchHealth(probe: () => Promise<boolean>) {
  let is_well = true;
  let timer: NodeJS.Timeout | null = null;
  let is_stopped = false;
  const look = async (): Promise<void> => {
    timer = null;
    note(await probe().catch(() => false));
  };
  const note = (now_well: boolean): void => {
    is_well = now_well;
    if (is_well || is_stopped || timer !== null) return;
    timer = setTimeout(() => void look(), PROBE_INTERVAL_MS).unref();
  };
  return {
    note,
    healthy: (): boolean => is_well && !is_stopped,
    stop(): void {
      is_stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

// The meaning of errors of the server or of the network, and the domain error for an unusable database.

/** Raised by `must_be`: a step changed another number of rows. */
const OTHER_ROWS = 'PU001';
/** Deadlock, serialisation failure: wholly rolled back, and may be repeated. */
const AGAIN = /^40(?:001|P01)$/;
/** Disk full, out of memory, configuration limit. */
const FULL = /^53(?:000|100|200|400)$/;
/** Connection exceptions, too many connections, no answer in time, shut down, starting, standby, system errors. */
const GONE = /^(?:08...|53300|57014|57P0[1-5]|25006|58...|25P03|55P03)$/;
const INTEGRITY = /^23/;

/** Errors of the driver, without a code, for a connection that it lost or closed, or that did not answer in time. */
const LOST =
  /^(?:Connection terminated|Query read timeout|timeout (?:expired|exceeded when trying to connect)|Client (?:has encountered a connection error|was closed) and is not queryable|Cannot use a pool after calling end|Received unexpected \w+ message from backend)/;
/** A broken TLS connection, or a socket closed by the other side: without a system call in the error. */
const BROKEN =
  /^(?:ERR_(?:SSL|TLS)_|E(?:PIPE|CONNRESET|CONNABORTED|CONNREFUSED|TIMEDOUT|NOTCONN|HOSTUNREACH|NETUNREACH)$|ERR_(?:STREAM_DESTROYED|STREAM_WRITE_AFTER_END|SOCKET_CLOSED)$)/;

/** `conflict` and `again` are no failures of the store. Null: a defect of this program. */
export function failureOf(error: unknown): Exclude<Failure, 'busy' | 'fatal'> | 'conflict' | 'again' | null {
  if (!(error instanceof DatabaseError)) return isLost(error) ? 'gone' : null;
  const code = error.code ?? '';
  if (code === OTHER_ROWS) return 'conflict';
  if (isOutdated(error)) return 'gone';
  if (AGAIN.test(code)) return 'again';
  if (INTEGRITY.test(code)) return 'constraint';
  if (FULL.test(code)) return 'full';
  return GONE.test(code) ? 'gone' : 'failed';
}

/**
 * The domain error for the error of a read or a statement; a defect of this program stays as it is. `gone` for a
 * statement that the server does not have: preparing it failed with the one before it.
 */
export function failedBecause(error: unknown): unknown {
  if (error instanceof PuenteError) return error;
  const failure = isUnprepared(error) ? 'gone' : failureOf(error);
  if (failure === null) return error;
  return storeFailed(failure === 'conflict' || failure === 'again' ? 'failed' : failure, textOf(error), error);
}

/**
 * A table got or lost a column since the connection prepared the statement, as by the upgrade of another process: the
 * connection will never run it again. Its routine names it in any language (PostgreSQL, `RevalidateCachedQuery`).
 */
export function isOutdated(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** The server never got the statement's text, because preparing it failed in an earlier use of the same connection. */
export function isUnprepared(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '26000';
}

/** Errors of the operating system name the call that failed. */
function isLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isLost);
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || ('code' in error && BROKEN.test(String(error.code))) || LOST.test(error.message);
}

/** Code and text in one line, without the detail, which may hold values, and without the address. */
export function textOf(error: unknown): string {
  if (error instanceof DatabaseError) {
    const rule = error.constraint === undefined ? '' : ` (${error.constraint})`;
    return `${error.code ?? 'no code'}: ${error.message}${rule}`;
  }
  if (error instanceof AggregateError) return error.errors.map(textOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** @param repair the next step of the operator. */
export function databaseUnusable(location: string, wrong: string, repair: string, cause?: unknown): PuenteError {
  return new PuenteError('store_unusable', `The database ${location} can't be used: ${wrong}. ${repair}.`, { cause });
}
