/** The tills: they sell, retry, read, cancel, hang up after a timeout, and record every answer. */
import type { Random } from '../crash/random.ts';
import {
  cancelAsk,
  headersOf,
  merchantOrderAsk,
  pointSale,
  qrSale,
  readAsk,
  refundAsk,
  refundsAsk,
  tokenOf,
} from './asks.ts';
import type { SimulatedClock } from './clock.ts';
import type { Ask, Reply } from './door.ts';
import type { Delivery, RefundAsk, RowThen, SaleFacts, TillCall } from './history.ts';
import { merchants, type Step, tills } from './steps.ts';

/** Latency between a till and the product. */
const FASTEST_MS = 1;
const SLOWEST_MS = 40;
/** Amounts differ by an odd number of cents, so that each sale has its own amount and all fractions occur. */
const LEAST_MINOR = 1_507;
const APART_MINOR = 137;
/** As the vendor's Node SDK: three retries after 1, 2 and 4 seconds, on these answers and on a broken connection. */
const SDK_RETRIES = 3;
const SDK_PAUSE_MS = 1_000;
const SDK_RETRIES_ON: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
/** Share of receivers that read a merchant order once more. */
const READS_SHARE = 0.3;

export interface Counter {
  /** A call at the product's door; returns a function that hangs up. */
  ask(ask: Ask, over: (reply: Reply | null) => void): () => void;
  /** The product's rows of a sale: the checker's last reads cover all of them. */
  thingsOf(sale: SaleFacts): SaleThings[];
  /** The committed row behind an answer. */
  rowOf(sale: SaleFacts, legacy_id: string | null): RowThen | null;
  /** Reports a text that a till may see; a secret in it is a leak. */
  seen(text: string): void;
}

export interface Sale extends SaleFacts {
  ask: Ask;
  place: string;
  retries: boolean;
  /** Number of answers to its creates that are still to be lost. */
  lost_answers: number;
  /** Number of equal sales that the cashier has wanted so far. */
  meant: number;
  /** The till has a 2xx for the last of them. */
  is_answered: boolean;
  legacy_id: string | null;
  /** Of its newest merchant order, from a notice. */
  merchant_order_id: number | null;
  /** From a read or a notice. */
  payment_id: string | null;
  refunds: RefundAsk[];
}

export interface SaleThings {
  legacy_id: string;
  merchant_order_id: number | null;
  /** Set when a refund of it was requested. */
  refunded_payment_id: string | null;
}

export interface Clients {
  sales: Map<number, Sale>;
  calls: TillCall[];
  sell(step: Extract<Step, { do: 'sell' }>): void;
  /** Repeats the same sale while it has no 2xx; afterwards makes the next equal one. */
  again(sale: number, patience_ms: number | null): void;
  read(sale: number): void;
  /** The checker's reads of everything about a sale, at the end. */
  lastRead(sale: number): void;
  cancel(sale: number): void;
  /** Reads the sale first, if its payment is not known yet. */
  refund(step: Extract<Step, { do: 'refund' }>): void;
  refundAgain(sale: number, patience_ms: number | null): void;
  /** A notice arrived; the merchant may read its subject. */
  told(delivery: Delivery): void;
  probe(): void;
  /** Reads a sale's intent with another merchant's token. */
  spy(sale: number): void;
  pending(): number;
  /** @param readers receivers read the subject of a notice. */
  reset(random: Random, readers: boolean): void;
}

interface OrderRead {
  what?: 'read' | 'last read';
  /** For the checker's own reads. */
  legacy_id?: string | null;
  over?: () => void;
}

/** Of a receiver that has a notice but no answer yet. */
const NOBODYS_SALE = { number: 0, unit: '', legacy_id: null };

export function createClients(clock: SimulatedClock, counter: Counter): Clients {
  let random: Random | null = null;
  let readers = true;
  let pending = 0;
  const chance = (): Random => {
    if (random === null) throw new Error('the tills have no plan');
    return random;
  };

  function send(line: TillCall, ask: Ask, patience_ms: number | null, heard: (reply: Reply | null) => void): void {
    clients.calls.push(line);
    pending++;
    const end = (reply: Reply | null): void => {
      if (line.to !== null) return;
      line.to = clock.now();
      pending--;
      line.status = reply?.status ?? null;
      if (reply !== null) counter.seen(reply.text);
      heard(reply);
    };
    clock.after(chance().between(FASTEST_MS, SLOWEST_MS), () => {
      const hangUp = counter.ask({ ...ask, call: line.number }, (reply) => {
        line.left = reply?.status ?? null;
        const sale = clients.sales.get(line.sale);
        if (reply !== null && sale !== undefined) line.row = counter.rowOf(sale, idOf(reply) ?? line.legacy_id);
        const is_lost = reply !== null && line.meant !== null && sale !== undefined && sale.lost_answers > 0;
        if (is_lost) sale.lost_answers--;
        clock.after(chance().between(FASTEST_MS, SLOWEST_MS), () => end(is_lost ? null : reply));
      });
      if (patience_ms === null) return;
      clock.after(patience_ms, () => {
        if (line.to !== null) return;
        hangUp();
        end(null);
      });
    });
  }

  function lineOf(what: TillCall['what'], sale: Pick<Sale, 'number' | 'merchant_id' | 'unit' | 'legacy_id'>): TillCall {
    const { number, merchant_id, unit, legacy_id } = sale;
    return {
      number: clients.calls.length,
      what,
      sale: number,
      meant: null,
      merchant_id,
      unit,
      from: clock.now(),
      to: null,
      status: null,
      legacy_id: what === 'sell' || what === 'probe' ? null : legacy_id,
      merchant_order_id: null,
      state: null,
      amount: null,
      refund: null,
      refund_id: null,
      left: null,
      row: null,
      error: null,
    };
  }

  function create(sale: Sale, patience_ms: number | null, what: 'sell' | 'probe' = 'sell', tries = SDK_RETRIES): void {
    const { meant } = sale;
    const line = { ...lineOf(what, sale), meant };
    send(line, sale.ask, patience_ms, (reply) => {
      const is_answered = reply !== null && reply.status < 300;
      if (reply !== null) line.legacy_id = idOf(reply);
      if (reply !== null) line.error = errorOf(reply);
      if (is_answered && line.legacy_id !== null) sale.legacy_id = line.legacy_id;
      if (is_answered && sale.meant === meant) sale.is_answered = true;
      if (is_answered || !sale.retries || tries === 0 || !(reply === null || SDK_RETRIES_ON.has(reply.status))) return;
      clock.after(SDK_PAUSE_MS * 2 ** (SDK_RETRIES - tries), () => {
        if (sale.meant === meant && !sale.is_answered) create(sale, patience_ms, what, tries - 1);
      });
    });
  }

  /** Reads the current order; on a counter with its own code it may be of another sale. */
  function readPlace(sale: Sale, what: 'read' | 'last read', over: () => void = () => undefined): void {
    if (sale.kind === 'dynamic' || (sale.kind === 'point' && sale.legacy_id === null)) return;
    const line = lineOf(what, sale.kind === 'point' ? sale : { ...sale, legacy_id: null });
    send(line, readAsk(sale), null, (reply) => {
      noteRead(line, reply);
      if (sale.kind === 'point') sale.payment_id = paymentIn(reply) ?? sale.payment_id;
      over();
    });
  }

  /** @param sale null for a receiver of a notice, which finds the sale in the answer. */
  function readMerchantOrder(
    merchant_id: string,
    merchant_order_id: number,
    sale: Sale | null,
    { what = 'read', legacy_id = null, over }: OrderRead = {},
  ): void {
    const owner = sale ?? { ...NOBODYS_SALE, merchant_id };
    const line = { ...lineOf(what, owner), merchant_order_id, legacy_id };
    send(line, merchantOrderAsk(merchant_id, merchant_order_id), null, (reply) => {
      noteRead(line, reply);
      const about = sale ?? saleOf(merchant_id, line.amount);
      if (about !== null && line.status === 200) {
        line.sale = about.number;
        about.merchant_order_id = Math.max(about.merchant_order_id ?? 0, merchant_order_id);
        about.payment_id = paymentIn(reply) ?? about.payment_id;
      }
      over?.();
    });
  }

  function saleOf(merchant_id: string, amount: string | null): Sale | null {
    const found = [...clients.sales.values()].find(
      (sale) => sale.merchant_id === merchant_id && amount !== null && Number(amount) === sale.amount_minor / 100,
    );
    return found ?? null;
  }

  function sendRefund(sale: Sale, refund: RefundAsk, patience_ms: number | null): void {
    const line = { ...lineOf('refund', sale), refund };
    send(line, refundAsk(sale.merchant_id, refund), patience_ms, (reply) => {
      noteRead(line, reply);
      if (reply !== null && reply.status < 300) line.refund_id = String((JSON.parse(reply.text) as { id: unknown }).id);
      else if (reply !== null) line.error = errorOf(reply);
    });
  }

  /** Runs with the payment of a sale, reading it first if it is not known. */
  function withPayment(sale: Sale, run: (payment_id: string) => void): void {
    const known = (): void => {
      if (sale.payment_id !== null) run(sale.payment_id);
    };
    const { payment_id, kind, merchant_order_id } = sale;
    if (payment_id !== null) known();
    else if (kind === 'point') readPlace(sale, 'read', known);
    else if (merchant_order_id !== null) readMerchantOrder(sale.merchant_id, merchant_order_id, sale, { over: known });
  }

  const clients: Clients = {
    sales: new Map(),
    calls: [],
    pending: () => pending,
    sell(step) {
      const sale = newSale(step, clock.now());
      clients.sales.set(sale.number, sale);
      for (let copy = 0; copy < step.copies; copy++) create(sale, step.patience_ms);
    },
    again(number, patience_ms) {
      const sale = clients.sales.get(number);
      if (sale === undefined) return;
      if (sale.is_answered) {
        sale.meant++;
        sale.is_answered = false;
      }
      create(sale, patience_ms);
    },
    read(number) {
      const sale = clients.sales.get(number);
      if (sale === undefined) return;
      readPlace(sale, 'read');
      if (sale.merchant_order_id !== null) readMerchantOrder(sale.merchant_id, sale.merchant_order_id, sale);
    },
    lastRead(number) {
      const sale = clients.sales.get(number);
      if (sale === undefined) return;
      readPlace(sale, 'last read');
      for (const { legacy_id, merchant_order_id, refunded_payment_id } of counter.thingsOf(sale)) {
        if (refunded_payment_id !== null)
          send(
            { ...lineOf('refunds read', sale), legacy_id },
            refundsAsk(sale.merchant_id, refunded_payment_id),
            null,
            () => undefined,
          );
        if (merchant_order_id !== null)
          readMerchantOrder(sale.merchant_id, merchant_order_id, sale, { what: 'last read', legacy_id });
      }
    },
    refund({ sale: number, minor, keyed, copies, patience_ms }) {
      const sale = clients.sales.get(number);
      if (sale === undefined) return;
      withPayment(sale, (payment_id) => {
        const key = keyed ? `refund-key-${number}-${sale.refunds.length}` : null;
        const refund = { payment_id, minor, key };
        sale.refunds.push(refund);
        for (let copy = 0; copy < copies; copy++) sendRefund(sale, refund, patience_ms);
      });
    },
    refundAgain(number, patience_ms) {
      const sale = clients.sales.get(number);
      const refund = sale?.refunds.at(-1);
      if (sale !== undefined && refund !== undefined) sendRefund(sale, refund, patience_ms);
    },
    told({ url, topic, subject, status }) {
      if (topic !== 'merchant_order' || status !== 200 || !readers) return;
      const merchant_id = merchants.find((id) => url.includes(`/${id}?`)) ?? '';
      const merchant_order_id = Number(subject);
      const isKnown = [...clients.sales.values()].some((sale) => sale.merchant_order_id === merchant_order_id);
      if (!isKnown || chance().chance(READS_SHARE)) readMerchantOrder(merchant_id, merchant_order_id, null);
    },
    cancel(number) {
      const sale = clients.sales.get(number);
      if (sale === undefined || sale.kind === 'dynamic' || (sale.kind === 'point' && sale.legacy_id === null)) return;
      send(
        lineOf('cancel', sale.kind === 'point' ? sale : { ...sale, legacy_id: null }),
        cancelAsk(sale),
        null,
        () => undefined,
      );
    },
    probe() {
      const used = new Set(
        [...clients.sales.values()].map(({ merchant_id, unit, kind }) => `${merchant_id}/${unit}/${kind}`),
      );
      let number = 9_000;
      for (const [till, { merchant, kind, unit }] of tills.entries()) {
        if (!used.has(`${merchants[merchant]}/${slotOf(kind, unit)}/${kind}`)) continue;
        const step = { do: 'sell', sale: number++, till, keyed: false, own_reference: false, copies: 1 } as const;
        const sale = newSale({ ...step, after_ms: 0, patience_ms: null }, clock.now());
        clients.sales.set(sale.number, sale);
        create(sale, null, 'probe');
      }
    },
    spy(number) {
      const sale = clients.sales.get(number);
      if (sale === undefined) return;
      const spy = merchants.find((id) => id !== sale.merchant_id) ?? '';
      const line = { ...lineOf('read', sale), merchant_id: spy };
      const { legacy_id, merchant_order_id, kind } = sale;
      if (kind === 'point' && legacy_id !== null) {
        const ask = readAsk(sale);
        const headers = { ...ask.headers, authorization: `Bearer ${tokenOf(spy)}` };
        send(line, { ...ask, headers }, null, (reply) => noteRead(line, reply));
      } else if (merchant_order_id !== null) {
        const seen = { ...line, legacy_id: null, merchant_order_id };
        send(seen, merchantOrderAsk(spy, merchant_order_id), null, (reply) => noteRead(seen, reply));
      }
    },
    reset(next, are_readers) {
      random = next;
      readers = are_readers;
      pending = 0;
      clients.sales = new Map();
      clients.calls = [];
    },
  };
  return clients;
}

export function slotOf(kind: SaleFacts['kind'], unit: string): string {
  return `${kind === 'point' ? 'point' : 'qr'}:${unit}`;
}

function newSale(step: Extract<Step, { do: 'sell' }>, now: number): Sale {
  const till = tills[step.till % tills.length] ?? tills[0];
  const merchant_id = merchants[till.merchant];
  const amount_minor = LEAST_MINOR + APART_MINOR * step.sale;
  const key = step.keyed ? `till-key-${step.sale}` : null;
  const facts = {
    number: step.sale,
    kind: till.kind,
    merchant_id,
    unit: slotOf(till.kind, till.unit),
    amount_minor,
    key,
  };
  // The first fits the rules of the new API, the second does not.
  const reference = step.own_reference ? `sale-${step.sale}` : `Pedido ${step.sale}`;
  const { method, url, place, body } =
    till.kind === 'point'
      ? pointSale(till.unit, amount_minor, reference)
      : qrSale(till, merchant_id, amount_minor, reference, now);
  const headers = { ...headersOf(merchant_id), ...(key === null ? {} : { 'x-idempotency-key': key }) };
  return {
    ...facts,
    ask: { method, url, headers, body: Buffer.from(body) },
    place,
    retries: step.retries ?? false,
    lost_answers: step.lost_answers ?? 0,
    meant: 1,
    is_answered: false,
    legacy_id: null,
    merchant_order_id: null,
    payment_id: null,
    refunds: [],
  };
}

function noteRead(line: TillCall, reply: Reply | null): void {
  if (reply === null || reply.status >= 300 || reply.text === '') return;
  const body = JSON.parse(reply.text) as Record<'state' | 'order_status' | 'amount' | 'total_amount', unknown>;
  const state = body.state ?? body.order_status;
  if (typeof state === 'string') line.state = state;
  const amount = body.amount ?? body.total_amount;
  if (amount !== undefined) line.amount = String(amount);
}

function paymentIn(reply: Reply | null): string | null {
  if (reply?.status !== 200) return null;
  const { payment, payments } = JSON.parse(reply.text) as { payment?: { id?: number }; payments?: { id?: number }[] };
  const id = payment?.id ?? payments?.[0]?.id;
  return id === undefined ? null : String(id);
}

function idOf({ text, status }: Reply): string | null {
  if (text === '' || status >= 300) return null;
  const { id, in_store_order_id } = JSON.parse(text) as { id?: unknown; in_store_order_id?: unknown };
  const found = id ?? in_store_order_id;
  // A preference id is the merchant's number and the sale's id.
  return typeof found === 'string' ? found.replace(/^\d{9}-/, '') : null;
}

function errorOf({ text, status }: Reply): string | null {
  if (status < 300 || text === '') return null;
  return text.slice(0, 200);
}
