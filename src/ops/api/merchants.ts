/** Merchants on the ops door: who there is, and what is set for each. */
import { z } from 'zod';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import { changeMerchant, merchantChange, viewMerchant, viewMerchants } from '../merchants/operate.ts';
import { type OpsRoute, opsRoute } from './route.ts';

/** A merchant as operators see it; no secret, and of a URL only where it goes. */
export const merchantView = z.looseObject({
  id: z.string(),
  site: z.string().nullable(),
  revision: z.int().describe('The precondition of the next change; 0 for a merchant that nobody has seen yet.'),
  updated_at: z.iso.datetime().nullable(),
  in_force: z
    .record(z.enum(routedKinds), z.looseObject({ stage: z.enum(stages), intended: z.enum(stages), share: z.number() }))
    .describe('Where new work of each kind goes now, and where the operator wants it.'),
  settings: z.record(z.string(), z.object({ value: z.unknown(), from: z.enum(['merchant', 'default']) })),
  notice_secret: z.enum(['set', 'not set']),
  credential: z.enum(['set', 'not set']),
});

export const merchantRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/merchants',
    role: 'viewer',
    summary: 'Every merchant seen or set so far.',
    answer: z.object({ merchants: z.array(merchantView) }),
    command: 'merchants list',
    run: async ({ runtime }) => ({ merchants: await viewMerchants(runtime) }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/merchants/:id',
    role: 'viewer',
    summary: 'One merchant, with where each setting comes from.',
    answer: merchantView,
    command: 'merchants show',
    run: ({ runtime }, { path }) => viewMerchant(runtime, path.id ?? ''),
  }),
  opsRoute({
    method: 'PUT',
    path: '/api/merchants/:id',
    role: 'operator',
    summary: 'Changes settings of a merchant; null goes back to the default.',
    body: merchantChange,
    answer: merchantView,
    command: 'merchants set',
    run: ({ runtime, checkUrl }, { path, body, person }) =>
      changeMerchant(runtime, path.id ?? '', body, person.name, checkUrl),
  }),
];
