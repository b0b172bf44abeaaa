/** Makes the sales that a case reads, through Puente's public door. */
import { setTimeout as pause } from 'node:timers/promises';
import { orderIdOf } from '../upstream/answers.ts';
import { isObject, type Sale } from './cases.ts';
import { type BenchRequest, createIntent, eventAbout, get, putSale, referenceOf } from './requests.ts';

/** Sales made in parallel; far below Puente's limit for one merchant. */
const TOGETHER = 16;
/** Puente handles events at its own pace; a paid sale not shown within this time is a fault. */
const PAID_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 100;

/**
 * Makes sales `first` to `first + count - 1`.
 * @param url Puente's public door.
 * @throws Error with the first wrong answer.
 */
export async function prepareSales(url: string, kind: 'N' | 'F' | 'Q', first: number, count: number): Promise<Sale[]> {
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  const sales: Sale[] = [];
  for (let at = 0; at < count; at += TOGETHER) {
    sales.push(...(await Promise.all(numbers.slice(at, at + TOGETHER).map((n) => prepareOne(url, kind, n)))));
  }
  if (kind === 'F') await payAll(url, sales);
  return sales;
}

async function prepareOne(url: string, kind: 'N' | 'F' | 'Q', n: number): Promise<Sale> {
  const common = { n, reference: referenceOf(n), order_id: orderIdOf(kind, n) };
  if (kind !== 'Q') {
    const made = await ask(url, createIntent(kind, n));
    return { ...common, legacy_id: String(fieldOf(made, 'id')), merchant_order_id: '' };
  }
  await ask(url, putSale(n));
  const found = await ask(url, get(`/merchant_orders/search?external_reference=${referenceOf(n)}`));
  const [element] = fieldOf(found, 'elements') as unknown[]; // checked when its id is read
  return { ...common, legacy_id: '', merchant_order_id: String(fieldOf(element, 'id')) };
}

/** Sends the payment event of each sale; Puente reads the order and shows it. */
async function payAll(url: string, sales: readonly Sale[]): Promise<void> {
  for (let at = 0; at < sales.length; at += TOGETHER) {
    const told = sales.slice(at, at + TOGETHER);
    await Promise.all(told.map(({ order_id, n }) => ask(url, eventAbout(order_id, n, 'order.processed'))));
  }
  const limit = Date.now() + PAID_LIMIT_MS;
  for (const { legacy_id } of sales) {
    for (;;) {
      const shown = await ask(url, get(`/point/integration-api/payment-intents/${legacy_id}`));
      if (fieldOf(shown, 'state') === 'FINISHED') break;
      if (Date.now() > limit) throw new Error(`A paid sale is not shown as paid: ${JSON.stringify(shown)}`);
      await pause(LOOK_EVERY_MS);
    }
  }
}

async function ask(url: string, { method, path, headers, body }: BenchRequest): Promise<unknown> {
  const answer = await fetch(url + path, { method, headers, ...(body === '' ? {} : { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
  return text === '' ? null : JSON.parse(text);
}

function fieldOf(answer: unknown, name: string): unknown {
  if (isObject(answer) && answer[name] !== undefined) return answer[name];
  throw new Error(`An answer has no ${name}: ${JSON.stringify(answer)}`);
}
