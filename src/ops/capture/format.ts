/** The capture file: JSON lines, a header first, one exchange a line, and a last line that tells that nothing is missing. */

import { z } from 'zod';
import { parseJson, stringifyJson } from '../../contract/json.ts';
import { type Exchange, outcomes, shadowVerdicts } from '../../proxy/evidence/exchange.ts';
import type { ExchangeFilter, StoredExchange } from '../../proxy/records/evidence.ts';
import { stages } from '../../proxy/routing/merchant.ts';
import { exchangePages, instant, iso, lane, merchantId } from '../fields.ts';
import type { Ports } from '../ports.ts';

/** Rises when an older reader could misunderstand a file. */
export const CAPTURE_VERSION = 1;

/** What the tables ask of a merchant, as it was when the capture was made. */
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

/** The facts of an exchange and, where they were captured, its redacted messages; what was counted of it is left out. */
export function exchangeLine(exchange: Exchange | StoredExchange): string {
  const kept = Object.entries(exchange).filter(([name]) => Object.hasOwn(exchangeShape, name));
  return `${stringifyJson(Object.fromEntries(kept))}\n`;
}

/** Without it a file was cut: an export that broke off must not look whole. */
export function endLine(exchanges: number): string {
  return `${stringifyJson({ puente_capture_end: exchanges })}\n`;
}

/**
 * A line of a capture.
 * @throws SyntaxError for what is no JSON; ZodError for what is no exchange.
 */
export function exchangeOfLine(text: string): Exchange {
  return exchangeSchema.parse(parseJson(text)) as Exchange; // messages without a body say so by leaving it out
}

const loss = z.object({ table: z.string(), path: z.string(), why: z.string(), unknown: z.boolean().optional() });
const headers = z.record(z.string(), z.string());
/** What was said in one call, redacted. */
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
/** Times have fractions, which the parser keeps as they were written. */
const milliseconds = z.unknown().transform(Number).pipe(z.number().nonnegative());
const shadow = z.object({
  verdict: z.enum(shadowVerdicts),
  status: z.int().nullable(),
  code: z.string().nullable(),
  error: z.string().nullable(),
  detail: z.string().nullable(),
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
  /** Files of builds that counted none have none. */
  limitations: z
    .array(z.string())
    .nullish()
    .transform((met) => met ?? []),
  shadow: shadow.nullable(),
  messages: capturedMessages.nullable(),
} as const;
const exchangeSchema = z.object(exchangeShape);

/** The query of `GET /api/exchanges`; `captured=true` leaves out exchanges of which no messages were kept. */
export const exchangesQuery = z.strictObject({
  merchant: merchantId.exactOptional().describe('of this merchant alone'),
  since: instant.exactOptional().describe('of calls that came then or later, such as 2026-01-31T09:00:00Z'),
  until: instant.exactOptional().describe('of calls that came before then'),
  captured: z
    .enum(['true', 'false'])
    .default('false')
    .transform((word) => word === 'true')
    .describe('only those whose messages were kept'),
});

/** Read together; below a megabyte, messages and all. */
const PAGE = 200;

/** A header, the exchanges in the order in which they were recorded, and the line that tells that these are all. */
export async function* exchangeLines(
  ports: Ports,
  { merchant, since, until, captured }: z.infer<typeof exchangesQuery>,
): AsyncGenerator<string, void, undefined> {
  const filter: ExchangeFilter = {
    ...(merchant === undefined ? {} : { merchant_id: merchant }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(captured ? { captured } : {}),
  };
  await ports.evidence.settled();
  const pages = await exchangePages(ports.store.exchanges, filter, PAGE);
  yield headerLine(ports.clock.now(), ports.tables.revision, await merchantsOf(ports, merchant));
  let exchanges = 0;
  for await (const page of pages) {
    yield page.map(exchangeLine).join('');
    exchanges += page.length;
  }
  yield endLine(exchanges);
}

async function merchantsOf(ports: Ports, only: string | undefined): Promise<Record<string, CaptureMerchant>> {
  const { store, settings } = ports;
  const all = only === undefined ? await store.merchants.merchants() : [await store.merchants.merchant(only)];
  return Object.fromEntries(
    all.flatMap((merchant) => {
      if (merchant === null) return [];
      const voucher = merchant.settings.voucher ?? settings.merchants.voucher;
      const declined = merchant.settings.declined ?? settings.merchants.declined;
      return [[merchant.id, { site: merchant.site, voucher, declined }] as const];
    }),
  );
}
