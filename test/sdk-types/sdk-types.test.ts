/** Answers about payments, merchant orders, refunds, devices and intents fit the types of the official SDKs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { ARGENTINA, type Bench, call, DEVICE, eventually, POINT, startBench, tokenOf } from '../kit.ts';
import { preference, preferencePath } from '../proxy/http/qr-till.ts';
import { type Sdk, type Type, takes } from './parse.ts';

const TILL = 'SUC001POS001';
const types = z.enum(['integer', 'integer32', 'decimal', 'text', 'boolean', 'time', 'object', 'list', 'any']);
const sdks = z.enum(['node', 'php', 'java', 'dotnet', 'go']);
const table = z
  .object({
    sources: z.record(sdks, z.string()),
    answers: z.record(z.string(), z.record(z.string(), z.partialRecord(sdks, types))),
  })
  .parse(parse(readFileSync(join(import.meta.dirname, 'types.yaml'), 'utf8')));

/** The APIs whose answers are checked: Puente's, and both of the sandbox. */
const sides = ['Puente', 'the legacy API', 'the orders API'] as const;
type Side = (typeof sides)[number];

interface Told {
  what: string;
  answer: unknown;
}

let bench: Bench;
const told = new Map<string, Told[]>();

beforeAll(async () => {
  bench = await startBench();
  for (const side of ['Puente', 'the legacy API'] as const) await sell(side);
}, 60_000);

afterAll(() => bench?.close());

describe.each(Object.keys(table.answers))('%s', (kind) => {
  test.each(sides.filter((side) => kind === 'payment' || side !== 'the orders API'))('of %s fits every SDK', (side) => {
    const answers = told.get(`${side} ${kind}`) ?? [];
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.flatMap((one) => misfits(kind, one))).toEqual([]);
  });

  test('has a row for every field that Puente tells', () => {
    const fields = (told.get(`Puente ${kind}`) ?? []).flatMap(({ answer }) => Object.keys(answer as object));
    const missing = [...new Set(fields)].filter((field) => table.answers[kind]?.[field] === undefined);
    expect(missing).toEqual([]);
  });
});

test.each<[Sdk, Type, unknown]>([
  ['go', 'text', 8_028_413_081_610_000],
  ['go', 'integer', '4004001'],
  ['php', 'integer', 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD'],
  ['php', 'integer', ''],
  ['java', 'integer', 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD'],
  ['dotnet', 'integer', '9326513804447055222'],
  ['java', 'time', '2026-01-31 17:10:37'],
  ['go', 'list', null],
])('%s does not take %s from what it should not: %j', (sdk, type, value) => {
  expect(takes(sdk, type, value)).toBe(value === null);
});

function misfits(kind: string, { what, answer }: Told): string[] {
  return Object.entries(table.answers[kind] ?? {}).flatMap(([path, byType]) =>
    valuesAt(answer, path.split('.')).flatMap((value) =>
      Object.entries(byType).flatMap(([sdk, type]) =>
        takes(sdk as Sdk, type, value) ? [] : [`${what}: ${path} is ${JSON.stringify(value)}, ${sdk} wants ${type}`],
      ),
    ),
  );
}

function valuesAt(value: unknown, [step, ...rest]: string[]): unknown[] {
  if (step === undefined) return [value];
  if (value === null || typeof value !== 'object') return [];
  const name = step.replace(/\[\]$/, '');
  const found = (value as Record<string, unknown>)[name]; // any JSON object
  const many = step.endsWith('[]') && Array.isArray(found) ? found : [found];
  return many.flatMap((one) => valuesAt(one, rest));
}

function tell(side: Side, kind: string, what: string, answer: unknown): void {
  const list = told.get(`${side} ${kind}`) ?? [];
  told.set(`${side} ${kind}`, [...list, { what, answer }]);
}

async function sell(side: 'Puente' | 'the legacy API'): Promise<void> {
  const door = side === 'Puente' ? bench.app.public_url : bench.sandbox.url;
  const ask = async (path: string, body?: object, method = body === undefined ? 'GET' : 'POST') => {
    const answer = await call(door + path, {
      method,
      token: tokenOf(ARGENTINA),
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer.body as Record<string, unknown>; // read by key
  };
  const found = async (reference: string): Promise<Record<string, unknown>> => {
    const { results } = await eventually(
      () =>
        ask(`/v1/payments/search?external_reference=${reference}`) as Promise<{ results: Record<string, unknown>[] }>,
      (one) => one.results.length > 0,
    );
    for (const one of results) tell(side, 'payment', 'a search result', one);
    return results[0] ?? {};
  };
  const readPayment = async (id: unknown, what: string): Promise<void> => {
    tell(side, 'payment', what, await ask(`/v1/payments/${id}`));
    if (side !== 'Puente') return;
    const upstream = await call(`${bench.sandbox.url}/v1/payments/${id}`, { token: tokenOf(ARGENTINA) });
    tell('the orders API', 'payment', what, upstream.body);
  };
  const readMerchantOrder = async (reference: string, what: string): Promise<void> => {
    const { elements } = await ask(`/merchant_orders/search?external_reference=${reference}`);
    const [first] = elements as { id: number }[]; // the search finds one
    tell(side, 'merchant_order', `${what}, in a search`, first);
    tell(side, 'merchant_order', what, await ask(`/merchant_orders/${first?.id}`));
  };

  const qr = `qr-${side.length}`;
  const sponsor_id = 700_900_900;
  await ask(preferencePath(TILL), preference({ external_reference: qr, sponsor_id, notification_url: undefined }));
  await readMerchantOrder(qr, 'before it is paid');
  await bench.control(`/pos/${ARGENTINA}/${TILL}/pay`, { body: {} });
  const byQr = await found(qr);
  await readPayment(byQr.id, 'paid by QR');
  await readMerchantOrder(qr, 'paid');
  tell(side, 'refund', 'a part', await ask(`/v1/payments/${byQr.id}/refunds`, { amount: 0.5 }));
  await readPayment(byQr.id, 'refunded in part');
  tell(side, 'refund', 'the rest', await ask(`/v1/payments/${byQr.id}/refunds`, {}));
  for (const one of Object.values(await ask(`/v1/payments/${byQr.id}/refunds`)))
    tell(side, 'refund', 'in the list', one);
  await readMerchantOrder(qr, 'refunded');
  tell(side, 'devices', 'the list', await ask(`${POINT}/devices`));
  const point = `point-${side.length}`;
  const sale = {
    amount: 1550,
    additional_info: { external_reference: point, print_on_terminal: true, ticket_number: 'T1' },
  };
  const created = await ask(`${POINT}/devices/${DEVICE}/payment-intents`, sale);
  tell(side, 'intent', 'created', created);
  tell(side, 'intent', 'open', await ask(`${POINT}/payment-intents/${created.id}`));
  await bench.atTerminal('pay');
  const atTerminal = await found(point);
  tell(side, 'intent', 'finished', await ask(`${POINT}/payment-intents/${created.id}`));
  await readPayment(atTerminal.id, 'paid at a terminal');
  if (side !== 'Puente') return;
  // Built from the order, where upstream hides the payment.
  await bench.control('/settings', { method: 'PUT', body: { order_payments: 'hidden' } });
  await ask(`${POINT}/devices/${DEVICE}/payment-intents`, {
    ...sale,
    additional_info: { external_reference: 'hidden' },
  });
  await bench.atTerminal('pay');
  tell(side, 'payment', 'told from its order', await ask(`/v1/payments/${(await found('hidden')).id}`));
  await bench.control('/settings', { method: 'PUT', body: { order_payments: 'readable' } });
}
