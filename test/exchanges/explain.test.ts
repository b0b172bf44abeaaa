/** `puente explain` of every golden request: the explanation is what Puente does. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { upstreamRoutes } from '../../src/contract/upstream.ts';
import { explain } from '../../src/mapping/explain.ts';
import type { Explanation } from '../../src/mapping/explanation.ts';
import { loadTables } from '../../src/mapping/load.ts';
import type { Operation } from '../../src/mapping/tables.ts';
import { type Exchange, exchangeFiles, isExchangeFile, readExchanges, type Step } from './kit.ts';
import { fill } from './placeholders.ts';

const tables = loadTables(fileURLToPath(new URL('../../mappings', import.meta.url)));
const received_at = Date.parse('2026-01-31T17:10:37Z');
const names = {
  merchant: '700100200',
  intent: '3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77',
  token: 'the-token',
  now: new Date(received_at).toISOString(),
};

const exchanges = exchangeFiles().filter(isExchangeFile).flatMap(readExchanges);

const translated = tables.operations.filter((one) => one.request !== null);

describe.each(translated.map((one) => [one.name, one] as const))('%s', (name, operation) => {
  const own = exchanges.filter((one) => one.operation === name && isReadable(one));
  const sent = own.filter((one) => firstOwn(operation, one) !== undefined);
  it('has exchanges that reach the service', () => {
    expect(sent.length).toBeGreaterThan(0);
  });

  it.each(sent.map((one) => [one.title, one] as const))('%s', (_title, exchange) => {
    const step = firstOwn(operation, exchange) as Step; // these have one
    const told = explainOf(exchange, step);
    expect(told.refusal).toBeNull();
    expect([told.operation, told.upstream?.method]).toEqual([name, step.request.method]);
    const { 'x-idempotency-key': _key, ...headers } = step.request.headers ?? {};
    expect(told.upstream?.headers).toEqual(headers);
    expect(told.upstream?.query).toEqual(step.request.query ?? {});
    expect(told.losses.map((loss) => loss.path)).toEqual(exchange.losses);
    if (isWholeByAmount(operation, exchange, step)) return expect(told.notes).not.toEqual([]);
    expect(JSON.stringify(told.upstream?.body)).toBe(JSON.stringify(standIns(told, step.request.body)));
  });

  // The outcome of an intent is known to a live call only.
  const stateless = own.filter((one) => operation.kind !== 'intents' || one.given.length === 0);
  const refused = stateless.filter((one) => one.upstream.length === 0 && one.legacy_answer.status >= 400);
  it.runIf(refused.length > 0).each(refused.map((one) => [one.title, one] as const))('%s', (_title, exchange) => {
    const { refusal, notes } = explainOf(exchange, null);
    const { error, message } = exchange.legacy_answer.body as { error: string; message: string }; // every family's envelope
    if (ABOUT_THE_PATH.has(message)) return expect([refusal, notes]).toEqual([null, [expect.stringContaining('path')]]);
    expect(refusal).toEqual({ status: exchange.legacy_answer.status, error, message });
  });
});

/** Only a live call finds the owner of the token and the points of sale: a note says so. */
const ABOUT_THE_PATH = new Set([
  'Collector ID and Caller ID must be the same',
  'collector_id is not a number',
  'collectorId must be a number',
  'Point of sale not found',
]);

function explainOf(exchange: Exchange, step: Step | null): Explanation {
  const { merchant, legacy_request } = exchange;
  const { method, path, query = {}, headers = {}, text, body } = fill(legacy_request, names);
  const target = `${path}?${new URLSearchParams(query)}`;
  const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}`);
  const sent = text ?? (body === undefined ? '' : JSON.stringify(body));
  const said = (step?.request.body ?? {}) as { external_reference?: string }; // of a create
  const reference = said.external_reference?.startsWith('<') === false ? { reference: said.external_reference } : {};
  return explain(tables, [`${method} ${target} HTTP/1.1`, ...lines, '', sent].join('\n'), {
    received_at,
    site: merchant.site,
    ...(merchant.voucher === undefined ? {} : { voucher: merchant.voucher }),
    ...(merchant.cancel_on_terminal ? { cancelable_status: 'at_terminal' } : {}),
    ...reference,
  });
}

/** The golden body with the stand-ins for values that only a live call has. */
function standIns({ assumed }: Explanation, body: unknown): unknown {
  const { reference = '', external_pos_id, transaction_id } = assumed;
  const filled = fill(body, { ...names, reference, 'new reference': reference }) as Filled | undefined;
  const { config, transactions } = filled ?? {};
  if (external_pos_id !== undefined && config?.qr) config.qr.external_pos_id = external_pos_id;
  if (transaction_id !== undefined && Array.isArray(transactions)) transactions[0].id = transaction_id;
  return filled;
}

interface Filled {
  config?: { qr?: { external_pos_id: string } };
  transactions?: { id: string }[] | object;
}

/** Only the order shows that a partial refund is all that is left. */
function isWholeByAmount({ name }: Operation, { legacy_request }: Exchange, { request }: Step): boolean {
  const { amount } = (legacy_request.body ?? {}) as { amount?: unknown }; // of a refund
  return name === 'payments.create_refund' && amount !== undefined && request.body === undefined;
}

function firstOwn({ upstream }: Operation, exchange: Exchange): Step | undefined {
  if (upstream === null) return undefined;
  const { method, path } = upstreamRoutes[upstream];
  const wanted = path.replace(':order_id', '<order id>');
  return exchange.upstream.find(
    ({ to, request }) => to !== 'legacy' && request.method === method && request.path === wanted,
  );
}

/** The door refuses a body that is no JSON object. */
function isReadable({ legacy_request }: Exchange): boolean {
  const { text } = legacy_request;
  if (text === undefined) return true;
  try {
    return !Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
