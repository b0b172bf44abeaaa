/** The sandbox's one shared state, seen by the new API and the legacy API alike. */

import { PuenteError } from '../error.ts';
import { createRing, type RequestLine, type Ring, type SentLine } from './answer.ts';
import { type Profile, profileSettings, type Settings, settingsSchema } from './assumptions.ts';
import type { Merchant, Occupation, Payable, PointOfSale, Store, Terminal } from './cast.ts';
import { type Clock, createClock } from './clock.ts';
import { createKeyMemory, createPeople, type KeyMemory } from './people.ts';
import type { Chargeback, Fault, Invoice, Order, Payment } from './records.ts';

export type { RequestLine, SentLine } from './answer.ts';

export interface World {
  readonly clock: Clock;
  /** A number in [0, 1), as Math.random. */
  readonly random: () => number;
  /** Decides the settings that were not set one by one. */
  readonly profile: Profile;
  readonly settings: Settings;
  readonly merchants: Map<string, Merchant>;
  /** By access token. Deleting one makes it expired. */
  readonly tokens: Map<string, Merchant>;
  /** Those of `tokens` that were obtained through OAuth: only they may take a marketplace fee. */
  readonly oauth_tokens: Set<string>;
  readonly stores: Map<string, Store>;
  readonly points_of_sale: Map<number, PointOfSale>;
  readonly payments: Map<number, Payment>;
  readonly chargebacks: Map<number, Chargeback>;
  /** Subscription invoices, by id. */
  readonly invoices: Map<number, Invoice>;
  /** By id, in order of creation. */
  readonly payables: Map<string, Payable>;
  readonly orders: Map<string, Order>;
  /** The newest order of each `<merchant>/<external_reference>`. */
  readonly references: Map<string, string>;
  readonly keys: KeyMemory;
  readonly faults: Fault[];
  readonly request_log: Ring<RequestLine>;
  readonly sent_log: Ring<SentLine>;

  /** Terminal ids may be equal across merchants. */
  terminal(merchant_id: string, terminal_id: string): Terminal | undefined;
  /** In order of creation; shared array, not to be changed by the reader. */
  terminals(merchant_id: string): readonly Terminal[];
  addTerminal(terminal: Terminal): void;
  /** @throws PuenteError conflict, when something is queued there already. */
  occupy(terminal: Terminal, occupation: Occupation): void;
  /** Frees the terminal if it still holds the thing with this id. */
  release(terminal: Terminal, id: string): void;
  nextPaymentId(): number;
  nextMerchantOrderId(): number;
  nextRefundId(): number;
  nextChargebackId(): number;
  /** Something about a payment changed (made, refunded, charged back): tells everyone who listens. */
  paymentChanged(payment: Payment): void;
  /** Listens to changes of payments, for notifications. */
  onPaymentChange(run: (payment: Payment) => void): void;
  /** Work that runs in the background (a webhook on its way); the clock waits for it between two timers. */
  track(work: Promise<unknown>): void;
  /** Resolves when nothing tracked is running. */
  settled(): Promise<void>;
  /** @throws PuenteError bad_setting, naming the setting. */
  configure(changes: unknown): void;
  /** Back to the cast, without faults, orders, timers; settings go back to those given at creation. */
  reset(): void;
  /** Ends timers and background work. */
  close(): void;
  /** For state kept elsewhere (the legacy API): runs at each reset and at the end. */
  onReset(run: () => void): void;
  /** Adds a part to the answer of `GET /_sandbox/state`. */
  addView(name: string, view: () => unknown): void;
  views(): Record<string, unknown>;
}

/** Bounds of the logs: enough for a whole test or demo, small enough to stay in memory under load. */
const LOG_LINES = 2000;
/** Payment numbers have eleven or twelve digits live (`docs/field-notes.md` Orders §1.4). */
const FIRST_PAYMENT_ID = 131_000_000_001;
/** Merchant orders have eleven digits live (`docs/field-notes.md` QR §2). */
const FIRST_MERCHANT_ORDER_ID = 40_100_000_001;
/** Refund numbers have ten digits in published examples. */
const FIRST_REFUND_ID = 1_900_000_001;
/** Any number that no payment, merchant order or refund has. */
const FIRST_CHARGEBACK_ID = 217_000_000_001;

export interface WorldOptions {
  /** Real time, epoch milliseconds. */
  now: () => number;
  /** `specification` when missing. */
  profile?: Profile | undefined;
  /** Anything `settingsSchema` accepts; missing settings are those of the profile. */
  settings?: unknown;
  random: () => number;
}

/** @throws PuenteError bad_setting, naming the setting that does not hold. */
export function createWorld(options: WorldOptions): World {
  const { profile = 'specification' } = options;
  const initial = parseSettings({ ...profileSettings[profile], ...asObject(options.settings ?? {}) });
  const settings: Settings = { ...initial };
  const clock = createClock(options.now);
  const resets: (() => void)[] = [];
  const views = new Map<string, () => unknown>();
  const listeners: ((payment: Payment) => void)[] = [];
  const ids = {
    payment: FIRST_PAYMENT_ID,
    merchant_order: FIRST_MERCHANT_ORDER_ID,
    refund: FIRST_REFUND_ID,
    chargeback: FIRST_CHARGEBACK_ID,
  };
  const first_ids = { ...ids };
  const people = createPeople();
  const records = createRecords(clock, settings);
  people.fill(settings.extra_terminals);
  return {
    ...people,
    ...records.parts,
    ...createBackground(),
    clock,
    random: options.random,
    profile,
    settings,
    nextPaymentId: () => ids.payment++,
    nextMerchantOrderId: () => ids.merchant_order++,
    nextRefundId: () => ids.refund++,
    nextChargebackId: () => ids.chargeback++,
    paymentChanged(changed) {
      for (const run of listeners) run(changed);
    },
    onPaymentChange: (run) => void listeners.push(run),
    configure(changes) {
      Object.assign(settings, parseSettings({ ...settings, ...asObject(changes) }));
    },
    reset() {
      Object.assign(settings, initial);
      clock.reset();
      Object.assign(ids, first_ids);
      records.clear();
      people.fill(settings.extra_terminals);
      for (const run of resets) run();
    },
    close() {
      clock.close();
      for (const run of resets) run();
    },
    onReset: (run) => void resets.push(run),
    addView: (name, view) => void views.set(name, view),
    views: () => Object.fromEntries([...views].map(([name, view]) => [name, view()])),
  };
}

/** What calls leave behind. */
function createRecords(clock: Clock, settings: Settings) {
  const faults: Fault[] = [];
  const parts = {
    payments: new Map<number, Payment>(),
    chargebacks: new Map<number, Chargeback>(),
    invoices: new Map<number, Invoice>(),
    payables: new Map<string, Payable>(),
    orders: new Map<string, Order>(),
    references: new Map<string, string>(),
    keys: createKeyMemory(clock, settings),
    request_log: createRing<RequestLine>(LOG_LINES),
    sent_log: createRing<SentLine>(LOG_LINES),
  };
  return {
    parts: { ...parts, faults },
    clear(): void {
      for (const part of Object.values(parts)) part.clear();
      faults.length = 0;
    },
  };
}

/** Work under way outside any request. */
function createBackground(): Pick<World, 'track' | 'settled'> {
  const running = new Set<Promise<unknown>>();
  return {
    track(work) {
      const done = work.finally(() => running.delete(done));
      running.add(done);
    },
    async settled() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

function parseSettings(value: unknown): Settings {
  const parsed = settingsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const name = issue?.path.join('.') || (issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : 'settings');
  throw new PuenteError('bad_setting', `Sandbox setting ${name}: ${issue?.message ?? 'not valid'}.`);
}

function asObject(value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new PuenteError('bad_setting', 'Sandbox settings must be one JSON object of setting names and values.');
}
