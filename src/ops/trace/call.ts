/** One call as it was kept: what the till was told, and while its merchant was captured, the four messages, redacted. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { Runtime } from '../../proxy/runtime.ts';

/** `messages`: the till's request and its answer, what went upstream and what came back; null unless they were captured. */
export type CallView = Omit<StoredExchange, 'at' | 'lost'> & {
  at: string;
  lost: { field: string; why: string; would_be: boolean }[];
};

/** @throws PuenteError not_found. */
export async function viewCall(runtime: Runtime, id: string): Promise<CallView> {
  const found = await runtime.store.exchange(id);
  if (found === null) throw new PuenteError('not_found', say('refusal.no_call', { id: id.slice(0, 40) }));
  const { at, lost, ...rest } = found;
  return {
    ...rest,
    at: new Date(at).toISOString(),
    lost: lost.map(({ path, why, would_be }) => ({ field: path, why, would_be })),
  };
}
