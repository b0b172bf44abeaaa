/** Exchanges as a capture file, page by page: a million of them stay within bounded memory. */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import type { ExchangeFilter } from '../../proxy/records/evidence.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { type CaptureMerchant, endLine, exchangeLine, headerLine } from './format.ts';

const instant = z.iso
  .datetime({ offset: true, error: 'an instant such as 2026-01-31T09:00:00Z is needed' })
  .transform((text) => Date.parse(text));

/** The query of `GET /api/exchanges`; `captured=true` leaves out exchanges of which no messages were kept. */
export const exchangesQuery = z.strictObject({
  merchant: z.string().regex(USER_ID, "the vendor's user id is needed, digits only").exactOptional(),
  since: instant.exactOptional(),
  until: instant.exactOptional(),
  captured: z
    .enum(['true', 'false'])
    .default('false')
    .transform((word) => word === 'true'),
});

/** Read together; below a megabyte, messages and all. */
const PAGE = 200;

/** A header, the exchanges in the order in which they were recorded, and the line that tells that these are all. */
export async function* exchangeLines(
  runtime: Runtime,
  { merchant, since, until, captured }: z.infer<typeof exchangesQuery>,
): AsyncGenerator<string, void, undefined> {
  const filter: ExchangeFilter = {
    ...(merchant === undefined ? {} : { merchant_id: merchant }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(captured ? { captured } : {}),
  };
  await runtime.evidence.settled();
  // What comes while this is written belongs to the next export.
  const last = await runtime.store.lastExchange();
  yield headerLine(runtime.clock.now(), runtime.tables.revision, await merchantsOf(runtime, merchant));
  let exchanges = 0;
  for (let after = 0; after < last; ) {
    const page = await runtime.store.exchanges(filter, after, PAGE);
    const wanted = page.filter(({ sequence }) => sequence <= last);
    yield wanted.map(exchangeLine).join('');
    exchanges += wanted.length;
    after = page.length < PAGE ? last : (page.at(-1)?.sequence ?? last);
  }
  yield endLine(exchanges);
}

async function merchantsOf(runtime: Runtime, only: string | undefined): Promise<Record<string, CaptureMerchant>> {
  const { store, settings } = runtime;
  const all = only === undefined ? await store.merchants() : [await store.merchant(only)];
  return Object.fromEntries(
    all.flatMap((merchant) => {
      if (merchant === null) return [];
      const voucher = merchant.settings.voucher ?? settings.merchants.voucher;
      const declined = merchant.settings.declined ?? settings.merchants.declined;
      return [[merchant.id, { site: merchant.site, voucher, declined }] as const];
    }),
  );
}
