/** Prepares the engine for an exchange: the links that exist before it, and the translation of its request. */
import { parseJson, stringifyJson } from '../../src/contract/json.ts';
import type { MappingContext, Operation, Tables, Translated } from '../../src/mapping/tables.ts';
import type { News } from '../../src/proxy/notices/request.ts';
import { referenceOf } from '../../src/proxy/qr/held-body.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { derivedReference, fitsUpstream } from '../../src/proxy/sales/new-link.ts';
import { type AskedOrder, ended, isSale, orderOf, qrOrderOf } from './given.ts';
import type { Exchange, Given, GivenSale, Step } from './kit.ts';
import { apply, type CreateBody, hold, holdSale, type Judge, MERCHANT, newLink } from './link.ts';
import { fill, type Names } from './placeholders.ts';

export const QR_CREATES = new Set([
  'create_preference',
  'create_store_order',
  'create_dynamic_code',
  'create_hybrid_code',
]);

export interface Run extends Judge {
  operation: Operation;
  exchange: Exchange;
  names: Names;
  /** The link that the exchange is about: the last given one, or the new one. */
  link: Link;
  given: Link[];
  context: MappingContext;
  told: News[];
}

export function prepare(tables: Tables, operation: Operation, exchange: Exchange): Run {
  const { site, declined = 'error', voucher = 'refuse' } = exchange.merchant;
  const now = Date.now();
  const names: Names = {
    merchant: MERCHANT,
    now: new Date(now).toISOString(),
    notices: 'https://till.example/notices',
    puente: 'https://puente.example',
  };
  const { exponent } = tables.site(site);
  const rules = {
    now,
    declined,
    action_required_grace_ms: 60_000,
    released: false,
    default_lifetime_ms: 900_000,
    exponent,
  };
  const context = { site, exponent, voucher };
  const run: Run = { tables, operation, exchange, names, rules, link: newLink(1), given: [], context, told: [] };
  exchange.given.forEach((given, index) => {
    const link = giveLink(run, given, index + 1);
    run.given.push(link);
    run.link = link;
    for (const [name, value] of Object.entries(namesOf(link))) names[`${name} ${index + 1}`] = value;
  });
  Object.assign(names, namesOf(run.link));
  if (run.given.length > 0 && QR_CREATES.has(operation.story)) {
    run.link = newLink(run.given.length + 1);
  }
  for (const [name, value] of Object.entries(namesOf(run.link))) names[`new ${name}`] = value;
  names['created at'] = '2026-01-31 17:10:37';
  names['created on'] = '2026-01-31T17:10:37Z';
  return run;
}

function namesOf(link: Link): Names {
  return {
    intent: link.legacy_id,
    'order id': link.order_id ?? '',
    reference: link.reference_sent,
    preference: `${link.merchant_id}-${link.legacy_id}`,
    ...(link.merchant_order_id === null ? {} : { 'merchant order': String(link.merchant_order_id) }),
    ...(link.payment_id === null ? {} : { payment: link.payment_id }),
  };
}

/** The link of a given intent or sale, as the whole app stores it. */
function giveLink(run: Run, given: Given, number: number): Link {
  const link = newLink(number);
  const facts = { order_id: link.order_id ?? '', merchant: MERCHANT, reference: link.reference_sent };
  let order: Record<string, unknown>;
  if (isSale(given)) {
    const { sale } = given;
    const asked = askedBy(run, sale, link);
    holdSale(link, fill(sale.body, run.names), asked, run.rules.exponent);
    order = fill(qrOrderOf(given, facts, asked), run.names);
  } else {
    hold(link, given.device, given.body);
    order = orderOf(given, facts);
  }
  apply(run, link, order);
  if (given.ends) apply(run, link, fill(ended(order, given), { ...run.names, ...namesOf(link) }));
  return link;
}

function askedBy(run: Run, sale: GivenSale['sale'], link: Link): AskedOrder {
  const path = fill(sale.path, run.names);
  const operation = run.tables.operations.find((one) => one.method === sale.method && fits(one.path, path));
  if (!operation) throw new Error(`${run.exchange.title}: ${sale.method} ${path} is no operation`);
  const source = {
    path: pathValues(operation.path, path),
    query: {},
    headers: lowerCase(sale.headers ?? {}),
    body: exact(fill(sale.body, run.names)),
  };
  const till = sale.external_pos_id ?? source.path.external_pos_id ?? '';
  const { value } = run.tables.request(operation, source, {
    ...run.context,
    ...saleRequestContext(run, operation, till),
    reference: link.reference_sent,
  });
  return value.body as AskedOrder; // its target schema was checked
}

/** The context that QR creates pass to the request table (`proxy/qr/create.ts`). */
function saleRequestContext(
  { tables, exchange, rules }: Run,
  { story, method }: Operation,
  external_pos_id: string,
): MappingContext {
  const ownCode = method === 'POST' ? 'dynamic' : 'hybrid';
  const { currency } = tables.site(exchange.merchant.site);
  return {
    external_pos_id,
    mode: story.endsWith('_code') ? ownCode : 'static',
    received_at: rules.now,
    currency,
  };
}

/** @param step contains the reference: one that Puente derived, or the client's. */
export function translate(run: Run, step: Step | null): Translated {
  const { exchange, operation, names, link } = run;
  const { legacy_request } = exchange;
  const path = pathValues(operation.path, fill(legacy_request.path, names));
  const body = bodyOf(run) as CreateBody & Record<string, unknown>; // only read
  const said = QR_CREATES.has(operation.story) ? referenceOf(body ?? {}) : body?.additional_info?.external_reference;
  const isOurs = step === null || asksReference(step) || typeof said !== 'string' || !fitsUpstream(said);
  if (operation.story === 'create_intent' && body !== undefined) hold(link, path.device_id ?? '', body);
  const source = { path, query: legacy_request.query ?? {}, headers: lowerCase(legacy_request.headers ?? {}), body };
  const reference = isOurs ? derivedReference(link.legacy_id) : said;
  const translated = run.tables.request(operation, source, {
    ...run.context,
    ...(QR_CREATES.has(operation.story) ? saleRequestContext(run, operation, tillOf(run, path)) : {}),
    reference,
    ...(link.order_id === null ? {} : { order_id: link.order_id }),
    ...(exchange.merchant.cancel_on_terminal ? { cancelable_status: 'at_terminal' } : {}),
  });
  if (QR_CREATES.has(operation.story)) {
    const asked = translated.value.body as AskedOrder; // its target schema was checked
    holdSale(link, body, asked, run.rules.exponent);
  }
  return translated;
}

/** The body as the door parses it: numbers of more digits than a double holds keep their text. */
function bodyOf({ operation, exchange, names }: Run): unknown {
  if (operation.body === 'dropped') return undefined;
  const { body, text } = exchange.legacy_request;
  if (text !== undefined) return parseJson(fill(text, names));
  return body === undefined ? undefined : exact(fill(body, names));
}

function exact(body: unknown): unknown {
  return parseJson(stringifyJson(body));
}

/** The external id in the path, or in the answer to the lookup of the internal number. */
function tillOf({ exchange }: Run, path: Record<string, string>): string {
  if (path.external_pos_id !== undefined) return path.external_pos_id;
  const found = exchange.upstream.find((step) => step.request.path.startsWith('/pos/'))?.answer?.body;
  return String((found as { external_id?: unknown } | undefined)?.external_id ?? '');
}

function asksReference(step: Step): boolean {
  const { external_reference } = (step.request.body ?? {}) as { external_reference?: unknown }; // a golden create
  return external_reference === '<reference>' || external_reference === '<new reference>';
}

function fits(pattern: string, path: string): boolean {
  const parts = path.split('/');
  const wanted = pattern.split('/');
  return wanted.length === parts.length && wanted.every((part, index) => part.startsWith(':') || part === parts[index]);
}

function pathValues(pattern: string, path: string): Record<string, string> {
  const parts = path.split('/');
  const pairs = pattern
    .split('/')
    .flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), parts[index]]] : []));
  return Object.fromEntries(pairs);
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
