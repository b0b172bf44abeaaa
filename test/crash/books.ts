/** Collects a history for the checker from the tills, the sandbox, the receiver and the database. */
import { createCover, createVault, Secret } from '../../src/proxy/vault.ts';
import { ARGENTINA, type Delivery } from '../kit.ts';
import type { AuditFacts, History, LegacySaleFacts, LinkFacts, UpstreamOrder } from './checker.ts';
import { SECRET_KEY, type Stand } from './stand.ts';
import type { Till } from './till.ts';

const cover = createCover(createVault(new Secret(SECRET_KEY)).coverKey());

/** Unfinished work; all zero when the server is quiet. */
export interface Backlog {
  in_doubt: number;
  /** Live orders that no till was answered with. */
  unclaimed: number;
  live: number;
  events: number;
  notices: number;
}

const BACKLOG = `SELECT
  (SELECT count(*) FROM links WHERE state IN ('SENDING', 'IN_DOUBT')) AS in_doubt,
  (SELECT count(*) FROM links WHERE state = 'LIVE' AND client_answer <> 'maybe') AS unclaimed,
  (SELECT count(*) FROM links WHERE state = 'LIVE') AS live,
  (SELECT count(*) FROM events WHERE state = 'pending') AS events,
  (SELECT count(*) FROM notices WHERE state = 'pending') AS notices`;

export async function readBacklog({ read }: Stand): Promise<Backlog> {
  const [backlog] = await read<Backlog>(BACKLOG);
  if (backlog === undefined) throw new Error('a SELECT of counts has one row');
  return backlog;
}

/** The events and rows that are unfinished, for the reader of a failed test. */
export async function describeBacklog({ read }: Stand): Promise<string> {
  return JSON.stringify({
    now: Date.now(),
    events: await read(`SELECT * FROM events WHERE state = 'pending'`),
    notices: await read(`SELECT legacy_id, attempts, next_attempt_at FROM notices WHERE state = 'pending'`),
    links: await read(
      `SELECT legacy_id, state, client_answer, order_id, cancel, attempts, next_check_at, expires_at, created_at
       FROM links WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE')`,
    ),
  });
}

/** @param unsettled backlog that was not finished in time. */
export async function collect(stand: Stand, till: Till, unsettled: string[] = []): Promise<History> {
  const reads: History['reads'] = new Map();
  await inTurns(new Set(till.creates.flatMap(({ legacy_id }) => legacy_id ?? [])), async (id) => {
    const answer = await till.get(id);
    const body = (answer?.body ?? {}) as { state?: unknown; amount?: unknown }; // only compared
    if (answer !== null) reads.set(id, { status: answer.status, state: body.state, amount: body.amount });
  });
  const { creates, cancels, probes } = till;
  const told = stand.receiver.received.filter(isOfPoint).map(({ body, query }) => ({
    legacy_id: query.get('id') ?? '',
    state: (body as { state?: unknown }).state, // a Point notice is a flat intent
  }));
  const clients = { creates, cancels, probes, reads, notices: told, unsettled };
  return {
    ...clients,
    ...upstreamBooks(stand),
    ...(await databaseBooks(stand)),
    known_by_notice: await knownByNotice(stand),
  };
}

/** Few enough to be no flood. */
const AT_ONCE = 6;

/** Runs `work` for each item, `AT_ONCE` at a time. */
export async function inTurns<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items].values();
  const hand = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hand));
}

/** QR sales have their own checker. */
export function isOfPoint({ query }: Delivery): boolean {
  return query.get('topic') === 'point_integration_ipn';
}

function upstreamBooks(stand: Stand): Pick<History, 'orders' | 'legacy_intents' | 'keys_seen' | 'webhooks'> {
  const { world } = stand.sandbox;
  return {
    orders: [...world.orders.values()].flatMap(atTerminal),
    legacy_intents: new Map(
      [...world.intents.values()].map(({ id, amount_minor, history }) => [
        id,
        { amount_minor, status: history.at(-1)?.state ?? 'OPEN' },
      ]),
    ),
    keys_seen: world.request_log
      .list()
      .flatMap((line) => (line.method === 'POST' && line.path === '/v1/orders' ? (line.idempotency_key ?? []) : [])),
    webhooks: world.sent_log
      .list()
      .filter((line) => line.topic === 'order')
      .map(({ subject, action, status }) => ({ order_id: subject, action, status })),
  };
}

type SandboxOrder = Stand['sandbox']['world']['orders'] extends Map<string, infer Order> ? Order : never;

function atTerminal(order: SandboxOrder): UpstreamOrder[] {
  if (order.place.type !== 'point') return [];
  return [
    {
      id: order.id,
      merchant_id: order.merchant_id,
      device: order.place.terminal_id,
      reference: order.external_reference,
      amount_minor: order.transaction.amount_minor,
      status: order.status,
      detail: order.transaction.status_detail,
      created_at: order.created_at_ms,
      updated_at: order.updated_at_ms,
    },
  ];
}

type DatabaseBooks = Pick<
  History,
  'links' | 'other_keys' | 'legacy_sales' | 'events' | 'notice_rows' | 'audits' | 'merchants' | 'integrity'
>;

export async function databaseBooks({ read, integrity }: Stand): Promise<DatabaseBooks> {
  const links = await read<LinkFacts>("SELECT * FROM links WHERE family = 'point' ORDER BY legacy_id");
  const others = await read<LinkFacts>("SELECT idempotency_key FROM links WHERE family = 'qr'");
  const audits = await read<AuditFacts & { detail: string }>('SELECT * FROM audit');
  const merchants = await read<{ id: string; settings: string }>('SELECT id, settings FROM merchants');
  return {
    links: links.map(uncovered),
    other_keys: others.map(({ idempotency_key }) => idempotency_key),
    legacy_sales: await read<LegacySaleFacts>("SELECT * FROM legacy_sales WHERE family = 'point' AND work = 'sale'"),
    events: await read('SELECT order_id, action, state FROM events'),
    notice_rows: await read('SELECT legacy_id, state FROM notices'),
    audits: audits.map((line) => ({ ...line, detail: JSON.parse(line.detail) })),
    merchants: merchants.map(({ id, settings }) => ({ id, stage: JSON.parse(settings).stage ?? null })),
    integrity: await integrity(),
  };
}

/** A reference whose digits look like a card number is sealed in the file (`test/faults/README.md` F134). */
function uncovered(link: LinkFacts): LinkFacts {
  return { ...link, reference_sent: cover.open(link.reference_sent) };
}

/**
 * Orders whose 2xx a kill may have cut off, and whose receiver acknowledged a notice of their end: a repetition after
 * that notice counts as the next sale (`docs/protocol.md` §3.9).
 */
export async function knownByNotice({ read }: Stand): Promise<string[]> {
  const rows = await read<{ order_id: string }>(
    "SELECT order_id FROM links WHERE known_by = 'notice' AND client_answer = 'maybe' AND order_id IS NOT NULL",
  );
  return rows.map(({ order_id }) => order_id);
}

export const MERCHANT = ARGENTINA;
