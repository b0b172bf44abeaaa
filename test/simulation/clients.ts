/** The tills: they sell, retry, read, cancel, hang up when their patience ends, and remember every answer. */
import type { Random } from '../crash/random.ts';
import type { SimulatedClock } from './clock.ts';
import type { Ask, Reply } from './door.ts';
import type { RowThen, SaleFacts, TillCall } from './history.ts';
import { merchants, type Step, tills } from './steps.ts';

/** The invented token of a merchant of the sandbox's cast. */
export function tokenOf(merchant_id: string): string {
  return `APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant_id}`;
}

/** Between a till and the product. */
const FASTEST_MS = 1;
const SLOWEST_MS = 40;
/** Sales differ by an odd number of cents, so that each has an amount of its own and every fraction comes up. */
const LEAST_MINOR = 1_507;
const APART_MINOR = 137;
/** How long a QR sale can be paid. */
const QR_LIFE_MS = 12 * 60_000;

/** What the tills need of the world. */
export interface Counter {
  /** A call at the product's door; returns what hangs up. */
  ask(ask: Ask, over: (reply: Reply | null) => void): () => void;
  /** The committed row behind an answer. */
  rowOf(sale: SaleFacts, legacy_id: string | null): RowThen | null;
  /** Text that a till may see; a secret in it is a leak. */
  seen(text: string): void;
}

export interface Sale extends SaleFacts {
  ask: Ask;
  /** Set by the first answer that names one. */
  legacy_id: string | null;
  /** What a dynamic sale's code was told as. */
  merchant_order_id: number | null;
}

export interface Clients {
  sales: Map<number, Sale>;
  calls: TillCall[];
  sell(step: Extract<Step, { do: 'sell' }>): void;
  again(sale: number, patience_ms: number | null): void;
  read(sale: number, what?: 'read' | 'last read'): void;
  cancel(sale: number): void;
  /** A sale on every unit that was used. */
  probe(): void;
  /** Somebody else's token asks for a sale's intent. */
  spy(sale: number): void;
  pending(): number;
  reset(random: Random): void;
}

export function createClients(clock: SimulatedClock, counter: Counter): Clients {
  let random: Random | null = null;
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
        const sale = clients.sales.get(line.sale);
        if (reply !== null && sale !== undefined) line.row = counter.rowOf(sale, idOf(reply) ?? line.legacy_id);
        clock.after(chance().between(FASTEST_MS, SLOWEST_MS), () => end(reply));
      });
      if (patience_ms === null) return;
      clock.after(patience_ms, () => {
        if (line.to !== null) return;
        hangUp();
        end(null);
      });
    });
  }

  function lineOf(what: TillCall['what'], sale: Sale): TillCall {
    const { number, merchant_id, unit, legacy_id } = sale;
    return {
      number: clients.calls.length,
      what,
      sale: number,
      merchant_id,
      unit,
      from: clock.now(),
      to: null,
      status: null,
      legacy_id: what === 'sell' || what === 'probe' ? null : legacy_id,
      state: null,
      amount: null,
      row: null,
      error: null,
    };
  }

  function create(sale: Sale, patience_ms: number | null, what: 'sell' | 'probe' = 'sell'): void {
    const line = lineOf(what, sale);
    send(line, sale.ask, patience_ms, (reply) => {
      if (reply === null) return;
      line.legacy_id = idOf(reply);
      line.error = errorOf(reply);
      if (reply.status < 300) sale.legacy_id ??= line.legacy_id;
    });
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
      if (sale !== undefined) create(sale, patience_ms);
    },
    read(number, what = 'read') {
      const sale = clients.sales.get(number);
      if (sale === undefined || (sale.kind === 'point' && sale.legacy_id === null)) return;
      if (sale.kind === 'dynamic') return;
      const line = lineOf(what, sale);
      send(line, readAsk(sale), null, (reply) => noteRead(line, reply));
    },
    cancel(number) {
      const sale = clients.sales.get(number);
      if (sale === undefined || sale.kind === 'dynamic' || (sale.kind === 'point' && sale.legacy_id === null)) return;
      send(lineOf('cancel', sale), cancelAsk(sale), null, () => undefined);
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
      if (sale?.kind !== 'point' || sale.legacy_id === null) return;
      const spy = merchants.find((id) => id !== sale.merchant_id) ?? '';
      const line = { ...lineOf('read', sale), merchant_id: spy };
      const ask = readAsk(sale);
      const headers = { ...ask.headers, authorization: `Bearer ${tokenOf(spy)}` };
      send(line, { ...ask, headers }, null, (reply) => noteRead(line, reply));
    },
    reset(next) {
      random = next;
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
  // One form fits the rules of the new API, one does not.
  const reference = step.own_reference ? `sale-${step.sale}` : `Pedido ${step.sale}`;
  const { method, url, body } =
    till.kind === 'point'
      ? pointSale(till.unit, amount_minor, reference)
      : qrSale(till, merchant_id, amount_minor, reference, now);
  const headers = { ...headersOf(merchant_id), ...(key === null ? {} : { 'x-idempotency-key': key }) };
  return {
    ...facts,
    ask: { method, url, headers, body: Buffer.from(body) },
    legacy_id: null,
    merchant_order_id: null,
  };
}

function headersOf(merchant_id: string): Record<string, string> {
  return { authorization: `Bearer ${tokenOf(merchant_id)}`, 'content-type': 'application/json' };
}

function pointSale(unit: string, amount: number, external_reference: string) {
  const body = { amount, additional_info: { external_reference, print_on_terminal: true } };
  const url = `/point/integration-api/devices/${unit}/payment-intents`;
  return { method: 'POST', url, body: JSON.stringify(body) };
}

function qrSale(
  { kind, unit }: { kind: string; unit: string },
  merchant_id: string,
  amount_minor: number,
  external_reference: string,
  now: number,
) {
  // Written as text: the amount never goes through a double.
  const amount = `${Math.floor(amount_minor / 100)}.${String(amount_minor % 100).padStart(2, '0')}`;
  const item = `{"sku_number":"A1","category":"food","title":"Sale","unit_price":${amount},"quantity":1,"unit_measure":"unit","total_amount":${amount}}`;
  const until = new Date(now + QR_LIFE_MS).toISOString();
  const body = `{"external_reference":"${external_reference}","title":"Shop","description":"Counter","total_amount":${amount},"expiration_date":"${until}","items":[${item}]}`;
  const url =
    kind === 'dynamic'
      ? `/instore/orders/qr/seller/collectors/${merchant_id}/pos/${unit}/qrs`
      : `/instore/qr/seller/collectors/${merchant_id}/pos/${unit}/orders`;
  return { method: kind === 'dynamic' ? 'POST' : 'PUT', url, body };
}

function readAsk(sale: Sale): Ask {
  const url = sale.kind === 'point' ? `/point/integration-api/payment-intents/${sale.legacy_id}` : sale.ask.url;
  return { method: 'GET', url, headers: headersOf(sale.merchant_id), body: null };
}

function cancelAsk(sale: Sale): Ask {
  const url = sale.kind === 'point' ? `${sale.ask.url}/${sale.legacy_id}` : sale.ask.url;
  return { method: 'DELETE', url, headers: headersOf(sale.merchant_id), body: null };
}

function noteRead(line: TillCall, reply: Reply | null): void {
  if (reply === null || reply.status !== 200) return;
  const body = JSON.parse(reply.text) as { state?: unknown; amount?: unknown; total_amount?: unknown };
  if (typeof body.state === 'string') line.state = body.state;
  const amount = body.amount ?? body.total_amount;
  if (amount !== undefined) line.amount = String(amount);
}

function idOf({ text, status }: Reply): string | null {
  if (text === '' || status >= 300) return null;
  const { id, in_store_order_id } = JSON.parse(text) as { id?: unknown; in_store_order_id?: unknown };
  const found = id ?? in_store_order_id;
  return typeof found === 'string' ? found : null;
}

function errorOf({ text, status }: Reply): string | null {
  if (status < 300 || text === '') return null;
  return text.slice(0, 200);
}
