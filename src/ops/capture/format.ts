/** The capture file: JSON lines with a header, one exchange per line, and an end line that shows it is complete. */
import { z } from 'zod';
import { parseJson, stringifyJson } from '../../contract/json.ts';
import { type Exchange, outcomes, shadowVerdicts } from '../../proxy/evidence/exchange.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import { stages } from '../../proxy/routing/merchant.ts';
import { defined, exchangePages, instant, iso, lane, listLimit, type Whose, whose } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { isOf, namedOf, ofEach, onlyOf } from '../whose.ts';

/** Increased when an older reader could misread a file. */
export const CAPTURE_VERSION = 1;

/** The settings of a merchant that the tables need, when the capture was exported. */
const captureMerchant = z.object({
  site: z.string().nullable(),
  voucher: z.enum(['refuse', 'drop']),
  declined: z.enum(['error', 'finished']),
});
export type CaptureMerchant = z.infer<typeof captureMerchant>;

export const captureHeader = z.looseObject({
  puente_capture: z.int(),
  merchants: z.record(z.string(), captureMerchant).default({}),
});

/** @param made_at epoch ms. @param merchants by id. */
export function headerLine(
  made_at: number,
  tables_revision: string,
  merchants: Readonly<Record<string, CaptureMerchant>>,
): string {
  const made = iso(made_at);
  return `${stringifyJson({ puente_capture: CAPTURE_VERSION, made_at: made, tables_revision, merchants })}\n`;
}

/** The fields of `exchangeShape`, with redacted messages where they were captured. */
export function exchangeLine(exchange: Exchange | StoredExchange): string {
  const kept = Object.entries(exchange).filter(([name]) => Object.hasOwn(exchangeShape, name));
  return `${stringifyJson(Object.fromEntries(kept))}\n`;
}

/** A file without this line was cut off. */
export function endLine(exchanges: number): string {
  return `${stringifyJson({ puente_capture_end: exchanges })}\n`;
}

/** @throws SyntaxError when the line is not JSON; ZodError when it is not an exchange. */
export function exchangeOfLine(text: string): Exchange {
  return exchangeSchema.parse(parseJson(text)) as Exchange; // messages without a body leave the field out
}

const loss = z.object({ table: z.string(), path: z.string(), why: z.string(), unknown: z.boolean().optional() });
const headers = z.record(z.string(), z.string());
/** The redacted messages of one call. */
export const capturedMessages = z.object({
  request: z.object({ method: z.string(), target: z.string(), headers, body: z.unknown().optional() }),
  answer: z.object({ status: z.int(), headers, body: z.unknown().optional() }),
  upstream: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      body: z.unknown().optional(),
      status: z.int().nullable(),
      answer: z.unknown().optional(),
    }),
  ),
});
/** `parseJson` keeps fractions as source text; this makes them numbers. */
const milliseconds = z.unknown().transform(Number).pipe(z.number().nonnegative());
const shadow = z.object({
  verdict: z.enum(shadowVerdicts),
  status: z.int().nullable(),
  code: z.string().nullable(),
  error: z.string().nullable(),
  detail: z.string().nullable(),
  cause: z.object({ by: z.string(), error: z.string().nullable(), names: z.string() }).nullable().exactOptional(),
  order: z.unknown().optional(),
  fired: z.array(z.string()),
  losses: z.array(loss),
  took_ms: milliseconds,
});

const exchangeShape = {
  id: z.string().min(1).max(64),
  at: z.int(),
  merchant_id: z.string().nullable(),
  operation: z.string().nullable(),
  kind: z.enum(['devices', 'intents', 'qr', 'payments']).nullable(),
  lane,
  stage: z.enum(stages),
  unit: z.string().nullable(),
  legacy_id: z.string().nullable(),
  status: z.int(),
  error: z.string().nullable(),
  outcome: z.enum(outcomes),
  duration_ms: milliseconds,
  tables_revision: z.string(),
  upstream: z.array(
    z.object({ name: z.string(), status: z.int().nullable(), code: z.string().nullable(), duration_ms: milliseconds }),
  ),
  fired: z.array(z.string()),
  losses: z.array(loss),
  unknown: z.array(z.object({ what: z.enum(['endpoint', 'field', 'header']), name: z.string() })),
  /** Absent in captures of older builds. */
  limitations: z
    .array(z.string())
    .nullish()
    .transform((met) => met ?? []),
  shadow: shadow.nullable(),
  messages: capturedMessages.nullable(),
} as const;
const exchangeSchema = z.object(exchangeShape);

/** The query of `GET /api/exchanges`; `captured=true` leaves out exchanges without stored messages. */
export const exchangesQuery = z.strictObject({
  merchant: whose.exactOptional(),
  since: instant.exactOptional().describe('of calls made then or later, such as 2026-01-31T09:00:00Z'),
  until: instant.exactOptional().describe('of calls made before then'),
  captured: z
    .enum(['true', 'false'])
    .default('false')
    .transform((word) => word === 'true')
    .describe('only those whose messages were kept'),
});

/** Exchanges per read: below 1 MB with their messages. */
const PAGE = 200;

/** The header, the exchanges in the order of recording, and the end line. */
export async function* exchangeLines(
  ports: Ports,
  { merchant, since, until, captured }: z.infer<typeof exchangesQuery>,
): AsyncGenerator<string, void, undefined> {
  const filter = defined({ merchant_id: onlyOf(merchant), since, until, captured: captured || undefined });
  const isMeant = isOf(merchant);
  await ports.evidence.settled();
  const pages = await exchangePages(ports.store.exchanges, filter, PAGE);
  yield headerLine(ports.clock.now(), ports.tables.revision, await merchantsOf(ports, merchant));
  let exchanges = 0;
  for await (const page of pages) {
    const own = page.filter(({ merchant_id }) => isMeant(merchant_id));
    yield own.map(exchangeLine).join('');
    exchanges += own.length;
  }
  yield endLine(exchanges);
}

async function merchantsOf(ports: Ports, wanted: Whose | undefined): Promise<Record<string, CaptureMerchant>> {
  const { store, settings } = ports;
  const only = onlyOf(wanted);
  const all = only === undefined ? await store.merchants.merchants() : [await store.merchants.merchant(only)];
  const isMeant = isOf(wanted);
  return Object.fromEntries(
    all.flatMap((merchant) => {
      if (merchant === null || !isMeant(merchant.id)) return [];
      const voucher = merchant.settings.voucher ?? settings.merchants.voucher;
      const declined = merchant.settings.declined ?? settings.merchants.declined;
      return [[merchant.id, { site: merchant.site, voucher, declined }] as const];
    }),
  );
}

// The newest captured calls, to choose one from.

const MOST_CALLS = 100;
/** Exchanges that are looked through, back from the newest: captured ones are rare among others. */
const LOOKED_THROUGH = 20_000;

export const capturedQuery = z.strictObject({
  merchant: whose.exactOptional(),
  limit: listLimit(20, MOST_CALLS).describe('at most so many'),
});

/**
 * The newest calls with stored messages, newest first; only the last `LOOKED_THROUGH` exchanges are looked through.
 * Their `answers` are upstream's statuses, null for a call without an answer. @throws PuenteError as `refuseUnseenRead`.
 */
export async function viewCaptured(
  ports: Ports,
  { merchant, limit }: z.infer<typeof capturedQuery>,
  signal: AbortSignal | null = null,
) {
  await ports.evidence.settled();
  const { exchanges } = ports.store;
  const from = Math.max(0, (await exchanges.lastExchange()) - LOOKED_THROUGH);
  const newestOf = async (merchant_id?: string): Promise<StoredExchange[]> => {
    let newest: StoredExchange[] = [];
    for (let after = from; ; ) {
      const page = await exchanges.exchanges(defined({ merchant_id, captured: true }), after, PAGE);
      newest = [...newest, ...page].slice(-limit);
      after = page.at(-1)?.sequence ?? after;
      if (page.length < PAGE) return newest.toReversed();
    }
  };
  const found = await ofEach(merchant, newestOf, signal, { limit, newest: ({ sequence }) => sequence });
  const calls = found.map(({ id, at, merchant_id, operation, lane, status, messages }) => {
    return {
      id,
      at: iso(at),
      merchant_id,
      operation,
      lane,
      status,
      answers: messages?.upstream.map((one) => one.status) ?? [],
    };
  });
  return { calls: await namedOf(ports, merchant, calls) };
}
