/** Puts a verdict in the place of the constant-time comparison, to see that it alone decides: no time of an answer shows that. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { vi } from 'vitest';

/** Runs `work` with every comparison ending in `verdict`. */
export function whenComparisonsSay<Value>(verdict: boolean, work: () => Value): Value {
  const comparison = vi.spyOn(crypto, 'timingSafeEqual').mockReturnValue(verdict);
  // Those who have imported it by its name see the change only so.
  syncBuiltinESMExports();
  try {
    return work();
  } finally {
    comparison.mockRestore();
    syncBuiltinESMExports();
  }
}
