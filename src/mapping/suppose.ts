/** What `puente explain` knows of a call without a store and a service: what the request itself says, and stand-ins for the rest. */
import { askedAmount } from './asked-amount.ts';
import type { LoadedTables } from './assemble.ts';
import { rowsOf } from './row.ts';
import type { WrittenTable } from './schema.ts';
import type { MappingContext, Operation } from './tables.ts';

export interface Supposed {
  /** Everything that the request's table may ask for. */
  context: MappingContext;
  /** What only a live call knows, and what stood in for it. */
  assumed: Record<string, string>;
}

/** Of a call that was found: what a story reads of it. */
export interface Asked {
  operation: Operation;
  path: Record<string, string>;
  body: unknown;
}

/** Stand-ins for what the store, the merchant's settings and the service give a live call. */
const STAND_INS: MappingContext = {
  site: 'MLA',
  reference: 'pnt0',
  order_id: `ORD${'0'.repeat(26)}`,
  voucher: 'refuse',
  external_pos_id: 'POS0',
};
/** The payment inside the order; only a part of it is refunded by its id. */
const TRANSACTION_ID = `PAY${'0'.repeat(26)}`;

/**
 * @param given what is known of the merchant and the call; it counts more than what is derived here.
 * @throws PuenteError refused, as the story does, for a refund of an amount that is none.
 */
export function suppose(tables: LoadedTables, asked: Asked, given: MappingContext): Supposed {
  const table = tables.documents.tables.find((one) => one.table === asked.operation.request);
  const wanted = table ? keysOf(table) : new Set<string>();
  const { external_pos_id } = asked.path;
  const said: MappingContext = { ...(external_pos_id === undefined ? {} : { external_pos_id }), ...given };
  const stood = Object.entries(STAND_INS).filter(([key]) => wanted.has(key) && said[key] === undefined);
  const known: MappingContext = { ...Object.fromEntries(stood), ...said };
  const { currency, exponent } = tables.site(typeof known.site === 'string' ? known.site : null);
  const part = wanted.has('refund_minor') ? partOf(asked.body, exponent, given) : null;
  if (part?.transaction_id !== undefined && given.transaction_id === undefined)
    stood.push(['transaction_id', part.transaction_id]);
  return {
    context: { currency, exponent, mode: modeOf(asked.operation), ...part, ...known },
    assumed: Object.fromEntries(stood.map(([key, value]) => [key, String(value)])),
  };
}

/** Keys that the table looks at; a policy or a row of a site asks for it without naming it. */
function keysOf(table: WrittenTable): Set<string> {
  const rows = rowsOf(table.table, table.rows);
  const keys = new Set(rows.filter((row) => row.verb === 'context').map((row) => String(row.from[0])));
  if (typeof table.unknown === 'object' || rows.some((row) => row.sites !== null)) keys.add('site').add('voucher');
  return keys;
}

/** How the code shows follows from the path and its method (`orders-api.md` §7.2). */
function modeOf({ method, path }: Operation): string {
  if (!path.endsWith('/qrs')) return 'static';
  return method === 'POST' ? 'dynamic' : 'hybrid';
}

/** Null for a refund of all that is left. */
function partOf(body: unknown, exponent: number, given: MappingContext): MappingContext | null {
  const { amount } = (body ?? {}) as { amount?: unknown }; // any JSON; its table has the last word
  const refund_minor = askedAmount(amount, exponent);
  return refund_minor === null ? null : { refund_minor, transaction_id: given.transaction_id ?? TRANSACTION_ID };
}
