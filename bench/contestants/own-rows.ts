/** Puente's own rows of a sale, written by its own store as a create writes them; nothing in them is sealed. */
import { randomUUID } from 'node:crypto';
import { type Link, slotOf } from '../../src/proxy/sales/link.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { USER } from '../cases/requests.ts';
import type { Rows } from './translation.ts';

const MINUTE_MS = 60_000;

export async function openOwnRows(database: string): Promise<Rows> {
  const store = await openSqliteStore({ path: database, create: true, now: Date.now });
  const open = new Map<string, Link>();
  const boot_id = randomUUID();
  return {
    async open({ id, unit, reference, amount_minor, body }) {
      const now = Date.now();
      const link: Link = {
        legacy_id: id,
        merchant_id: USER,
        lane: 'orders',
        family: 'point',
        unit,
        slot: slotOf('point', unit),
        client_key: null,
        fingerprint: id,
        reference_sent: reference,
        client_reference: reference,
        held: { additional_info: { external_reference: reference, print_on_terminal: true } },
        amount_minor,
        merchant_order_id: null,
        sealed_notice_url: null,
        idempotency_key: id,
        sealed_body: Buffer.from(body),
        tables_revision: 'none',
        state: 'SENDING',
        attempts: 0,
        first_sent_at: now,
        boot_id,
        client_answer: 'none',
        order_id: null,
        order: null,
        order_version: null,
        payment_id: null,
        legacy_state: 'OPEN',
        legacy_state_at: now,
        cancel: null,
        acknowledged_at: null,
        known_by: null,
        expires_at: now + 15 * MINUTE_MS,
        next_check_at: now + MINUTE_MS,
        created_at: now,
        updated_at: now,
        revision: 1,
      };
      await store.links.openLink(link, () => ({ kind: 'open' }));
      open.set(id, link);
    },
    async settle(id, order) {
      const link = open.get(id);
      if (link === undefined) throw new Error('a sale that nobody has opened');
      open.delete(id);
      const known = { order_id: order.id, order, sealed_body: null, attempts: 1 };
      await store.links.saveLink(link, {
        ...known,
        state: 'LIVE',
        client_answer: 'maybe',
        next_check_at: link.expires_at,
      });
    },
  };
}
