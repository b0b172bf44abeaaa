/** What a legacy call would be translated with: the sources and the context that a live call hands to its request table. */

import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import { stringifyJson } from '../../contract/json.ts';
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';
import type { LegacyRequest, MappingContext, Operation, Tables } from '../../mapping/tables.ts';
import type { ShadowTask } from '../runtime.ts';
import { derivedReference, fitsUpstream } from '../sales/reference.ts';

export interface Asked {
  operation: Operation;
  source: LegacyRequest;
  context: MappingContext;
}

/** Stands in for the external id of a till that is named by its number, which only the service knows. */
const SOME_TILL = 'POS0';

/** The operation of a task; null when these tables do not have it, which may be older or newer than its exchange. */
export function knownOperation(tables: Tables, { exchange }: ShadowTask): Operation | null {
  return tables.operations.find((one) => one.name === exchange.operation) ?? null;
}

/** The operation of a task. @throws PuenteError not_found, when these tables do not have it. */
function operationOf(tables: Tables, task: ShadowTask): Operation {
  const { exchange } = task;
  const operation = knownOperation(tables, task);
  if (operation === null)
    throw new PuenteError('not_found', `The tables have no operation '${exchange.operation ?? ''}' to shadow.`);
  return operation;
}

/** True when the operation makes an order, so that a shadow of it can be computed. */
export function makesOrder(operation: Operation): boolean {
  return operation.upstream === 'create' && operation.request !== null;
}

/** As the stories of creates make it. What only the store or the service knows has a stand-in of the same form. */
export function askedOf(tables: Tables, task: ShadowTask): Asked {
  const operation = operationOf(tables, task);
  const { currency, exponent } = tables.site(task.site);
  const { path, query, headers, body } = task.request;
  const context: MappingContext = { site: task.site ?? undefined, exponent, voucher: task.voucher };
  const source: LegacyRequest = { path, query, headers, body };
  if (!makesOrder(operation)) return { operation, source, context };
  Object.assign(context, { reference: referenceFor(operation, task) });
  if (operation.kind === 'qr') {
    const external_pos_id = path.external_pos_id ?? SOME_TILL;
    Object.assign(context, { external_pos_id, mode: modeOf(operation), received_at: task.exchange.at, currency });
  }
  return { operation, source, context };
}

/** What the story of a QR sale refuses before any table: a path that is not the caller's, or names no till (`legacy-qr.md` §1.2). */
export function pathRefusal(
  { family, kind }: Operation,
  { exchange, request }: ShadowTask,
): { error: LegacyErrorName; detail: string } | null {
  if (kind !== 'qr') return null;
  const { user_id, external_pos_id } = request.path;
  if (user_id !== undefined && !USER_ID.test(user_id)) return { error: 'invalid_collector', detail: '' };
  if (user_id !== undefined && exchange.merchant_id !== null && user_id !== exchange.merchant_id)
    return { error: 'foreign_collector', detail: '' };
  if (external_pos_id === undefined || EXTERNAL_ID.test(external_pos_id)) return null;
  return family === 'qr_v1'
    ? { error: 'pos_not_found', detail: '' }
    : { error: 'invalid_property', detail: 'external_pos_id' };
}

/** The till's own where it fits; whether it was used before, only the store knows. */
function referenceFor({ kind }: Operation, { exchange, request }: ShadowTask): string {
  const body = record(request.body);
  const said = kind === 'qr' ? body.external_reference : record(body.additional_info).external_reference;
  // QR tills write numbers too, whose text is the reference.
  const text = kind === 'qr' && said !== undefined && typeof said !== 'string' ? stringifyJson(said) : said;
  return typeof text === 'string' && fitsUpstream(text) ? text : derivedReference(exchange.id);
}

/** How the code shows, by the story (`orders-api.md` §7.2). */
function modeOf({ story }: Operation): 'static' | 'dynamic' | 'hybrid' {
  if (story === 'create_dynamic_code') return 'dynamic';
  return story === 'create_hybrid_code' ? 'hybrid' : 'static';
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>) : {}; // an object, keys unknown
}
