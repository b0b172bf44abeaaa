import type { Ports } from '../ports.ts';
import type { Refund } from '../records/refunds.ts';
import { credentialOf } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { sumsOf } from '../sales/order-transition.ts';
import { changeLink } from '../sales/settle.ts';
import { isOpen } from './refund-decisions.ts';
import { lookAtOrder } from './refund-recovery.ts';

/** The call that asks for a refund looks by itself; this is for the time when it is surely over. */
const FIRST_LOOK_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** What an order doesn't show by then it never will, and reads of the payment still tell it. */
const GIVEN_UP_AFTER_MS = 24 * 60 * 60_000;

/** Before a refund is written down: its order is looked at later, whatever becomes of this call and this process. */
export async function expectRefund(ports: Ports, link: Link): Promise<void> {
  await changeLink(ports, link, () => ({ change: { next_check_at: ports.clock.now() + FIRST_LOOK_MS } }));
}

/** Looks at the order of a link that is over, until it shows what was refunded. The caller holds the link's serial. */
export async function lookAfterRefunds(ports: Ports, link: Link): Promise<void> {
  const token = await credentialOf(ports, link.merchant_id);
  const { exponent } = ports.tables.site((await ports.store.merchants.merchant(link.merchant_id))?.site ?? null);
  const deadline = ports.clock.now() + ports.settings.create.deadline_ms;
  const isDue = (await unseenRefunds(ports, link, exponent)).length > 0;
  const seen =
    isDue && token !== null ? await lookAtOrder(ports, link, { token, exponent, deadline }) : { link, order: null };
  const left = isDue ? await unseenRefunds(ports, seen.link, exponent) : [];
  const age_ms = ports.clock.now() - Math.max(...left.map(({ created_at }) => created_at));
  // Its age alone may be a clock that was set forward, and what is in doubt holds its payment.
  const isOver = age_ms >= GIVEN_UP_AFTER_MS && seen.order !== null && !left.some(isOpen);
  const next_check_at = left.length === 0 || isOver ? null : ports.clock.now() + pauseAfter(age_ms);
  await changeLink(ports, seen.link, () => ({ change: { next_check_at } }));
}

/** Refunds without an outcome, and those that were made and don't show yet. */
async function unseenRefunds(ports: Ports, link: Link, exponent: number): Promise<Refund[]> {
  const { refunded_minor } = sumsOf(link.order, link.amount_minor, exponent);
  const isShown = (one: Refund): boolean => refunded_minor >= one.refunded_before_minor + (one.refunded_minor ?? 0);
  return (await ports.store.refunds.refunds(link.legacy_id)).filter(
    (one) => isOpen(one) || (one.state === 'DONE' && !isShown(one)),
  );
}

/** Ever less often; a clock that was set back makes none longer. */
function pauseAfter(age_ms: number): number {
  return Math.min(Math.max(FIRST_LOOK_MS, age_ms / 4), LONGEST_PAUSE_MS);
}
