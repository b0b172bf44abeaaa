/** Plays the scenes: the till's calls, the people at the terminals, and what is looked up underneath, all into the transcript. */
import { join } from 'node:path';
import { explain } from '../../src/mapping/explain.ts';
import { loadTables } from '../../src/mapping/load.ts';
import type { SandboxOrder, Stand } from './stand.ts';
import { POINT, type Till, type TillAnswer } from './till.ts';
import type { Transcript } from './transcript.ts';

export interface Sale {
  /** The legacy intent id. */
  id: string;
  reference: string;
  order_id: string;
}

/** What a sale must have come to: the intent's state, the payment's (null without one), the order's. */
export interface Outcome {
  state: string;
  payment: string | null;
  order: string;
}

export interface Cashier {
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<TillAnswer>;
  /** A new sale's request; the reference is in Odoo's form when none is given: `{session}_{method}_{uuid}`. */
  request(amount_minor: number, reference?: string): IntentRequest;
  /** Creates a payment intent and shows the order underneath. */
  charge(device: string, amount_minor: number, reference?: string): Promise<Sale>;
  person(device: string, action: string, what: string): Promise<void>;
  /** Waits for the notification and checks what the till was told and has read. */
  outcome(sale: Sale, expected: Outcome): Promise<void>;
  expect: Transcript['expect'];
  sales: readonly Sale[];
}

interface IntentRequest {
  amount: number;
  additional_info: { external_reference: string; print_on_terminal: boolean };
}

export function createCashier(stand: Stand, till: Till, transcript: Transcript): Cashier {
  const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'));
  const { tell, expect } = transcript;
  const sales: Sale[] = [];

  const call: Cashier['call'] = async (method, path, body) => {
    tell('sent', `${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`, { method, path, body });
    const answer = await till.call(method, path, body);
    tell('answered', `${answer.status} ${JSON.stringify(answer.body)}`, answer);
    return answer;
  };

  const request: Cashier['request'] = (amount_minor, external_reference = `17_3_${crypto.randomUUID()}`) => {
    return { amount: amount_minor, additional_info: { external_reference, print_on_terminal: true } };
  };

  /** How many rows of the tables made the order, and what was lost, as `puente explain` says. */
  const explained = (path: string, body: IntentRequest): string => {
    const { fired, losses } = explain(tables, JSON.stringify({ method: 'POST', path, headers: {}, body }), {
      site: 'MLA',
      received_at: Date.now(),
    });
    return `${fired.length} table rows fired, ${losses.length} fields lost`;
  };

  const orderOf = async (id: string): Promise<SandboxOrder | undefined> =>
    (await stand.orders()).find((order) => order.id === id);

  return {
    call,
    request,
    async charge(device, amount_minor, reference) {
      const path = `${POINT}/devices/${device}/payment-intents`;
      const body = request(amount_minor, reference);
      const known = new Set((await stand.orders()).map(({ id }) => id));
      const answer = await call('POST', path, body);
      expect('the till has an intent id', typeof answer.body.id, 'string');
      const [order, ...others] = (await stand.orders()).filter(({ id }) => !known.has(id));
      if (order === undefined) throw new Error('The create made no order.');
      const { amount } = order.transactions.payments[0] ?? { amount: 'nothing' };
      const facts = `reference ${order.external_reference}, amount ${amount} ${order.currency}`;
      tell('order', `${order.id} on ${order.config.point.terminal_id}: ${facts}; ${explained(path, body)}`, order);
      expect('one order, of the same amount', [amount, others.length], [decimal(amount_minor), 0]);
      const sale = {
        id: String(answer.body.id),
        reference: body.additional_info.external_reference,
        order_id: order.id,
      };
      sales.push(sale);
      return sale;
    },
    async person(device, action, what) {
      tell('person', `${what} (${action} at ${device})`);
      await stand.atTerminal(device, action);
    },
    async outcome(sale, expected) {
      const notice = await till.noticeOf(sale.id);
      if (notice === null) return expect('the till is notified', 'no notice', expected.state);
      tell('notice', JSON.stringify(notice.body), notice);
      const { body, intent, payment, signature_right } = notice;
      tell('sent', `GET ${POINT}/payment-intents/${sale.id}, inside the handler`);
      tell('answered', `${intent.status} ${JSON.stringify(intent.body)}`);
      if (payment !== null)
        tell('answered', `${payment.status} /v1/payments/${payment.body.id}: ${payment.body.status}`);
      const order = await orderOf(sale.order_id);
      const found = { state: body.state, payment: payment?.body.status ?? null, order: order?.status };
      expect(
        `told and true: ${expected.state}, payment ${expected.payment ?? 'none'}, order ${expected.order}`,
        found,
        expected,
      );
      expect('the intent read inside the handler shows the same state', intent.body.state, expected.state);
      expect(
        "signed with the till's own secret, reference byte for byte",
        [signature_right, referenceIn(body)],
        [true, sale.reference],
      );
    },
    expect,
    sales,
  };
}

function referenceIn(body: Record<string, unknown>): unknown {
  return (body.additional_info as { external_reference?: unknown } | undefined)?.external_reference; // absent is a failed check
}

/** Minor units as the orders API writes them; Argentina has two decimals. */
function decimal(amount_minor: number): string {
  return `${Math.floor(amount_minor / 100)}.${String(amount_minor % 100).padStart(2, '0')}`;
}
