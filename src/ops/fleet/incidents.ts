/** The newest incident of each merchant: what Puente noticed or did by itself, read from the audit chain as it grows. */
import { INTENT_ID } from '../../contract/identifiers.ts';
import type { AuditLine, Store } from '../../proxy/store.ts';
import { BY_ITSELF } from '../api/person.ts';
import { lastBefore } from '../report/decisions.ts';
import { ERASE } from '../upkeep/erase.ts';
import { type Incident, whyOf } from './line.ts';

const LOOKED_BACK_MS = 30 * 86_400_000;
const PAGE = 500;

export interface NewestIncidents {
  of(merchant_id: string): Incident | null;
  /** Reads what was written since. */
  update(now: number): Promise<void>;
}

export function createIncidents(store: Store): NewestIncidents {
  const newest = new Map<string, Incident>();
  let after: number | null = null;
  return {
    of: (merchant_id) => newest.get(merchant_id) ?? null,
    async update(now) {
      after ??= await lastBefore(store, now - LOOKED_BACK_MS);
      for (;;) {
        const page = await store.auditsAfter(after, PAGE);
        for (const line of page) {
          const { at, action, reason } = line;
          // Whichever process erased it: nothing of it is remembered, and who comes back under its id begins anew.
          if (action === ERASE) newest.delete(line.subject);
          if (line.who !== BY_ITSELF) continue;
          const owner = await ownerOf(store, line);
          if (owner !== null) newest.set(owner, { at: new Date(at).toISOString(), what: action, ...whyOf(reason) });
        }
        after = page.at(-1)?.sequence ?? after;
        if (page.length < PAGE) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** The merchant that a line is about, or whose sale it is about. */
async function ownerOf(store: Store, { subject, detail }: AuditLine): Promise<string | null> {
  if (typeof detail.merchant === 'string') return detail.merchant;
  return INTENT_ID.test(subject) ? ((await store.link(subject))?.merchant_id ?? null) : subject;
}
