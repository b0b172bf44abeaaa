/** Merchants on the ops door: who there is, and what is set for each. */
import { z } from 'zod';
import { say } from '../../locales/message.ts';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import { changeMerchant, merchantChange, viewMerchant, viewMerchants } from '../merchants.ts';
import { eraseAsk, eraseMerchant } from '../upkeep/erase.ts';
import { said } from './errors.ts';
import { type OpsRoute, opsRoute } from './router.ts';

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
  opsRoute('viewer', 'GET /api/merchants', {
    summary: 'Every merchant seen or set so far.',
    answer: z.object({ merchants: z.array(merchantView) }),
    command: 'merchants list',
    run: async ({ ports }) => ({ merchants: await viewMerchants(ports) }),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id', {
    summary: 'One merchant, with where each setting comes from.',
    answer: merchantView,
    command: 'merchants show',
    run: ({ ports }, { path }) => viewMerchant(ports, path.id ?? ''),
  }),
  opsRoute('operator', 'PUT /api/merchants/:id', {
    summary: 'Changes settings of a merchant; null goes back to the default.',
    body: merchantChange,
    answer: merchantView,
    command: 'merchants set',
    run: ({ ports, checkUrl }, { path, body, person }) =>
      changeMerchant(ports, path.id ?? '', body, person.name, checkUrl),
  }),
];

// Erasing a merchant on the ops door: counted first, then gone.

const rows = z.record(z.string(), z.int());

export const eraseRoutes: OpsRoute[] = [
  opsRoute('approver', 'POST /api/merchants/:id/erase', {
    role_note: say('role_note.erase', {}),
    summary:
      'Counts everything of a merchant, and deletes it with `apply`; refused while its work is open. Audit lines stay.',
    body: eraseAsk,
    answer: z.object({
      merchant_id: z.string(),
      erased: z.boolean(),
      holdings: rows.describe('Rows there are; after an erase, rows that are gone.'),
      open: rows,
      in_the_way: z.array(z.string()),
      in_the_way_said: z.array(said),
      backups: z.array(z.string()).describe('Backups of before, which hold it still.'),
    }),
    command: 'erase',
    run: ({ ports }, { path, body, person }) => eraseMerchant(ports, path.id ?? '', body, person.name),
  }),
];
