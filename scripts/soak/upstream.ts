/** Upstream as a process of its own: the sandbox, its faults and its books, controlled by messages of the parent. */
import { totalMinor } from '../../src/sandbox/money.ts';
import type { Order } from '../../src/sandbox/records.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import type { World } from '../../src/sandbox/world.ts';
import { seeded } from '../make-capture/chance.ts';
import type { BookedOrder, Books } from './history.ts';
import { startTrouble, type Trouble } from './trouble.ts';

export type Ask = { ask: 'trouble'; on: boolean } | { ask: 'books' } | { ask: 'payable'; qr_data: string };
export type Told =
  | { told: 'url'; url: string }
  | { told: 'done' }
  | { told: 'books'; books: Books }
  | { told: 'payable'; id: string | null };

const [seed = '1', share = '0', terminals = '0'] = process.argv.slice(2);
const sandbox = await startSandbox({ host: '127.0.0.1', port: 0, settings: { extra_terminals: Number(terminals) } });
const trouble = startTrouble(sandbox.world, seeded(Number(seed)), Number(share));
const heard = listen(sandbox.world);
/** @param number of the request; 0 for a message without one. */
const tell = (number: number, told: Told): void => void process.send?.({ number, ...told });

process.on('message', (message) => {
  const { number, ...asked } = message as Ask & { number: number }; // only the parent has this channel
  tell(number, answerTo(asked));
});
// The parent has exited or is done.
process.once('disconnect', () => {
  trouble.close();
  void sandbox.close().then(() => process.exit(0));
});
tell(0, { told: 'url', url: sandbox.url });

function answerTo(asked: Ask): Told {
  if (asked.ask === 'books') return { told: 'books', books: booksOf(sandbox.world, trouble, heard) };
  if (asked.ask === 'payable') return { told: 'payable', id: payableOf(sandbox.world, asked.qr_data) };
  trouble.set(asked.on);
  return { told: 'done' };
}

/** Orders only: a payable of legacy has the id that its till was answered. */
function payableOf({ payables, orders }: World, qr_data: string): string | null {
  for (const id of payables.keys()) {
    const place = orders.get(id)?.place;
    if (place?.type === 'qr' && place.qr_data === qr_data) return id;
  }
  return null;
}

interface Heard {
  calls: number;
  tries: Map<string, number>;
  taken: Set<string>;
}

/** Counts all log lines as they are added, because the sandbox keeps only the newest. */
function listen({ request_log, sent_log }: World): Heard {
  const heard: Heard = { calls: 0, tries: new Map(), taken: new Set() };
  const note = { request: request_log.push, sent: sent_log.push };
  request_log.push = (line) => {
    heard.calls++;
    const { method, path, idempotency_key: key } = line;
    if (method === 'POST' && path === '/v1/orders' && key !== null)
      heard.tries.set(key, (heard.tries.get(key) ?? 0) + 1);
    note.request(line);
  };
  sent_log.push = (line) => {
    const isTaken = line.status !== null && line.status < 300;
    if (isTaken && line.topic === 'order') heard.taken.add(`${line.subject} ${line.action}`);
    note.sent(line);
  };
  return heard;
}

function booksOf(world: World, { acted }: Trouble, { calls, tries, taken }: Heard): Books {
  return {
    orders: [...world.orders.values()].map(booked),
    taken: [...taken],
    tries: [...tries],
    calls,
    faults: acted(),
  };
}

function booked(order: Order): BookedOrder {
  const { id, merchant_id: merchant, external_reference: reference, status, transaction } = order;
  return {
    id,
    merchant,
    reference,
    amount_minor: totalMinor(order),
    status,
    detail: transaction.status_detail,
    payment_id: transaction.reference_id === null ? null : String(transaction.reference_id),
    refunded_minor: transaction.refunded_minor,
  };
}
