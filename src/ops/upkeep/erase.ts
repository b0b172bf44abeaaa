/** Erases a merchant: counts its rows and open work, then deletes everything except the audit lines about it. */
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { OpenWork } from '../../proxy/records/upkeep.ts';
import { no_reason, reason } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { whatIsNear } from '../seen.ts';

/** The action of the audit line, whose subject is the merchant. */
export const ERASE = 'erase';

/** The body of `POST /api/merchants/:id/erase`. Without `apply` rows are only counted. */
export const eraseAsk = z.strictObject({
  apply: z.boolean().default(false).describe('erase; this can not be undone'),
  reason: reason.exactOptional().describe('why, for the audit trail; needed to apply'),
  drop_notices: z
    .boolean()
    .default(false)
    .describe('give up notices that were never delivered, which otherwise keep it from being erased'),
});

export type Erasure = Awaited<ReturnType<typeof eraseMerchant>>;

/**
 * Counts, and with `apply` erases. The audit lines stay: they say who decided what, and the chain must hold.
 * @throws PuenteError not_found without any row, bad_request without a reason, conflict while work is open.
 */
export async function eraseMerchant(ports: Ports, merchant_id: string, ask: z.infer<typeof eraseAsk>, who: string) {
  const { store, clock } = ports;
  const holdings = await store.upkeep.holdings(merchant_id);
  const merchant = await store.merchants.merchant(merchant_id);
  if (merchant === null && Object.values(holdings).every((rows) => rows === 0))
    throw new PuenteError('not_found', [
      say('refusal.nothing_held', { merchant: merchant_id }),
      ...(await whatIsNear(ports, merchant_id)),
    ]);
  const open = await store.upkeep.openWork(merchant_id);
  const obstacles = obstaclesOf(open, ask.drop_notices);
  const in_the_way = obstacles.map(({ text }) => text);
  const in_the_way_said = obstacles.map(({ said }) => said);
  const backupsNow = async (): Promise<string[]> => (await store.upkeep.backups()).map(({ file }) => file);
  const backups = await backupsNow();
  // Copies: an interface is no record of numbers, which the answer has.
  const rows = { holdings: { ...holdings }, open: { ...open } };
  const merchant_name = merchant?.settings.name ?? null;
  const counted = { merchant_id, merchant_name, erased: false, ...rows, in_the_way, in_the_way_said, backups };
  if (!ask.apply) return counted;
  const { reason } = ask;
  if (reason === undefined)
    throw new PuenteError('bad_request', say('input.at', { where: 'reason', wrong: no_reason }));
  if (obstacles.length > 0) throw new PuenteError('conflict', [say('refusal.not_erased', {}), ...obstacles]);
  await ports.evidence.settled();
  const gone = await ports.memory.mutex.run(`erase:${merchant_id}`, () =>
    store.upkeep.eraseMerchant(merchant_id, (erased) => ({
      at: clock.now(),
      who,
      action: ERASE,
      subject: merchant_id,
      reason,
      detail: { erased, notices_dropped: open.notices, backups_before: backups.length },
    })),
  );
  // A backup that was under way has ended by now, and contains the merchant too.
  return { ...counted, erased: true, holdings: { ...gone }, backups: await backupsNow() };
}

function obstaclesOf(open: OpenWork, drop_notices: boolean): Spoken[] {
  const held = { ...open, notices: drop_notices ? 0 : open.notices };
  return KINDS_OF_WORK.flatMap((kind) => (held[kind] > 0 ? [say(`held_back.${kind}`, { count: held[kind] })] : []));
}

/** In the order of the answer. */
const KINDS_OF_WORK = [
  'links',
  'refunds',
  'legacy_sales',
  'notices',
  'bulk_moves',
  'proposals',
] as const satisfies readonly (keyof OpenWork)[];
