/** Replaces the constant-time comparison by a fixed verdict, to show that it alone decides; times cannot show it. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { vi } from 'vitest';

export function whenComparisonsSay<Value>(verdict: boolean, work: () => Value): Value {
  const comparison = vi.spyOn(crypto, 'timingSafeEqual').mockReturnValue(verdict);
  // Makes modules that import the function by name see the spy.
  syncBuiltinESMExports();
  try {
    return work();
  } finally {
    comparison.mockRestore();
    syncBuiltinESMExports();
  }
}
