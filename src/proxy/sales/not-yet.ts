/** What upstream can not do yet: sent again with the same key for as long as the till waits, then told as worth another try. */
import { notYetErrors } from '../../contract/upstream.ts';
import type { Ports } from '../ports.ts';
import { errorCode, type UpstreamOutcome } from '../upstream/upstream.ts';

/** Money that was just paid is settled 1 to 5 s later, as clients have measured it; twice as long after each try. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 2_000;
/** So much of the till's time is left for what follows the last try: a read of the order, and the answer. */
const RESERVE_MS = 500;

/** True for a refusal that passes by itself: nothing was done, and the same call works later. */
export function isNotYet(status: number, code: string | null): boolean {
  return notYetErrors.some(
    ([its_status, its_code]) => status === its_status && (its_code === null || code === its_code),
  );
}

/** The same of an outcome. */
export function saysNotYet(outcome: UpstreamOutcome): boolean {
  return outcome.kind === 'answered' && isNotYet(outcome.status, errorCode(outcome.body));
}

/**
 * Sends, and sends again while upstream says that it can't do it yet. Each repeat is paid for by the process-wide budget.
 * @param deadline epoch ms at which the till has to be answered.
 * @param send one try, with the same key and bytes each time.
 * @returns the outcome of the last try.
 */
export async function sendUntilReady(
  ports: Ports,
  deadline: number,
  send: () => Promise<UpstreamOutcome>,
): Promise<UpstreamOutcome> {
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS)) {
    const outcome = await send();
    if (outcome.kind !== 'answered' || !saysNotYet(outcome)) return outcome;
    const wait_ms = Math.max(outcome.retry_after_ms ?? 0, pause_ms);
    const isLate = ports.clock.now() + wait_ms + RESERVE_MS > deadline;
    if (isLate || !ports.memory.retries.spend()) return outcome;
    await ports.clock.sleep(wait_ms);
  }
}
