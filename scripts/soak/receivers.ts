/** The shops' receivers of notices: record deliveries, sometimes read the intent first, fail while trouble is on. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { listen, shut } from '../../test/listen.ts';
import type { Chance } from '../make-capture/chance.ts';

export interface Receivers {
  /** Notice URLs by merchant: a port each, because deliveries to one host wait for each other. */
  urls: ReadonlyMap<string, string>;
  /** Deliveries answered 200, as `<topic> <id> <state>`. */
  told: Set<string>;
  /** Deliveries so far, refused ones and slow ones. */
  counts: { came: number; failed: number; slow: number };
  setTrouble(isOn: boolean): void;
  /** Sets the function that reads a notice's intent as the shop's till would. */
  onIntent(read: (merchant: string, id: string) => Promise<unknown>): void;
  close(): Promise<void>;
}

/** Delay of a slow receiver; the contract allows 22 s. */
const SLOW_MS = 2_000;
/** Share of notices whose intent is read before the answer. */
const READS_SHARE = 0.3;

/** @param share of deliveries that fail or are slow while trouble is on, 0 to 1. */
export async function startReceivers(merchants: readonly string[], chance: Chance, share: number): Promise<Receivers> {
  const told = new Set<string>();
  const counts = { came: 0, failed: 0, slow: 0 };
  let isTroubled = false;
  let read: (merchant: string, id: string) => Promise<unknown> = async () => undefined;
  const urls = new Map<string, string>();
  const take = async (merchant: string, incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    counts.came++;
    const trouble = isTroubled && chance.is(share) ? chance.pick(['fail', 'close', 'slow'] as const) : null;
    if (trouble === 'slow') {
      counts.slow++;
      await pause(SLOW_MS);
    } else if (trouble !== null) {
      counts.failed++;
      if (trouble === 'close') return void incoming.socket.destroy();
      return void response.writeHead(500).end();
    }
    const { topic, id, state } = noticeOf(new URL(incoming.url ?? '/', 'http://receiver').searchParams, text);
    if (topic === 'point' && chance.is(READS_SHARE)) await read(merchant, id);
    told.add(`${topic} ${id} ${state}`);
    response.end('OK');
  };
  const servers = await Promise.all(
    merchants.map(async (merchant) => {
      const server = createServer((incoming, response) => {
        take(merchant, incoming, response).catch(() => response.destroy());
      });
      urls.set(merchant, `http://127.0.0.1:${await listen(server)}/notices`);
      return server;
    }),
  );
  return {
    urls,
    told,
    counts,
    setTrouble: (isOn) => {
      isTroubled = isOn;
    },
    onIntent: (wanted) => {
      read = wanted;
    },
    close: async () => void (await Promise.all(servers.map(shut))),
  };
}

/**
 * IPN has a topic in the query, a webhook a type; a merchant order's webhook has a state. A Point notice is an intent.
 */
function noticeOf(query: URLSearchParams, text: string): { topic: string; id: string; state: string } {
  const id = query.get('id') ?? query.get('data.id') ?? '';
  const topic = query.get('topic') ?? query.get('type') ?? '';
  const said = Object(JSON.parse(text)) as { state?: unknown; status?: unknown }; // only recorded
  if (topic.startsWith('point')) return { topic: 'point', id, state: String(said.state) };
  const isPayment = topic === 'payment';
  return { topic: isPayment ? 'payment' : 'merchant_order', id, state: isPayment ? '' : String(said.status ?? '') };
}
