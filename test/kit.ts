/** Starts real parts for tests: Puente with its sandbox on free ports, tills, and receivers of notices. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { request } from 'undici';
import { onTestFailed } from 'vitest';
import { type App, type AppParts, startApp } from '../src/app/app.ts';
import { loadConfig } from '../src/config/config.ts';
import { loadTables } from '../src/mapping/load.ts';
import type { LoadedTables } from '../src/mapping/tables.ts';
import type { Clock } from '../src/proxy/clock.ts';
import type { Profile } from '../src/sandbox/assumptions.ts';
import type { Sandbox } from '../src/sandbox/server.ts';
import { usualKeeping } from './engines/keeping.ts';
import { beginWriter } from './engines/writer-threads.ts';
import { listen, shut } from './listen.ts';

export const OPS_TOKEN = 'ops-token-of-the-tests';
/** People of the ops door, one per role; `PEOPLE` is their setting. */
export const ANA = { name: 'ana', role: 'viewer', token: 'token-of-ana-the-viewer' } as const;
export const BEN = { name: 'ben', role: 'operator', token: 'token-of-ben-the-operator' } as const;
export const EVA = { name: 'eva', role: 'approver', token: 'token-of-eva-the-approver' } as const;
export const PEOPLE = {
  PUENTE_OPS_TOKENS: JSON.stringify(
    Object.fromEntries([ANA, BEN, EVA].map(({ name, role, token }) => [name, { role, token }])),
  ),
};
export const ARGENTINA = '700100200';
export const BRAZIL = '700100300';
export const MEXICO = '700100400';
export const CHILE = '700100500';
export const URUGUAY = '700100600';
export const DEVICE = 'PAX_A910__SMARTPOS0000000001';
export const SECOND_DEVICE = 'NEWLAND_N950__SBX0000001';
export const POINT = '/point/integration-api';

export function tokenOf(merchant: string): string {
  return `APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant}`;
}

/** The profile of this run's sandboxes: `field` in the project of that name (`vitest.config.ts`). */
export function sandboxProfile(): Profile {
  return process.env.SANDBOX_PROFILE === 'field' ? 'field' : 'specification';
}

/** A wall clock that a test sets. */
export function clockOf(now: () => number): Clock {
  return { now, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) };
}

let loaded: LoadedTables | undefined;
/** The repository's tables, loaded once for a test file: they hold no state. */
export function tables(): LoadedTables {
  loaded ??= loadTables(join(import.meta.dirname, '..', 'mappings'));
  return loaded;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Parsed JSON, or the text if it is not JSON. */
  body: unknown;
  text: string;
}

export interface Call {
  method?: string;
  /** JSON value, or text sent unchanged. */
  body?: unknown;
  token?: string | null;
  headers?: Record<string, string>;
}

export async function call(url: string, options: Call = {}): Promise<Answer> {
  const { method = options.body === undefined ? 'GET' : 'POST', body, token, headers } = options;
  const answer = await request(url, {
    method: method as 'GET', // undici's list of methods is narrower than that of the tests
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, body: parsed(text), text };
}

export interface Bench {
  app: App;
  sandbox: Sandbox;
  data_dir: string;
  till(path: string, options?: Call & { merchant?: string }): Promise<Answer>;
  ops(path: string, options?: Call): Promise<Answer>;
  /** A call on the sandbox's control door; `path` without `/_sandbox`. */
  control(path: string, options?: Call): Promise<Answer>;
  atTerminal(action: string, options?: { merchant?: string; device?: string; body?: unknown }): Promise<Answer>;
  /** Changes a merchant's settings, e.g. the URL of its notices. */
  notify(merchant: string, settings: Record<string, unknown>): Promise<Answer>;
  close(): Promise<void>;
}

/**
 * Puente and the sandbox in this process, on free ports and a new data directory.
 * @param settings environment variables on top of the sandbox profile, e.g. `{ PUENTE_MERCHANTS_DECLINED: 'finished' }`.
 */
export async function startBench(settings: Record<string, string> = {}, parts: AppParts = {}): Promise<Bench> {
  const data_dir = settings.PUENTE_DATA_DIR ?? mkdtempSync(join(tmpdir(), 'puente-test-'));
  // A test that names the folder sees what a first start makes of it.
  if (settings.PUENTE_DATA_DIR === undefined) await usualKeeping().make(data_dir, parts.clock?.now() ?? Date.now());
  const config = loadConfig({
    env: {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_SANDBOX_PORT: '0',
      PUENTE_OPS_TOKEN: OPS_TOKEN,
      PUENTE_LOG_LEVEL: 'silent',
      PUENTE_SANDBOX_PROFILE: sandboxProfile(),
      // Tests move merchants freely; the evidence that a move needs has its own tests.
      PUENTE_MOVES_GATE: 'advise',
      // The test runs in the same process, and its own work must not make Puente shed a till.
      PUENTE_LIMITS_LAG_MS: '600000',
      ...(await usualKeeping().settings(data_dir)),
      ...settings,
    },
    cwd: process.cwd(),
  });
  // A folder of tables is laid over the shipped ones by the start itself.
  const shipped = config.mappings.folder === null ? { tables: tables() } : {};
  const app = await startApp(config, { ...shipped, beginWriter, ...parts });
  if (app.sandbox === null) throw new Error('the bench runs on the sandbox');
  const sandbox = app.sandbox;
  return {
    app,
    sandbox,
    data_dir,
    till: (path, { merchant = ARGENTINA, ...options } = {}) =>
      call(app.public_url + path, { token: tokenOf(merchant), ...options }),
    ops: (path, options) => call(app.ops_url + path, { token: OPS_TOKEN, ...options }),
    control: (path, options) => call(`${sandbox.url}/_sandbox${path}`, options),
    atTerminal: (action, { merchant = ARGENTINA, device = DEVICE, body = {} } = {}) =>
      call(`${sandbox.url}/_sandbox/terminals/${merchant}/${device}/${action}`, { body }),
    notify: (merchant, change) =>
      despiteLearning(async () => {
        const { revision } = (await call(`${app.ops_url}/api/merchants/${merchant}`, { token: OPS_TOKEN })).body as {
          revision: number;
        }; // every view has a revision
        return call(`${app.ops_url}/api/merchants/${merchant}`, {
          method: 'PUT',
          token: OPS_TOKEN,
          body: { reason: 'set by a test', revision, new: true, ...change },
        });
      }),
    async close() {
      await app.close();
      if (settings.PUENTE_DATA_DIR !== undefined) return;
      await usualKeeping().drop(data_dir);
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

/** Learning the owner of a token raises the merchant's revision too, at a time of its own, so a conflict is tried again. */
export async function despiteLearning(change: () => Promise<Answer>): Promise<Answer> {
  const first = await change();
  return first.status === 409 ? change() : first;
}

export interface Delivery {
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
  text: string;
}

export interface Receiver {
  url: string;
  received: Delivery[];
  /**
   * Resolves with all deliveries, or those of a topic (`topic` or `type` of the query), once at least `count` are
   * answered. Notices of one change arrive in any order.
   */
  waitFor(count: number, topic?: string): Promise<Delivery[]>;
  close(): Promise<void>;
}

/** A real receiver of notices. `handle` runs before the answer and returns its status. */
export async function startReceiver(
  handle: (delivery: Delivery) => Promise<number> | number = () => 200,
): Promise<Receiver> {
  const received: Delivery[] = [];
  const handled = new Set<Delivery>();
  const waiting = new Set<() => void>();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', async () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const url = new URL(incoming.url ?? '/', 'http://receiver');
      const delivery = {
        path: url.pathname,
        query: url.searchParams,
        headers: incoming.headers,
        body: parsed(text),
        text,
      };
      received.push(delivery);
      const status = await handle(delivery);
      response.writeHead(status).end();
      handled.add(delivery);
      for (const look of waiting) look();
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/notices`,
    received,
    waitFor: (count, topic) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = [...handled].filter((one) => topic === undefined || topicOf(one) === topic);
          if (found.length < count) return;
          waiting.delete(look);
          resolve(topic === undefined ? received : found);
        };
        waiting.add(look);
        look();
      }),
    close: () => shut(server),
  };
}

export function topicOf({ query }: Delivery): string | null {
  return query.get('topic') ?? query.get('type');
}

/** The topic of payment intent notices, unless the merchant wants webhooks. */
export const INTENT = 'point_integration_ipn';

/**
 * Repeats `attempt` until its value holds; only the test's own time limit ends it otherwise, and the error then shows the
 * last value.
 */
export async function eventually<T>(attempt: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  let seen: { value: T } | null = null;
  let is_over = false;
  whenTestFails(() => {
    if (is_over) return null;
    return seen === null
      ? 'The first look was not answered.'
      : `What was waited for did not come; seen last: ${inspect(seen.value, SHORT)}`;
  });
  try {
    for (;;) {
      const value = await attempt();
      if (holds(value)) return value;
      seen = { value };
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    is_over = true;
  }
}

const SHORT = { depth: 4, maxArrayLength: 10, maxStringLength: 300, breakLength: Number.POSITIVE_INFINITY };

/** Adds a sentence to the error of the running test, should it fail; without effect in a hook. */
function whenTestFails(sentence: () => string | null): void {
  try {
    onTestFailed(({ task }) => {
      const said = sentence();
      const [error] = task.result?.errors ?? [];
      if (said !== null && error !== undefined) error.message += `\n${said}`;
    });
  } catch {
    // Outside of a test.
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
