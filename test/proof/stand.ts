/** The create protocol without doors: real stories and store; the test controls network, clock and randomness. */
import { createPorts } from '../../src/app/ports.ts';
import { loadConfig } from '../../src/config/config.ts';
import { loadTables } from '../../src/mapping/load.ts';
import type { Ports, Store } from '../../src/ops/ports.ts';
import type { ExchangeDraft } from '../../src/proxy/evidence/exchange.ts';
import type { LegacyCall } from '../../src/proxy/http/answer.ts';
import { forExchange, openDraft } from '../../src/proxy/ports.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import { createVault, Secret } from '../../src/proxy/vault.ts';
import { seeded } from '../crash/random.ts';
import { createSimulatedClock } from '../simulation/clock.ts';
import { openMemoryStore } from '../simulation/store.ts';
import { MERCHANT, NOON, newLink, newMerchant, orderId, TERMINAL } from '../store/contract/harness.ts';

export const TOKEN = new Secret(`APP_USR-4004001-112026-00000000000000000000000000000a01-${MERCHANT}`);
/** The reference sent upstream for the first link of `stand.link`. */
export const REFERENCE = 'sale-1';

/** The outcome of one upstream call; a function may read the call, and do other work first. */
export type Answer = UpstreamOutcome | ((call: UpstreamCall) => UpstreamOutcome | Promise<UpstreamOutcome>);

export interface Stand {
  ports: Ports;
  store: Store;
  /** Epoch ms; sleeping advances it. */
  now: number;
  /** The random number, from 0 to 1. */
  luck: number;
  slept: number[];
  /** Upstream's answers, in order; then calls get no answer. */
  answers: Answer[];
  legacy_answers: Answer[];
  /** True: calls are not sent, as with an open circuit breaker. */
  is_shut: boolean;
  asked: UpstreamCall[];
  counts: string[];
  log: string[];
  points: string[];
  /** Runs at a failpoint, by its name. */
  at: Map<string, () => void>;
  notices: number;
  /** Empties the store, and starts a new process at noon. */
  reset(): Promise<void>;
  restart(parts?: Partial<Pick<Ports, 'store' | 'tables'>>): void;
  within<Made>(draft: ExchangeDraft, work: () => Made | Promise<Made>): Promise<Made>;
  /** A stored link that this process wrote and has not sent yet. */
  link(change?: Partial<Link>): Promise<Link>;
  stored(link: Pick<Link, 'legacy_id'>): Promise<Link>;
}

const tables = loadTables('mappings');
const vault = createVault(new Secret('a key of the proofs that nobody else uses'));
const config = loadConfig({ env: { PUENTE_ROUTING_DEFAULT_STAGE: 'orders' }, cwd: process.cwd() });

/** One for each file; `reset` renews it for each test. */
export function createStand(): Stand {
  const memory = openMemoryStore({
    ...createSimulatedClock(),
    after(delay_ms, run) {
      const soon = setImmediate(run);
      return { due_at_ms: delay_ms, cancel: () => clearImmediate(soon) };
    },
  });
  let ids = 0;
  const service = (answers: () => Answer[]): Upstream => ({
    isShut: () => stand.is_shut,
    async send(call) {
      stand.asked.push(call);
      const answer = answers().shift() ?? { kind: 'broken', cause: 'nothing came back' };
      return typeof answer === 'function' ? answer(call) : answer;
    },
  });
  const line =
    (level: string) =>
    (message: string, fields: object = {}) => {
      stand.log.push(`${level} ${message} ${JSON.stringify(fields)}`);
    };
  const stand: Stand = {
    ports: null as unknown as Ports, // `reset` sets it before its first use
    store: memory.store,
    now: NOON,
    luck: 0.5,
    slept: [],
    answers: [],
    legacy_answers: [],
    is_shut: false,
    asked: [],
    counts: [],
    log: [],
    points: [],
    at: new Map(),
    notices: 0,
    async reset() {
      Object.assign(stand, { now: NOON, luck: 0.5, slept: [], answers: [], legacy_answers: [], is_shut: false });
      Object.assign(stand, { asked: [], counts: [], log: [], points: [], at: new Map(), notices: 0 });
      memory.wipe();
      await memory.open({ now: () => stand.now, random: seeded(1), failpoint: () => undefined }).ready;
      stand.restart();
      await meetMerchant(stand);
    },
    restart(parts = {}) {
      const made = createPorts(config, {
        store: memory.store,
        upstreams: { orders: service(() => stand.answers), legacy: service(() => stand.legacy_answers) },
        tables,
        ...parts,
        vault,
        clock: {
          now: () => stand.now,
          sleep: async (duration_ms) => {
            stand.slept.push(duration_ms);
            stand.now += duration_ms;
            await refuseNotices(memory.store, stand.now);
          },
        },
        random: () => stand.luck,
        log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
        count: (...count) => stand.counts.push(count.join(' ')),
        evidence: {
          finished: () => undefined,
          shadowed: () => undefined,
          coming: () => undefined,
          settled: async () => undefined,
        },
        failpoint: (name) => {
          stand.points.push(name);
          stand.at.get(name)?.();
        },
      });
      // Ascending ids, so that rows of one millisecond have an order.
      const legacyId = () => `019b8e07-4600-7000-8000-${String(++ids).padStart(12, '0')}`;
      made.memory.ids = { ...made.memory.ids, legacyId };
      made.memory.wakeups.notices.to(() => stand.notices++);
      stand.ports = made;
    },
    async within(draft, work) {
      const { ports } = stand;
      const noting = forExchange(ports, draft);
      const { of } = ports.tables;
      stand.ports = { ...noting, store: ports.store, tables: { ...ports.tables, ...noting.tables, of } };
      try {
        return await work();
      } finally {
        stand.ports = ports;
      }
    },
    async link(change = {}) {
      // The first link has the default reference of orders; a reference is sent once only.
      const is_first = (await memory.store.links.linkByReference(MERCHANT, REFERENCE)) === null;
      const reference_sent = is_first ? REFERENCE : `${REFERENCE}-${++ids}`;
      const link = newLink({
        reference_sent,
        sealed_body: vault.seal(JSON.stringify({ external_reference: reference_sent }), 'body'),
        boot_id: stand.ports.memory.ids.boot,
        first_sent_at: stand.now,
        created_at: stand.now,
        expires_at: stand.now + 900_000,
        ...change,
      });
      return (await memory.store.links.openLink(link, () => ({ kind: 'open' }))).link;
    },
    async stored({ legacy_id }) {
      const link = await memory.store.links.link(legacy_id);
      if (link === null) throw new Error(`there is no link ${legacy_id}`);
      return link;
    },
  };
  return stand;
}

/** Answers every due notice 503: each was tried, and none makes its sale known to the till. */
async function refuseNotices(store: Store, now: number): Promise<void> {
  for (const notice of await store.notices.dueNotices(now, 100)) {
    const attempt = {
      at: now,
      duration_ms: 1,
      outcome: 'theirs',
      status: 503,
      detail: 'It answered 503.',
      url: '',
    } as const;
    await store.notices.recordAttempt(notice, attempt, { state: 'pending', next_attempt_at: now + 900_000 });
  }
}

/** A merchant on orders with an accepted token. */
export async function meetMerchant({ store, ports, now }: Pick<Stand, 'store' | 'ports' | 'now'>): Promise<void> {
  const line = {
    at: now,
    who: 'ana',
    action: 'merchant settings' as const,
    subject: MERCHANT,
    reason: 'set up',
    detail: {},
  };
  await store.merchants.saveMerchant(newMerchant({ sealed_notice_url: null, sealed_notice_secret: null }), 0, line);
  await store.merchants.acceptToken(
    {
      fingerprint: ports.vault.fingerprint(TOKEN),
      merchant_id: MERCHANT,
      sealed_token: ports.vault.seal(TOKEN.reveal(), 'token'),
      accepted_until: now + 3_600_000,
      seen_at: now,
    },
    'MLA',
  );
}

export function withCreate(ports: Ports, change: Partial<Ports['settings']['create']>): Ports {
  const { settings } = ports;
  return { ...ports, settings: { ...settings, create: { ...settings.create, ...change } } };
}

export function answered(status: number, body: unknown = {}, retry_after_ms: number | null = null): UpstreamOutcome {
  return { kind: 'answered', status, retry_after_ms, body };
}

export function refusal(status: number, code: string): UpstreamOutcome {
  return answered(status, { errors: [{ code, message: 'said upstream' }] });
}

export const BROKEN: UpstreamOutcome = { kind: 'broken', cause: 'reset' };
export const NOT_SENT: UpstreamOutcome = { kind: 'not_sent', cause: 'ECONNREFUSED' };

/** An order in upstream's form. @param second after noon of its last change. */
export function orderOf(change: Record<string, unknown> = {}, second = 0): Record<string, unknown> {
  return {
    id: orderId(1),
    type: 'point',
    user_id: MERCHANT,
    external_reference: REFERENCE,
    status: 'created',
    created_date: new Date(NOON).toISOString(),
    last_updated_date: new Date(NOON + second * 1000).toISOString(),
    transactions: { payments: [{ id: 'PAY1', amount: '15.00' }] },
    ...change,
  };
}

export const PAID = {
  status: 'processed',
  transactions: { payments: [{ id: 'PAY1', amount: '15.00', status: 'processed', reference_id: '16500000001' }] },
};

export function creates(change: Record<string, unknown> = {}, number = 1): Answer {
  return ({ body }) => {
    const { external_reference } = JSON.parse(textOf(body)) as { external_reference: string };
    return answered(201, orderOf({ id: orderId(number), external_reference, ...change }));
  };
}

export function textOf(body: Uint8Array | undefined): string {
  return Buffer.from(body ?? []).toString('utf8');
}

export function callOf(stand: Stand, name: string, change: Partial<LegacyCall> = {}): LegacyCall {
  const operation = stand.ports.tables.operations.find((one) => one.name === name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  const path = { device_id: TERMINAL, user_id: MERCHANT, external_pos_id: 'TILL1', ...change.path };
  return {
    operation,
    received_at: stand.now,
    target: operation.path.replaceAll(/:(\w+)/g, (_, key: string) => (path as Record<string, string>)[key] ?? ''),
    query: {},
    headers: {},
    body: { amount: 1500, additional_info: { external_reference: 'mesa-4' } },
    token: TOKEN,
    merchant: { ...newMerchant({ sealed_notice_url: null }), trips: {}, revision: 1, updated_at: NOON },
    link: null,
    is_by_unit: false,
    ...change,
    path,
  };
}

export function newDraft(): ExchangeDraft {
  return openDraft(0);
}
