/** Replaces the constant-time comparison by a fixed verdict, to show that it alone decides; times cannot show it. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

export function whenComparisonsSay<Value>(verdict: boolean, work: () => Value): Value {
  const comparison = crypto.timingSafeEqual;
  crypto.timingSafeEqual = () => verdict;
  // Makes modules that import the function by name see the replacement.
  syncBuiltinESMExports();
  try {
    return work();
  } finally {
    crypto.timingSafeEqual = comparison;
    syncBuiltinESMExports();
  }
}
