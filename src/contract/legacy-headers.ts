/** Request headers that mean something on a legacy call of any family; keys are lower-case. */
import { z } from 'zod';

/** `legacy-point.md` §1, header table; `legacy-qr.md` §1.1. */
export const legacyHeaders = z.object({
  'x-platform-id': z.string().optional(),
  'x-integrator-id': z.string().optional(),
  'x-corporation-id': z.string().optional(),
  'x-product-id': z.string().optional(),
  'x-tracking-id': z.string().optional(),
  'x-test-scope': z.string().optional(),
  'x-idempotency-key': z.string().optional(),
  'x-ttl-store-preference': z.string().optional(),
});
