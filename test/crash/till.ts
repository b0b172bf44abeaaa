/** Tills of a crash test, which sell, retry, cancel and log every answer, and customers at the terminals. */
import { setTimeout as pause } from 'node:timers/promises';
import { PuenteError } from '../../src/error.ts';
import { operate } from '../../src/sandbox/control.ts';
import { type Answer, ARGENTINA, call, POINT, tokenOf } from '../kit.ts';
import { inTurns } from './books.ts';
import type { CreateCall } from './checker.ts';
import type { Random } from './random.ts';
import type { Stand } from './stand.ts';

/** After a lost answer; `sdk`: the till's library repeats the call, and afterwards the cashier does. */
type Lost = 'sdk' | 'retry' | 'retry later' | 'give up';
/** The end of an answered sale. */
type Ending = 'pay' | 'decline' | 'cancel at terminal' | 'cancel by till' | 'leave';

export interface Sale {
  number: number;
  device: string;
  amount_minor: number;
  body: Record<string, unknown>;
  headers: Record<string, string>;
  lost: Lost;
  ending: Ending;
  /** The customer pays as soon as the terminal shows the sale, although the till has no answer yet. */
  pays_early: boolean;
  /** After the till has read the payment, it sells an equal sale: the second coffee. */
  is_repeated: boolean;
  /** The legacy id of the first coffee; null for any other sale. */
  follows: string | null;
  legacy_id: string | null;
  /** Server starts since the answer was lost. */
  waited: number;
  /**
   * `repeating`: the till's library repeats the call. `unanswered`: the till gave up without an answer, and the
   * customer may still pay at the terminal. `paid`: the till has yet to read the payment.
   */
  state: 'open' | 'repeating' | 'answered' | 'unanswered' | 'paid' | 'over';
}

export interface Till {
  sales: Sale[];
  creates: CreateCall[];
  cancels: string[];
  probes: { device: string; status: number | null }[];
  sell(plan?: Partial<Pick<Sale, 'lost' | 'ending'>>): Promise<Sale>;
  retry(sale: Sale): Promise<void>;
  retryLost(): Promise<void>;
  end(sale: Sale): Promise<void>;
  /** Customers pay sales on the terminal whose till has no answer: it gave up, or will retry. */
  payUnanswered(): void;
  repeated(): Promise<void>;
  /** A last create on every used device, which must succeed, and its cancel. */
  probe(): Promise<void>;
  get(legacy_id: string): Promise<Answer | null>;
}

/** As the vendor's Node SDK: three retries, on these answers and on a broken connection. */
const SDK_PAUSES_MS = [1_000, 2_000, 4_000];
const SDK_RETRIES_ON: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const PROBE_RETRIES = 2;
/** Then the cashier gives up. */
const MOST_RETRIES = 3;
/** The least amount in Argentina is 15.00. */
const LEAST_MINOR = 1500;
const MOST_MINOR = 9_999_999;

/**
 * @param looks_again reads the first coffee again before a retry of the second: a failing store may have answered the
 * first read without storing it, and then loses its memory.
 */
export function startTill(stand: Stand, random: Random, looks_again = false): Till {
  const devices = stand.sandbox.world.terminalsOf(ARGENTINA).filter(({ id }) => id.includes('LOAD'));
  const sales: Sale[] = [];
  const creates: CreateCall[] = [];
  const cancels: string[] = [];
  const probes: Till['probes'] = [];
  const repeating = new Set<Promise<void>>();
  let used = 0;

  /** Null when the connection broke because the server was killed. */
  async function send(path: string, options: Parameters<typeof call>[1]): Promise<Answer | null> {
    const url = stand.child?.public_url;
    if (url === undefined) return null;
    try {
      return await call(url + path, { token: tokenOf(ARGENTINA), ...options });
    } catch {
      return null;
    }
  }

  async function create(sale: Sale): Promise<number | null> {
    const path = `${POINT}/devices/${sale.device}/payment-intents`;
    const answer = await send(path, { body: sale.body, headers: sale.headers });
    const legacy_id = answer !== null && answer.status < 300 ? idOf(answer) : null;
    const { number, device, amount_minor } = sale;
    const status = answer?.status ?? null;
    creates.push({ sale: number, merchant_id: ARGENTINA, device, amount_minor, status, legacy_id });
    if (legacy_id !== null) {
      sale.legacy_id ??= legacy_id;
      sale.state = 'answered';
    } else if (sale.state === 'repeating') return status;
    else if (sale.lost === 'sdk' && (status === null || SDK_RETRIES_ON.has(status))) repeat(sale);
    else if (sale.lost === 'give up') sale.state = status === null && sale.ending === 'pay' ? 'unanswered' : 'over';
    return status;
  }

  async function createAgain(sale: Sale): Promise<void> {
    const is_known = !looks_again || sale.follows === null || (await till.get(sale.follows))?.status === 200;
    if (is_known) await create(sale);
  }

  function repeat(sale: Sale): void {
    sale.state = 'repeating';
    const work = (async () => {
      for (const pause_ms of SDK_PAUSES_MS) {
        await pause(pause_ms);
        const status = await create(sale);
        if (status !== null && !SDK_RETRIES_ON.has(status)) break;
      }
      sale.lost = 'retry';
      if (sale.state === 'repeating') sale.state = 'open';
    })().finally(() => repeating.delete(work));
    repeating.add(work);
  }

  async function cancel(device: string, legacy_id: string): Promise<number | null> {
    cancels.push(legacy_id);
    const answer = await send(`${POINT}/devices/${device}/payment-intents/${legacy_id}`, { method: 'DELETE' });
    return answer?.status ?? null;
  }

  /** Reads the payment; an equal create after that is a new sale, on the same terminal and with the same key. */
  async function readPaid(sale: Sale): Promise<void> {
    const answer = await till.get(sale.legacy_id ?? '');
    if (answer?.status !== 200 || (answer.body as { state?: unknown }).state !== 'FINISHED') return;
    sale.state = 'over';
    const { device, amount_minor, body, headers } = sale;
    const next = newSale(device, { lost: 'retry', ending: 'pay' });
    Object.assign(next, { amount_minor, body, headers, is_repeated: false, follows: sale.legacy_id });
    await create(next);
  }

  function newSale(device: string, plan: Partial<Pick<Sale, 'lost' | 'ending'>>): Sale {
    const number = sales.length + 1;
    const amount_minor = random.between(LEAST_MINOR, MOST_MINOR);
    // Fits the new API; does not fit; none. QR tills of the shop use others, so that a search finds one payment.
    const names = [{ external_reference: `point-${number}` }, { external_reference: `Venta ${number}` }, {}] as const;
    const body = { amount: amount_minor, additional_info: { ...random.pick(names), print_on_terminal: true } };
    const sale: Sale = {
      number,
      device,
      amount_minor,
      body,
      headers: random.chance(0.5) ? { 'x-idempotency-key': `till-key-${number}` } : {},
      lost: random.pick(['sdk', 'retry', 'retry later', 'give up']),
      ending: random.pick(['pay', 'pay', 'decline', 'cancel at terminal', 'cancel by till', 'leave']),
      pays_early: random.chance(0.6),
      is_repeated: random.chance(0.3),
      follows: null,
      legacy_id: null,
      waited: 0,
      state: 'open',
      ...plan,
    };
    sales.push(sale);
    return sale;
  }

  const till: Till = {
    sales,
    creates,
    cancels,
    probes,
    async sell(plan = {}) {
      const device = devices[used++];
      if (device === undefined) throw new Error('the crash test has used up its terminals');
      const sale = newSale(device.id, plan);
      await create(sale);
      return sale;
    },
    async retry(sale) {
      await create(sale);
    },
    async retryLost() {
      const due = sales.filter((sale) => sale.state === 'open' && (sale.waited++ > 0 || sale.lost === 'retry'));
      for (const sale of due) if (sale.waited > MOST_RETRIES) sale.lost = 'give up';
      await Promise.all(due.map((sale) => createAgain(sale)));
    },
    async end(sale) {
      if (sale.state === 'paid') return readPaid(sale);
      if (sale.state !== 'answered' || sale.legacy_id === null) return;
      sale.state = sale.ending === 'pay' && sale.is_repeated ? 'paid' : 'over';
      if (sale.ending === 'leave') return;
      if (sale.ending === 'cancel by till') await cancel(sale.device, sale.legacy_id);
      else actAtTerminal(stand, sale);
    },
    payUnanswered() {
      for (const sale of sales) {
        const is_waiting = sale.state === 'open' || sale.state === 'repeating';
        const pays = sale.state === 'unanswered' || (is_waiting && sale.pays_early && sale.ending === 'pay');
        if (pays) actAtTerminal(stand, sale);
      }
    },
    async repeated() {
      while (repeating.size > 0) await Promise.all(repeating);
    },
    async probe() {
      await inTurns(new Set(sales.map((sale) => sale.device)), async (device) => {
        const sale = newSale(device, { ending: 'cancel by till' });
        let status = await create(sale);
        // A loaded machine may take longer than the till waits; a unit that is held by mistake answers 409 every time.
        for (let again = 0; again < PROBE_RETRIES && (status ?? 500) >= 500; again++) status = await create(sale);
        probes.push({ device, status });
        if (sale.legacy_id === null) return;
        sale.state = 'over';
        let ended = await cancel(device, sale.legacy_id);
        for (let again = 0; again < PROBE_RETRIES && (ended ?? 500) >= 500; again++)
          ended = await cancel(device, sale.legacy_id);
      });
    },
    get: (legacy_id) => send(`${POINT}/payment-intents/${legacy_id}`, {}),
  };
  return till;
}

const ACTIONS = { pay: 'pay', decline: 'decline', 'cancel at terminal': 'cancel' } as const;

/** An action on a sale that is not on the terminal is ignored: the checker judges the outcome. */
function actAtTerminal(stand: Stand, sale: Sale): void {
  const { world } = stand.sandbox;
  const terminal = world.terminal(ARGENTINA, sale.device);
  if (sale.ending === 'leave' || sale.ending === 'cancel by till') return;
  try {
    if (terminal !== undefined) operate(world, terminal, ACTIONS[sale.ending], {});
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
  }
}

function idOf(answer: Answer): string | null {
  const { body } = answer;
  return typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string' ? body.id : null;
}
