/** What the legacy API remembers beside the shared world: intents, refund intents, integrators, notification settings. */

import type { IntentState } from '../../contract/legacy-point.ts';
import type { Merchant, Terminal } from '../cast.ts';
import type { Timer } from '../clock.ts';
import type { Payment } from '../records.ts';
import type { FeedAccount, Postman } from '../webhooks.ts';
import type { World } from '../world.ts';

export interface PaymentIntent extends TerminalWork {
  /** Minor units. */
  amount_minor: number;
  /** Kept as sent; missing where the site does not know them. */
  description: string | undefined;
  preference: PaymentPreference | undefined;
  additional_info: unknown;
  /** Where the create is remembered in `keyed_creates`; null for one without an idempotency key. */
  create_key: string | null;
  /** Null until a card was read; set without `paid` when the outcome must be read on the terminal. */
  payment_id: number | null;
  paid: Payment | null;
}

/** `payment` of a create: what the till would like to be paid with (MLB only, `docs/field-notes.md` Point §1.3). */
export interface PaymentPreference {
  type?: string | undefined;
  installments?: number | undefined;
  installments_cost?: string | undefined;
  voucher_type?: string | undefined;
}

export interface RefundIntent extends TerminalWork {
  payment: Payment;
  /** As sent, text or number. */
  payment_id: unknown;
  additional_info: unknown;
}

interface Integrator {
  created_at_ms: number;
  updated_at_ms: number;
  event_channel_devices: string[];
}

type NoticeTopic = 'point_integration_ipn' | 'point_integration_wh';

/** Where a merchant's legacy notifications go; a part without a URL is not told. */
export interface NoticeTarget {
  /** Of payment intents. */
  url: string | null;
  topic: NoticeTopic;
  /** Of the feed, for whatever has no `notification_url` of its own. */
  ipn_url: string | null;
  /** Signs `point_integration_wh` and the feed's webhooks. */
  secret: string;
}

/** A create that came with an idempotency key, remembered while its intent is open. */
interface KeyedCreate {
  intent_id: string;
  body: Uint8Array;
}

export interface LegacyState {
  /** By lower-case id, in order of creation. */
  readonly intents: Map<string, PaymentIntent>;
  readonly refunds: Map<string, RefundIntent>;
  /** By merchant. */
  readonly integrators: Map<string, Integrator>;
  readonly notice_targets: Map<string, NoticeTarget>;
  /** By merchant, device and key. */
  readonly keyed_creates: Map<string, KeyedCreate>;
  /** Delivers the notices; stops with the world. */
  readonly postman: Postman;
}

/** An empty state, emptied again at each reset of the world. */
export function createLegacyState(world: World, postman: Postman): LegacyState {
  const state: LegacyState = {
    intents: new Map(),
    refunds: new Map(),
    integrators: new Map(),
    notice_targets: new Map(),
    keyed_creates: new Map(),
    postman,
  };
  const { intents, refunds, integrators, notice_targets, keyed_creates } = state;
  world.onReset(() => {
    for (const map of [intents, refunds, integrators, notice_targets, keyed_creates]) map.clear();
  });
  return state;
}

/** What the feed needs to know of a merchant. */
export function feedAccount(state: LegacyState, merchant_id: string): FeedAccount {
  const target = state.notice_targets.get(merchant_id);
  return { ipn_url: target?.ipn_url ?? null, secret: target?.secret ?? DEFAULT_SECRET };
}

/** Signs for merchants who never told one. */
export const DEFAULT_SECRET = 'sandbox-legacy-secret';

/** The merchant's integrator record; the live service makes it when the integration registers, here at first use. */
export function integratorOf(state: LegacyState, merchant: Merchant, now_ms: number): Integrator {
  let integrator = state.integrators.get(merchant.user_id);
  if (integrator === undefined) {
    integrator = { created_at_ms: now_ms, updated_at_ms: now_ms, event_channel_devices: [] };
    state.integrators.set(merchant.user_id, integrator);
  }
  return integrator;
}

export interface Step {
  state: IntentState;
  /** Virtual time, epoch milliseconds. */
  at_ms: number;
}

/** What is queued on a terminal: a payment intent or a refund intent. */
export interface TerminalWork {
  /** Lower-case UUID. */
  id: string;
  merchant: Merchant;
  terminal: Terminal;
  /** From OPEN to the current state, oldest first; never empty. */
  history: [Step, ...Step[]];
  expiry: Timer | null;
}
