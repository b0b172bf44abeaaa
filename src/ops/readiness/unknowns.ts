/** What no table knows, and what the shadow has said: two lists for operators, by merchant. */
import { z } from 'zod';
import type { UnknownRow, VerdictRow } from '../../proxy/records/evidence.ts';
import { merchantId } from './differences.ts';
import type { EvidenceSource } from './source.ts';

/** The query of `GET /api/unknowns` and `GET /api/verdicts`. */
export const byMerchant = z.strictObject({ merchant: merchantId.exactOptional() });
export type ByMerchant = z.infer<typeof byMerchant>;

export type UnknownView = Omit<UnknownRow, 'first_at' | 'last_at'> & { first_at: string; last_at: string };
export type VerdictView = Omit<VerdictRow, 'last_at'> & { last_at: string };

/** Endpoints, fields and headers that no table knows, the most frequent first. */
export async function viewUnknowns({ store }: EvidenceSource, { merchant }: ByMerchant): Promise<UnknownView[]> {
  const rows = await store.unknowns(merchant);
  return rows
    .toSorted((one, other) => other.count - one.count)
    .map((row) => ({ ...row, first_at: isoOf(row.first_at), last_at: isoOf(row.last_at) }));
}

/** Verdicts on would-be orders: refusals first, the most frequent first. */
export async function viewVerdicts({ store }: EvidenceSource, { merchant }: ByMerchant): Promise<VerdictView[]> {
  const rows = await store.verdicts(merchant);
  const rank = ({ verdict }: VerdictRow): number => (verdict === 'accepted' ? 1 : 0);
  return rows
    .toSorted((one, other) => rank(one) - rank(other) || other.count - one.count)
    .map((row) => ({ ...row, last_at: isoOf(row.last_at) }));
}

function isoOf(instant_ms: number): string {
  return new Date(instant_ms).toISOString();
}
