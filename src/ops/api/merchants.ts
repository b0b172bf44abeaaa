/** Merchants on the ops API: list them, show and change their settings, erase them. */
import { z } from 'zod';
import { say } from '../../locales/message.ts';
import { said } from '../fields.ts';
import {
  changedMerchant,
  changeMerchant,
  importAnswer,
  importAsk,
  importNames,
  merchantAnswer,
  merchantChange,
  merchantsQuery,
  viewMerchant,
  viewMerchants,
} from '../merchants.ts';
import { merchant_name, unseenFields, unseenIn } from '../seen.ts';
import { eraseAsk, eraseMerchant } from '../upkeep/erase.ts';
import { opsRoute } from './route.ts';

const rows = z.record(z.string(), z.int());

export const merchantRoutes = [
  opsRoute('viewer', 'GET /api/merchants', {
    summary: 'Every merchant seen or set so far.',
    query: merchantsQuery,
    answer: z.object({ merchants: z.array(merchantAnswer) }),
    command: 'merchants list',
    run: async ({ ports }, { query }) => ({ merchants: await viewMerchants(ports, query) }),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id', {
    summary: 'One merchant, with where each setting comes from.',
    answer: merchantAnswer.extend(unseenFields),
    command: 'merchants show',
    run: async ({ ports }, { path }) => ({
      ...(await viewMerchant(ports, path.id)),
      ...(await unseenIn(ports, path.id)),
    }),
  }),
  opsRoute('operator', 'PUT /api/merchants/:id', {
    summary:
      'Changes settings of a merchant; null goes back to the default. A value that is set already is not written again.',
    body: merchantChange,
    answer: changedMerchant,
    command: 'merchants set',
    run: ({ ports, checkUrl }, { path, body, person }) => changeMerchant(ports, path.id, body, person.name, checkUrl),
  }),
  opsRoute('operator', 'POST /api/merchants/import', {
    summary: 'Sets names and tags of many merchants; a dry run shows what would change.',
    body: importAsk,
    answer: importAnswer,
    command: 'merchants import',
    run: ({ ports }, { body, person }) => importNames(ports, body, person.name),
  }),
  opsRoute('approver', 'POST /api/merchants/:id/erase', {
    role_note: say('role_note.erase', {}),
    summary:
      'Counts everything of a merchant, and deletes it with `apply`; refused while its work is open. Audit lines stay.',
    body: eraseAsk,
    answer: z.object({
      merchant_id: z.string(),
      merchant_name,
      erased: z.boolean(),
      holdings: rows.describe('Rows there are; after an erase, rows that were deleted.'),
      open: rows,
      in_the_way: z.array(z.string()),
      in_the_way_said: z.array(said),
      backups: z.array(z.string()).describe('Earlier backups, which still contain it.'),
    }),
    command: 'erase',
    run: ({ ports }, { path, body, person }) => eraseMerchant(ports, path.id, body, person.name),
  }),
];
