/** Forgetting a merchant: what there is, what is still open, and then everything but the decisions about it. */

import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { reason, SAY_WHY } from './reason.ts';
import type { Holdings, OpenWork } from './records/upkeep.ts';
import type { Runtime } from './runtime.ts';

/** The action of the audit line, whose subject is the merchant. */
export const ERASE = 'erase';

/** The body of `POST /api/merchants/:id/erase`. Without `apply` it is only counted. */
export const eraseAsk = z.strictObject({
  apply: z.boolean().default(false),
  reason: reason.exactOptional(),
  /** Give up notices that were never delivered; without it they keep the merchant from being erased. */
  drop_notices: z.boolean().default(false),
});
export type EraseAsk = z.infer<typeof eraseAsk>;

export interface Erasure {
  merchant_id: string;
  erased: boolean;
  /** Rows that there are, or were. */
  holdings: Holdings;
  open: OpenWork;
  /** What keeps it from being erased, in sentences; empty when nothing does. */
  in_the_way: string[];
  /** Backups of before, which hold it still. */
  backups: string[];
}

/**
 * Counts, and with `apply` erases. The audit lines stay: they say who decided what, and the chain must hold.
 * @throws PuenteError not_found for a merchant of whom there is nothing, bad_request without a reason, conflict while work
 * is open.
 */
export async function eraseMerchant(
  runtime: Runtime,
  merchant_id: string,
  ask: EraseAsk,
  who: string,
): Promise<Erasure> {
  const { store, clock } = runtime;
  const holdings = await store.holdings(merchant_id);
  const is_known = (await store.merchant(merchant_id)) !== null;
  if (!is_known && Object.values(holdings).every((rows) => rows === 0))
    throw new PuenteError('not_found', `There is nothing of a merchant ${merchant_id} here.`);
  const open = await store.openWork(merchant_id);
  const in_the_way = obstacles(open, ask.drop_notices);
  const backupsNow = async (): Promise<string[]> => (await store.backups()).map(({ file }) => file);
  const backups = await backupsNow();
  const counted: Erasure = { merchant_id, erased: false, holdings, open, in_the_way, backups };
  if (!ask.apply) return counted;
  const { reason } = ask;
  if (reason === undefined) throw new PuenteError('bad_request', `reason: ${SAY_WHY}`);
  if (in_the_way.length > 0) throw new PuenteError('conflict', `Nothing was erased. ${in_the_way.join(' ')}`);
  await runtime.evidence.settled();
  const gone = await runtime.serial.run(`erase:${merchant_id}`, () =>
    store.eraseMerchant(merchant_id, (erased) => ({
      at: clock.now(),
      who,
      action: ERASE,
      subject: merchant_id,
      reason,
      detail: { erased, notices_dropped: open.notices, backups_before: backups.length },
    })),
  );
  // One that was under way has ended by now, and holds it too.
  return { ...counted, erased: true, holdings: gone, backups: await backupsNow() };
}

function obstacles(open: OpenWork, drop_notices: boolean): string[] {
  const told: [number, string][] = [
    [open.links, 'sales on orders are open: wait until they are paid or over; `puente reconcile` shows them'],
    [open.refunds, 'refunds are under way: wait for their end'],
    [open.legacy_sales, 'sales on legacy hold their units: wait until they are over'],
    [
      drop_notices ? 0 : open.notices,
      'notices are not delivered: set its notice URL, or give them up with --drop-notices',
    ],
    [
      open.bulk_moves,
      'bulk moves have it waiting for its turn: wait for their end, or abort them with `puente bulk abort`',
    ],
    [open.proposals, 'moves wait for a second person: have them approved, declined or withdrawn'],
  ];
  return told.filter(([rows]) => rows > 0).map(([rows, what]) => `${rows} ${what}.`);
}
