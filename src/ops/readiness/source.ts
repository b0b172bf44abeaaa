/** What views of evidence are made from: a running Puente, or a file that `puente assess` has read. */
import type { Tables } from '../../mapping/tables.ts';
import type { EvidenceReader } from '../../proxy/records/evidence.ts';

/** A `Runtime` is one. */
export interface EvidenceSource {
  store: EvidenceReader & {
    /** Null for a merchant of whom nothing is known. */
    merchant(id: string): Promise<{ site: string | null } | null>;
  };
  tables: Tables;
  /** Epoch ms. */
  clock: { now(): number };
}
