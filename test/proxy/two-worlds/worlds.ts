/** Shared by both upstreams of the model: one clock, their sales, and the rule that no unit has two live sales. */
import { AsyncLocalStorage } from 'node:async_hooks';

export type Side = 'orders' | 'legacy';

/**
 * `lost`: takes effect, no answer. `dropped`: neither. `late`: takes effect later, no answer. `slow`: takes effect
 * later, and is answered then. `error`: a 500 after the effect. `failed`: a 500 without it. `refused`: 400. `not_sent`:
 * provably not sent.
 */
export const fates = ['ok', 'lost', 'dropped', 'late', 'slow', 'error', 'failed', 'refused', 'not_sent'] as const;
export type Fate = (typeof fates)[number];

export interface Sold {
  side: Side;
  id: string;
  slot: string;
  /** False for a dynamic code, of which a till may have many. */
  holds: boolean;
  amount_minor: number;
  state: 'open' | 'at_terminal' | 'paid' | 'over';
  made_at: number;
  changed_at: number;
  expires_at: number;
  payment_id: string | null;
}

/** A create that may still take effect. */
interface Pending {
  at: number;
  side: Side;
  slot: string;
  holds: boolean;
  amount_minor: number;
  apply: () => void;
  /** True after another try with its key took effect: then this one changes nothing. */
  isMoot?: () => boolean;
}

/** The longest delay of a create: below the minute that Puente assumes. */
const LATEST_MS = 30_000;

export interface Worlds {
  now(): number;
  sleep(duration_ms: number): Promise<void>;
  /** Advances the clock: delayed creates take effect, sales expire. */
  pass(duration_ms: number): void;
  sold: Map<string, Sold>;
  /** Amounts of sales that their tills were answered with. */
  told: Set<number>;
  /** Fates of the next creates, in order; then `ok`. */
  fates: Fate[];
  /** While false, reads get no answer from either upstream. */
  reading: boolean;
  takeFate(): Fate;
  /** Judges a create before it takes effect. */
  asked(side: Side, wanted: Pick<Sold, 'slot' | 'holds' | 'amount_minor'>, identity: string): void;
  make(sold: Omit<Sold, 'made_at' | 'changed_at' | 'state' | 'payment_id'>): Sold;
  change(sold: Sold, state: Sold['state']): void;
  liveOn(side: Side, slot: string): Sold | undefined;
  /** Takes effect within half a minute. */
  later(pending: Omit<Pending, 'at'>): void;
  /** Resolves when the next create is delayed. */
  parked(): Promise<void>;
  /** Whether new work of a slot may begin on orders now; null during a move. */
  mayBegin: (slot: string) => boolean | null;
  broken: string[];
  /** Runs a till's call, to which its creates are attributed. */
  duringCall<T>(work: () => Promise<T>): Promise<T>;
  /** A number that is unique in this sequence. */
  next(): number;
}

/** @param clock of the whole run; never decreases. */
export function createWorlds(clock: { now: number }): Worlds {
  const pending: Pending[] = [];
  const calls = new AsyncLocalStorage<{ creates: Set<string> }>();
  const known = new Set<string>();
  let counter = 0;
  let wake: (() => void)[] = [];
  const isLive = ({ state }: Sold): boolean => state === 'open' || state === 'at_terminal';
  const worlds: Worlds = {
    now: () => clock.now,
    sleep: async (duration_ms) => worlds.pass(duration_ms),
    pass(duration_ms) {
      const until = clock.now + duration_ms;
      for (;;) {
        const due = pending.filter(({ at }) => at <= until).sort((one, other) => one.at - other.at)[0];
        if (due === undefined) break;
        pending.splice(pending.indexOf(due), 1);
        clock.now = Math.max(clock.now, due.at);
        expire();
        due.apply();
      }
      clock.now = until;
      expire();
    },
    sold: new Map(),
    told: new Set(),
    fates: [],
    reading: true,
    takeFate: () => worlds.fates.shift() ?? 'ok',
    asked(side, wanted, identity) {
      const call = calls.getStore();
      if (call !== undefined && !known.has(identity)) {
        call.creates.add(identity);
        if (call.creates.size > 1) worlds.broken.push(`one call of a till made ${call.creates.size} creates`);
      }
      const stray = side === 'orders' && !known.has(identity) && worlds.mayBegin(wanted.slot) === false;
      if (stray) worlds.broken.push(`a new sale of ${wanted.slot} on orders, where its stage is another`);
      known.add(identity);
      const same = (one: Pick<Sold, 'slot' | 'holds' | 'amount_minor'>): boolean =>
        one.slot === wanted.slot &&
        one.holds === wanted.holds &&
        (wanted.holds || one.amount_minor === wanted.amount_minor);
      // A dynamic code known to its till blocks no other sale; one without an answer is the same sale.
      const isKnown = !wanted.holds && worlds.told.has(wanted.amount_minor);
      const live = !isKnown && [...worlds.sold.values()].some((one) => one.side !== side && isLive(one) && same(one));
      const coming = pending.some((one) => one.side !== side && same(one) && one.isMoot?.() !== true);
      if (live) worlds.broken.push(`a create on ${side} while ${wanted.slot} lives on the other side`);
      if (coming) worlds.broken.push(`a create on ${side} while one of ${wanted.slot} is on its way to the other side`);
    },
    make(facts) {
      const sold: Sold = { ...facts, state: 'open', made_at: clock.now, changed_at: clock.now, payment_id: null };
      const other = worlds.liveOn(sold.side === 'orders' ? 'legacy' : 'orders', sold.slot);
      if (sold.holds && other !== undefined) worlds.broken.push(`${sold.slot} lives on both sides`);
      worlds.sold.set(sold.id, sold);
      return sold;
    },
    change(sold, state) {
      sold.state = state;
      sold.changed_at = clock.now;
    },
    liveOn: (side, slot) =>
      [...worlds.sold.values()].find((one) => one.side === side && one.slot === slot && one.holds && isLive(one)),
    later(coming) {
      pending.push({ ...coming, at: clock.now + 1_000 + ((worlds.next() * 7_919) % (LATEST_MS - 1_000)) });
      for (const one of wake) one();
      wake = [];
    },
    parked: () =>
      new Promise((resolve) => {
        wake.push(resolve);
      }),
    mayBegin: () => null,
    broken: [],
    duringCall: (work) => calls.run({ creates: new Set() }, work),
    next: () => ++counter,
  };

  function expire(): void {
    for (const sold of worlds.sold.values()) {
      if (isLive(sold) && sold.expires_at <= clock.now) worlds.change(sold, 'over');
    }
  }
  return worlds;
}
