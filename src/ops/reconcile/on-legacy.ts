/** The sales on legacy that keep a merchant from being complete: legacy is asked which of them have ended. */

import { PuenteError } from '../../error.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import { endByFinalState, type FinalState, mayShowFinalState } from '../../proxy/routing/legacy-sale-end.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { credentialOf } from '../../proxy/routing/merchant-identity.ts';
import { paceUpstream } from '../../proxy/upstream/client.ts';
import type { Upstream } from '../../proxy/upstream/upstream.ts';
import type { Secret } from '../../proxy/vault.ts';
import type { Ports } from '../ports.ts';
import { isAllOnOrders } from '../readiness/legacy-use.ts';
import { knownMerchants, merchantOf } from '../seen.ts';

/** Legacy's documented limit for reads of intents (`docs/field-notes.md` Point §1.4). */
const READS_PER_SECOND = 1;
const SECOND_MS = 1_000;
/** Asked about per merchant: some minutes at that rate. */
const MOST_ASKED = 200;
/** Open sales counted per merchant. */
const MOST_OPEN = 10_000;
/** A legacy that leaves so many merchants in a row unanswered is not asked any more. */
const MOST_UNANSWERED = 3;

export interface OnLegacy {
  /** Sales on legacy that are not known to have ended, of merchants that `endOnLegacy` is about. */
  open_on_legacy: number;
  /** About how many legacy was asked, and answered. */
  asked_on_legacy: number;
  /** How many of them were ended, because legacy showed a final state. */
  ended_on_legacy: number;
  /** Open ones whose end legacy could show, and did not say: no token, no answer, or too many for one run. */
  not_asked: number;
}

/**
 * Counts the open sales on legacy of merchants whose new work is all on orders, or of the one named; with `apply` legacy
 * is asked about them first. Otherwise only the next create of a unit asks, and the last sale of an idle one would keep
 * the merchant from being complete for weeks. Where legacy has new work it is left to that, and to the tills' rate.
 * Yields after each question.
 */
export async function* endOnLegacy(
  ports: Ports,
  { merchant, apply }: { merchant?: string; apply: boolean },
  tally: OnLegacy,
): AsyncGenerator<void> {
  const paced: Ports = { ...ports, upstreams: { ...ports.upstreams, legacy: pacedLegacy(ports) } };
  const isMeant = (one: Merchant): boolean => merchant !== undefined || isAllOnOrders(ports.settings, one);
  const merchants = merchant === undefined ? await knownMerchants(ports) : [await merchantOf(ports, merchant)];
  let unanswered = 0;
  for (const { id } of merchants.filter(isMeant)) {
    const open = await ports.store.legacy_sales.openLegacySales(id, ports.clock.now(), MOST_OPEN);
    const askable = apply ? open.filter(mayShowFinalState) : [];
    tally.open_on_legacy += open.length;
    tally.not_asked += askable.length;
    const token = askable.length === 0 || unanswered >= MOST_UNANSWERED ? null : await tokenFor(ports, id);
    if (token === null) continue;
    for (const sale of askable.slice(0, MOST_ASKED)) {
      const found = await ask(paced, sale, token);
      unanswered = found === 'unanswered' ? unanswered + 1 : 0;
      if (found === 'unanswered' || found === 'refused') break;
      if (found !== 'failed') tally.not_asked--;
      if (found === 'ended') tally.ended_on_legacy++;
      if (found === 'ended' || found === 'over') tally.open_on_legacy--;
      tally.asked_on_legacy++;
      yield;
    }
  }
}

/** One pace for all runs of a process, and of all processes on the store: two at once ask no more often than one. */
const paces = new WeakMap<Upstream, Upstream>();

function pacedLegacy({ upstreams: { legacy }, clock, store }: Ports): Upstream {
  const inTurn: Upstream = {
    async send(call) {
      const wait_ms = await store.legacy_sales.turnToAsk(SECOND_MS / READS_PER_SECOND);
      if (wait_ms > 0) await clock.sleep(wait_ms);
      return legacy.send(call);
    },
  };
  const paced = paces.get(legacy) ?? paceUpstream(inTurn, READS_PER_SECOND, clock);
  paces.set(legacy, paced);
  return paced;
}

/** Null without a token, or with one that can't be read: one merchant does not end the run of all. */
async function tokenFor(ports: Ports, merchant_id: string): Promise<Secret | null> {
  try {
    return await credentialOf(ports, merchant_id);
  } catch (error) {
    return failed(ports, error, { merchant: merchant_id }, null);
  }
}

async function ask(ports: Ports, sale: LegacySale, token: Secret): Promise<FinalState | 'failed'> {
  try {
    return await endByFinalState(ports, sale, token);
  } catch (error) {
    return failed(ports, error, { legacy_id: String(sale.legacy_id), merchant: sale.merchant_id }, 'failed');
  }
}

function failed<Found>(ports: Ports, error: unknown, about: Record<string, string>, found: Found): Found {
  if (!(error instanceof PuenteError)) throw error;
  ports.log.error('legacy could not be asked about a sale', { ...about, cause: error.message });
  return found;
}
