/** The grammar of the table files. */
import { z } from 'zod';
import { families } from '../contract/legacy-errors.ts';
import type { WrittenLimitation } from './limitations.ts';
import { policies, why, writtenRow } from './row.ts';

const name = z.string().regex(/^[a-z][a-z0-9_.]*$/);
const family = z.enum(families);
const unknownKeys = z.union([z.enum(policies), z.record(z.string(), z.enum(policies))]);

export const fieldTable = z.strictObject({
  table: name,
  family,
  /** Roles without an operation: headers, the Point notice, a payment of an order, its names in a collection. */
  role: z.enum(['headers', 'notice', 'payment', 'collection']).optional(),
  from: z.string(),
  to: z.string(),
  source: z.string().min(4),
  /** The policy for keys that the source schema doesn't name: one, or one by site with `elsewhere`. */
  unknown: unknownKeys.optional(),
  rows: z.array(writtenRow).min(1),
});
export type WrittenTable = z.infer<typeof fieldTable>;

/** The number of a row once rows of one's own are laid over a table; missing: its place, counted from 1. */
export interface Numbered {
  number?: string | undefined;
}

/** @param index its place in the list, from 0. */
export function numberOf({ number }: Numbered, index: number): string {
  return number ?? String(index + 1);
}

/** Topics of the notices of a change: the Point notice, or those of IPN (`docs/field-notes.md` QR §5.1). */
export const noticeTopics = ['point', 'payment', 'merchant_order'] as const;
export type NoticeTopic = (typeof noticeTopics)[number];

/** From order statuses to a family's own states. */
export const statesTable = z.strictObject({
  table: name,
  family,
  role: z.literal('states'),
  source: z.string().min(4),
  rows: z.array(
    z.strictObject({
      status: z.string(),
      /** The row applies only with this status_detail; a row without one comes after it. */
      detail: z.string().optional(),
      /** One state, or one for each policy on declined payments. */
      shows: z.union([z.string(), z.strictObject({ error: z.string(), finished: z.string() })]),
      rank: z.int().positive(),
      final: z.boolean(),
      /** In the order of sending. */
      notices: z.array(z.enum(noticeTopics)),
      /** The state shown for a held state once it can't change any more; rows without it are not held. */
      settled: z.string().optional(),
      why,
    }),
  ),
  /** Legacy states that no order status produces. */
  never: z.array(z.strictObject({ shows: z.string(), why })),
});
type StatesFile = z.infer<typeof statesTable>;
export type WrittenStates = Omit<StatesFile, 'rows'> & { rows: (StatesFile['rows'][number] & Numbered)[] };

const errorRow = z.strictObject({
  /** Missing in the default row. `4xx` and `5xx` are every status of the class; both count as defaults too. */
  status: z.union([z.int().min(400).max(599), z.enum(['4xx', '5xx'])]).optional(),
  /** Missing: any code. Empty: the one documented answer without a code. */
  code: z.string().optional(),
  /** The row applies only when the upstream text contains this. */
  says: z.string().optional(),
  /** The row applies only when the upstream text names this legacy property, or none. */
  property: z.string().optional(),
  error: z.string(),
  /** Converter that fills the `{}` of the message; when it finds nothing the next row is tried. */
  with: z.string().optional(),
  why,
});
export type WrittenErrorRow = z.infer<typeof errorRow> & Numbered;

/** From upstream errors to legacy errors: rows by call, then rows for every call, the last one the default. */
export const errorsTable = z.strictObject({
  table: name,
  family,
  role: z.literal('errors'),
  source: z.string().min(4),
  calls: z.record(z.string(), z.array(errorRow).min(1)),
  any: z.array(errorRow).min(1),
});
export type WrittenErrors = Omit<z.infer<typeof errorsTable>, 'calls' | 'any'> & {
  calls: Record<string, WrittenErrorRow[]>;
  any: WrittenErrorRow[];
};

export const operationsFile = z.strictObject({
  operations: z.array(
    z.strictObject({
      name,
      method: z.enum(['GET', 'POST', 'PATCH', 'PUT', 'DELETE']),
      /** Express path with named parameters, e.g. `/point/integration-api/devices/:device_id/payment-intents`. */
      path: z.string().startsWith('/'),
      /** The family with its errors and envelope. */
      family,
      /** The kind by which merchants are moved (`docs/glossary.md` Stage). */
      kind: z.enum(['devices', 'intents', 'qr', 'payments']),
      /** The story in `proxy` that runs it. */
      story: name,
      /** The upstream call that it becomes. */
      upstream: z.string().nullable(),
      /** Further calls of its story, as `GET /v1/orders/:order_id`; `legacy GET …` for calls of the legacy API. */
      asks: z.array(z.string().regex(/^(?:legacy )?(?:GET|POST) \/\S+$/)).default([]),
      /** Table names; null where the call has no translated request or answer. */
      request: name.nullable(),
      answer: name.nullable(),
      /** `json`: required; `optional`: may be missing; `dropped`: ignored (`docs/architecture.md` Decision 12). */
      body: z.enum(['json', 'optional', 'dropped']),
      /** In shadow it is read on both sides, and the answers are compared. */
      double_read: z.boolean().default(false),
      source: z.string().min(4),
      why,
    }),
  ),
  /** Documented writes that make no sale, which legacy answers on every stage of a merchant. */
  proxied: z
    .array(
      z.strictObject({
        method: z.enum(['POST', 'PATCH', 'PUT', 'DELETE']),
        path: z.string().startsWith('/'),
        source: z.string().min(4),
        why,
      }),
    )
    .default([]),
});
type WrittenProxied = z.infer<typeof operationsFile>['proxied'][number];
export type WrittenOperation = z.infer<typeof operationsFile>['operations'][number];

export const sitesFile = z.strictObject({
  sites: z.array(
    z.strictObject({
      /** `other` is every site not named here, and a merchant whose site is not known yet. */
      id: z.string().regex(/^(?:M[A-Z]{2}|other)$/),
      currency: z.string().length(3),
      exponent: z.int().min(0).max(3),
      why,
    }),
  ),
});
export type WrittenSite = z.infer<typeof sitesFile>['sites'][number];

export interface Documents {
  revision: string;
  operations: WrittenOperation[];
  proxied: WrittenProxied[];
  sites: WrittenSite[];
  limitations: WrittenLimitation[];
  tables: Filed<WrittenTable>[];
  states: Filed<WrittenStates>[];
  errors: Filed<WrittenErrors>[];
}

/** A written table and its file, relative to the directory; `shipped`: the file below one that is laid over it. */
export type Filed<Written> = Written & { file: string; shipped?: string };
