/** Erasing a merchant on the ops door: counted first, then gone. */
import { z } from 'zod';
import { say } from '../../locales/sentences.ts';
import { eraseAsk, eraseMerchant } from '../upkeep/erase.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

const rows = z.record(z.string(), z.int());

export const eraseRoutes: OpsRoute[] = [
  opsRoute({
    method: 'POST',
    path: '/api/merchants/:id/erase',
    role: 'approver',
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
    run: ({ runtime }, { path, body, person }) => eraseMerchant(runtime, path.id ?? '', body, person.name),
  }),
];
