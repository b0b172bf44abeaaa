/** Reports a terminal that refuses a sale because something else than an open sale of Puente is queued on it. */
import type { Spoken } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import type { Ports } from '../ports.ts';
import { type Link, terminalOf } from '../sales/link.ts';
import { isReleased } from '../sales/settle.ts';
import { errorCode } from '../upstream/upstream.ts';

/** A Point order lasts three hours at most (`docs/field-notes.md` Spec Limits); a day is safely longer. */
const LONGEST_LIFE_MS = 86_400_000;
/** Sales of a merchant that are searched, newest first: a day of a busy shop. */
const MOST_SALES = 500;

/** True when a terminal's queue refused a create; upstream has two spellings (`docs/field-notes.md` Orders §1.6). */
export function isTerminalHeld(status: number, body: unknown): boolean {
  return status === 409 && errorCode(body)?.startsWith('already_queued_order') === true;
}

/**
 * Counts it, logs it and, once until a sale succeeds on the terminal, audits it. Upstream does not name what is queued.
 * Puente's rows may show an order that the till counts as terminal, or a legacy sale; anything else was made without
 * Puente: by another program, in upstream's panel, or as an unfinished print.
 * @param refused the refused sale; its row is REJECTED.
 * @throws PuenteError store_failed.
 */
export async function reportHeldTerminal(ports: Ports, refused: Link): Promise<void> {
  const { merchant_id, unit, legacy_id } = refused;
  const holder = await holderOf(ports, refused);
  const { kind, sale } = holder;
  ports.count('held_terminals', kind);
  ports.log.warn('a terminal is occupied by something else than an open sale', {
    legacy_id,
    merchant: merchant_id,
    unit,
    cause: kind,
    ...(sale === null ? {} : { holder: sale }),
  });
  const { held_terminals: known } = ports.memory.sales;
  const terminal = terminalOf(refused);
  if (known.get(terminal) === kind) return;
  known.set(terminal, kind);
  await ports.store.audit.appendAudit({
    at: ports.clock.now(),
    who: 'puente',
    action: 'terminal held',
    subject: legacy_id,
    reason: encoded(reasonOf(holder)),
    detail: { merchant: merchant_id, unit, held_by: kind },
  });
}

function reasonOf({ kind, sale }: Holder): Spoken {
  if (kind === 'foreign') return say('held_terminal.foreign', {});
  return say(`held_terminal.${kind}`, { sale });
}

type Holder = { kind: 'late_order' | 'legacy_sale'; sale: string } | { kind: 'foreign'; sale: null };

async function holderOf(ports: Ports, { merchant_id, slot, legacy_id }: Link): Promise<Holder> {
  const { store, clock } = ports;
  const now = clock.now();
  const mine = await store.history.linksOf(merchant_id, now - LONGEST_LIFE_MS, now + 1, MOST_SALES);
  const earlier = mine.filter((link) => link.slot === slot && link.legacy_id !== legacy_id);
  const late = earlier.find((link) => link.state === 'LOST' || isReleased(ports, link));
  if (late !== undefined) return { kind: 'late_order', sale: late.legacy_id };
  // The end of this legacy sale was not observed: its intent may still be queued.
  const legacy = slot === null ? null : await store.legacy_sales.heldByLegacy(merchant_id, slot, now - LONGEST_LIFE_MS);
  if (legacy !== null) return { kind: 'legacy_sale', sale: legacy.legacy_id ?? legacy.id };
  return { kind: 'foreign', sale: null };
}
