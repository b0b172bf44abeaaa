/** The stand of a soak: the real server on a real file, upstream in another process, and the receivers in this one. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, readStartScript } from '../../bench/processes.ts';
import { type Child, killChildren, SOURCES, startChild } from '../../test/crash/child.ts';
import { seeded } from '../make-capture/chance.ts';
import type { Books } from './history.ts';
import { EXTRA_TERMINALS, ROUTED_SHOPS } from './load.ts';
import { type Operators, startOperators } from './operators.ts';
import { type Receivers, startReceivers } from './receivers.ts';
import { sendOrLose } from './till-connection.ts';
import type { Ask, Told } from './upstream.ts';

export interface Stand {
  child: Child;
  data_dir: string;
  database: string;
  sandbox_url: string;
  operators: Operators;
  receivers: Receivers;
  /** Switches faults on or off, of upstream, its webhooks and the receivers. */
  setTrouble(isOn: boolean): Promise<void>;
  books(): Promise<Books>;
  /** The payable behind a scanned code. */
  payableOf(qr_data: string): Promise<string | null>;
  advance(duration_ms: number): Promise<void>;
  said: Said;
  /** @param keeps whether the database's directory is kept. */
  close(keeps: boolean): Promise<void>;
}

export interface Said {
  counts: Map<string, number>;
  /** Error lines without an expected cause. */
  errors: string[];
}

const OPS_TOKEN = 'ops-token-of-the-soak';
const WEBHOOK_SECRET = 'webhook-secret-of-the-soak';
/** Error lines kept at most. */
const MOST_ERRORS = 50;
const ERROR_LEVEL = 50;
/** Expected errors: a create that is refused after a spoiled attempt. */
const EXPLAINED = new Set(['order never resolved: reported as lost']);

/** The defaults, except polls of open orders and settlement, which would make the quiet end of a short run long. */
const SETTINGS = {
  PUENTE_PUBLIC_PORT: '0',
  PUENTE_OPS_PORT: '0',
  PUENTE_OPS_TOKEN: OPS_TOKEN,
  PUENTE_SECRET_KEY: 'd5'.repeat(32),
  PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
  PUENTE_MOVES_GATE: 'advise',
  PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
  // Webhooks hold a merchant order's state, IPN does not; both are sent and checked.
  PUENTE_MERCHANTS_QR_NOTICES: 'both',
  PUENTE_CREATE_SETTLE_AFTER_MS: '3000',
  PUENTE_RECONCILE_QR_INTERVAL_MS: '5000',
  PUENTE_RECONCILE_MAX_INTERVAL_MS: '10000',
  PUENTE_LOG_LEVEL: 'warn',
};

/** @param share of calls and deliveries that fail while trouble is on, 0 to 1. */
export async function startStand(seed: number, share: number): Promise<Stand> {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-soak-'));
  const remove = (): void => rmSync(data_dir, { recursive: true, force: true });
  process.once('exit', remove);
  const receivers = await startReceivers(
    ROUTED_SHOPS.map(({ merchant }) => merchant),
    seeded(seed + 1),
    share,
  );
  const upstream = await startUpstream(seed + 2, share);
  const settings = { ...SETTINGS, PUENTE_UPSTREAM: upstream.url, PUENTE_LEGACY_UPSTREAM: upstream.url };
  const { environment, options } = readStartScript(ROOT);
  const as_shipped = { ...SOURCES, node_options: options };
  const child = await startChild({ ...environment, ...settings, PUENTE_DATA_DIR: data_dir }, as_shipped);
  if (child === null) throw new Error('the server was ended while it started');
  const said = listen(child);
  const control = async (method: string, path: string, body: unknown): Promise<void> => {
    const { status } = await sendOrLose(method, `${upstream.url}/_sandbox${path}`, { body });
    if (status !== 200) throw new Error(`the sandbox answered ${status} to ${method} ${path}`);
  };
  await control('PUT', '/webhooks', { url: `${child.public_url}/webhooks/orders`, secret: WEBHOOK_SECRET });
  await control('PUT', '/settings', { ipn_resource_base: child.public_url });
  const operators = startOperators(child.ops_url, OPS_TOKEN);
  for (const shop of ROUTED_SHOPS) await operators.setUp(shop, receivers.urls.get(shop.merchant) ?? '');
  return {
    child,
    data_dir,
    database: join(data_dir, 'puente.db'),
    sandbox_url: upstream.url,
    operators,
    receivers,
    said,
    async setTrouble(isOn) {
      receivers.setTrouble(isOn);
      await upstream.ask({ ask: 'trouble', on: isOn });
    },
    async books() {
      const told = await upstream.ask({ ask: 'books' });
      if (told.told !== 'books') throw new Error(`the upstream told ${told.told} when it was asked for its books`);
      return told.books;
    },
    async payableOf(qr_data) {
      const told = await upstream.ask({ ask: 'payable', qr_data });
      return told.told === 'payable' ? told.id : null;
    },
    advance: (advance_ms) => control('POST', '/clock', { advance_ms }),
    async close(keeps) {
      await killChildren();
      await upstream.close();
      await receivers.close();
      process.off('exit', remove);
      if (!keeps) remove();
    },
  };
}

interface Upstream {
  url: string;
  /** @throws Error when the process is gone. */
  ask(question: Ask): Promise<Told>;
  close(): Promise<void>;
}

async function startUpstream(seed: number, share: number): Promise<Upstream> {
  const words = [seed, share, EXTRA_TERMINALS].map(String);
  const child = fork(join(import.meta.dirname, 'upstream.ts'), words, { serialization: 'advanced', stdio: 'inherit' });
  process.once('exit', () => child.kill('SIGKILL'));
  const waiting = new Map<number, PromiseWithResolvers<Told>>();
  let number = 0;
  child.on('message', (message) => {
    const { number: answered, ...told } = message as Told & { number: number }; // sent by `upstream.ts`
    waiting.get(answered)?.resolve(told as Told); // the rest of the object
    waiting.delete(answered);
  });
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error('the upstream ended by itself'));
  });
  const answerTo = (asked: number): Promise<Told> => {
    const waiter = Promise.withResolvers<Told>();
    waiting.set(asked, waiter);
    return waiter.promise;
  };
  const first = await answerTo(0);
  return {
    url: first.told === 'url' ? first.url : '',
    ask(question) {
      const answer = answerTo(++number);
      child.send({ number, ...question });
      return answer;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

/** The server logs one JSON object per line; level 50 and above is an error. */
function listen({ process: { stdout, stderr } }: Child): Said {
  const said: Said = { counts: new Map(), errors: [] };
  const keep = (line: string): void => {
    if (said.errors.length < MOST_ERRORS) said.errors.push(line);
  };
  let rest = '';
  stdout?.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((one) => one.startsWith('{'))) {
      const { level, msg } = JSON.parse(line) as { level: number; msg: string }; // the server's log format
      said.counts.set(msg, (said.counts.get(msg) ?? 0) + 1);
      if (level >= ERROR_LEVEL && !EXPLAINED.has(msg)) keep(line);
    }
  });
  stderr?.on('data', (chunk: string) => keep(chunk.trim()));
  return said;
}
