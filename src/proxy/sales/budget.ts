/** A process-wide cap on retries, so that Puente never makes an outage worse (`reliability.md` P12). */

/** Retries may be a tenth of first attempts … */
const RETRY_RATIO = 0.1;
/** … plus a small stock, so that a quiet shop's single failure is still retried. */
const STOCK = 20;

export interface RetryBudget {
  /** A first attempt was made: earns a tenth of a retry. */
  earn(): void;
  /** True when a retry may be made now; takes it. */
  spend(): boolean;
}

export function createRetryBudget(): RetryBudget {
  let tokens = STOCK;
  return {
    earn() {
      tokens = Math.min(STOCK, tokens + RETRY_RATIO);
    },
    spend() {
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
