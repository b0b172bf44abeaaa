/** Shared by the tests of order transitions: a time, the rules of a merchant, and a link with an order. */
import { join } from 'node:path';
import { loadTables } from '../../../src/mapping/load.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import type { AdvanceRules } from '../../../src/proxy/sales/order-transition.ts';
import { newLink } from '../../store/contract/harness.ts';

export const tables = loadTables(join(import.meta.dirname, '../../..', 'mappings'));
export const BORN = Date.parse('2026-03-01T12:00:00Z');
export const MINUTE_MS = 60_000;
export const rules: AdvanceRules = {
  now: BORN + MINUTE_MS,
  declined: 'error',
  action_required_grace_ms: MINUTE_MS,
  released: false,
  default_lifetime_ms: 15 * MINUTE_MS,
  exponent: 2,
};

export function liveLink(changes: Partial<Link> = {}): Link {
  return newLink({
    reference_sent: 'sale-1',
    client_reference: 'Pedido 1',
    held: { additional_info: { external_reference: 'Pedido 1' } },
    state: 'LIVE',
    attempts: 1,
    first_sent_at: BORN,
    client_answer: 'maybe',
    legacy_state_at: BORN,
    expires_at: BORN + 15 * MINUTE_MS,
    next_check_at: null,
    created_at: BORN,
    updated_at: BORN,
    ...changes,
  });
}
