/** Tables on the ops API: which are in force, and what they make of one message. */
import { z } from 'zod';
import { explain } from '../../mapping/explain.ts';
import { explainedKinds } from '../../mapping/explain-input.ts';
import type { Explanation } from '../../mapping/explanation.ts';
import { noticeTopics } from '../../mapping/schema.ts';
import { merchantId, said } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { tablesView, viewTables } from '../tables.ts';
import { opsRoute } from './route.ts';

/** A legacy request is below 8 KiB, an order with its payments too. */
const LONGEST_MESSAGE = 32_768;

const explainBody = z.strictObject({
  text: z.string().min(1).max(LONGEST_MESSAGE).describe('HTTP as text, or JSON'),
  as: z.enum(explainedKinds).exactOptional().describe('what it is, where its form does not say it'),
  operation: z.string().min(1).max(100).exactOptional().describe('the call that it answers'),
  status: z.int().exactOptional().describe('of upstream, where the text has none'),
  merchant: merchantId.exactOptional().describe('with its tables, site and settings'),
  site: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .exactOptional(),
});

const call = z.object({
  method: z.string(),
  path: z.string(),
  query: z.record(z.string(), z.string()),
  headers: z.record(z.string(), z.string()),
  body: z.unknown(),
});
const fired = z.object({ row: z.string(), says: z.string(), said, why: z.string() });

export const explanationView = z.object({
  kind: z.enum(explainedKinds),
  revision: z.string().describe('of the tables that explain it'),
  operation: z.string().nullable().describe('null: a request that is proxied unchanged, or a notice'),
  upstream: call.nullable().describe('what a request becomes'),
  answer: z.object({ status: z.int(), body: z.unknown() }).nullable().describe('what the till gets'),
  notices: z.array(z.object({ topic: z.enum(noticeTopics), body: z.unknown() })),
  fired: z.array(fired),
  losses: z.array(z.object({ table: z.string(), path: z.string(), why: z.string() })),
  refusal: z.object({ status: z.int(), error: z.string(), message: z.string() }).nullable(),
  refused_by: z.object({ row: z.string(), why: z.string() }).nullable(),
  assumed: z.record(z.string(), z.string()).describe('what only a live call knows'),
  notes: z.array(z.string()),
  notes_said: z.array(said),
});

export const tableRoutes = [
  opsRoute('viewer', 'GET /api/tables', {
    summary: 'The tables in force: their revision, rows of your own, and the merchants with tables of their own.',
    answer: tablesView,
    command: 'tables',
    run: async ({ ports, installation }) => viewTables(ports, installation.mappings_folder),
  }),
  opsRoute('viewer', 'POST /api/explain', {
    summary: 'What the tables make of one message, row by row; nothing is sent or stored.',
    body: explainBody,
    answer: explanationView,
    command: 'explain',
    run: ({ ports }, { body }) => explained(ports, body),
  }),
];

async function explained(ports: Ports, ask: z.infer<typeof explainBody>): Promise<Omit<Explanation, 'text'>> {
  const merchant = ask.merchant === undefined ? null : await ports.store.merchants.merchant(ask.merchant);
  const { voucher, declined } = { ...ports.settings.merchants, ...settingsOfItsOwn(merchant?.settings) };
  const site = ask.site ?? merchant?.site ?? undefined;
  const given = { voucher, declined, received_at: ports.clock.now(), ...(site === undefined ? {} : { site }) };
  const { text: _text, ...found } = explain(ports.tables.of(ask.merchant ?? null), ask.text, given, {
    kind: ask.as ?? null,
    operation: ask.operation ?? null,
    status: ask.status ?? null,
  });
  return found;
}

/** Without those that are as for all merchants. */
function settingsOfItsOwn(settings: object | undefined): Partial<Record<'voucher' | 'declined', string>> {
  return Object.fromEntries(Object.entries(settings ?? {}).filter(([, value]) => value !== null));
}
