/** Marks the exchange at hand with a limitation that only the code at hand sees being met. */
import type { MarkedLimitation } from '../../mapping/limitations.ts';
import type { ExchangeDraft } from './exchange.ts';

/** Once for a call. Whether the mark counts is the entry's to say: its operations, and what else must hold (`evidence/limits.ts`). */
export function markLimitation(draft: Pick<ExchangeDraft, 'limitations'> | null, id: MarkedLimitation): void {
  if (draft !== null && !draft.limitations.includes(id)) draft.limitations.push(id);
}
