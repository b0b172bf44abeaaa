/** The sandbox's one shared state, used by both APIs. */

import { hash } from 'node:crypto';
import { PuenteError } from '../error.ts';
import type { Fault, RequestLine, SentLine } from './actions.ts';
import { type Profile, profileSettings, type Settings, settingsSchema } from './assumptions.ts';
import { type Clock, createClock } from './clock.ts';
import {
  type CollectionName,
  type Collections,
  type Counters,
  collections,
  type Job,
  type Letter,
} from './collections.ts';
import type { KeyEntry, Merchant, Order, PaymentIntent, PointOfSale, QrOrder, Terminal } from './records.ts';

export interface World extends Collections {
  readonly clock: Clock<Job>;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
  /** Gives the settings that are not set one by one. */
  readonly profile: Profile;
  readonly settings: Settings;
  readonly counters: Counters;
  readonly faults: Fault[];
  readonly request_log: Ring<RequestLine>;
  readonly sent_log: Ring<SentLine>;
  /** Index: the newest order of each `<merchant>/<external_reference>`. */
  readonly references: Map<string, Order>;
  /** The open legacy QR order that a till's printed code shows, by the till's internal number. */
  readonly shown: Map<number, QrOrder>;
  /** Legacy QR orders by merchant order, in order of creation of the merchant orders. */
  readonly merchant_orders: Map<number, QrOrder>;
  /** Open payment intents by merchant, device and idempotency key. */
  readonly keyed_intents: Map<string, PaymentIntent>;
  /** Delivery attempts that are running. */
  readonly under_way: Set<{ letter: Letter; attempt: number }>;

  /** A replaced token has no owner, like an expired one. */
  ownerOf(token: string): Merchant | undefined;
  /** The merchant of a record; it must exist. */
  merchant(id: string): Merchant;
  /** Undefined also for a terminal of another merchant. */
  terminal(merchant_id: string, terminal_id: string): Terminal | undefined;
  /** In order of creation. */
  terminalsOf(merchant_id: string): Terminal[];
  /** Undefined for a terminal that is bound to no point of sale. */
  posOf(terminal: Terminal): PointOfSale | undefined;
  /** By the integrator's own id of the point of sale. */
  tillNamed(merchant_id: string, external_id: string): PointOfSale | undefined;
  /** @throws PuenteError conflict, when the terminal already holds something. */
  occupy(terminal: Terminal, occupation: NonNullable<Terminal['occupation']>): void;
  /** Frees the terminal if it still holds this id. */
  release(merchant_id: string, terminal_id: string, id: string): void;
  /** The next number of its kind; each is given once, until a reset. */
  next(counter: keyof Counters): number;
  /** Undefined once the key is forgotten (setting `replay`, `docs/protocol.md` §3.1). */
  findKey(merchant_id: string, key: string): KeyEntry | undefined;
  /** Replaces an earlier entry of the key, and starts its time anew. */
  storeKey(merchant_id: string, key: string, entry: Omit<KeyEntry, 'name' | 'stored_at_ms'>): void;
  /** Returns at once; attempts continue in the background until one is answered 200 or 201, or the world is reset. */
  deliver(letter: Letter): void;
  /** Registers background work such as a webhook delivery; the clock waits for it between two timers. */
  track(work: Promise<unknown>): void;
  /** Resolves when no registered work is running. */
  settled(): Promise<void>;
  /** @throws PuenteError bad_setting, naming the setting. */
  configure(changes: unknown): void;
  /** At once restores initial settings and cast, and removes orders, faults and timers. Resolves as `refill` does. */
  reset(): Promise<void>;
  /** Empties and fills the world at once. Resolves when all `onReset` functions have run. */
  refill(fill: () => void): Promise<void>;
  /** Stops timers and background work. */
  close(): void;
  /** Calls `run` after each reset and restore, and on close. */
  onReset(run: () => void | Promise<void>): void;
}

/** Lines per log: enough for a test or a demo, small enough for memory under load. */
const LOG_LINES = 2000;

/** Similar to live numbers; no two kinds share a number. */
const firstNumbers: Counters = {
  payment: 131_000_000_001, // eleven or twelve digits live (`docs/field-notes.md` Orders §1.4)
  merchant_order: 40_100_000_001, // eleven digits live (`docs/field-notes.md` QR §2)
  refund: 1_900_000_001, // ten digits in published examples
  chargeback: 217_000_000_001,
  store: 60_000_001, // above every number of the cast
  point_of_sale: 70_000_001, // also above those of load tests
  event: 812_300_001, // nine digits in the vendor's capture
};

export interface WorldOptions {
  /** Real time, epoch milliseconds. */
  now: () => number;
  /** `specification` when missing. */
  profile?: Profile | undefined;
  /** Input of `settingsSchema`; the profile gives missing settings. */
  settings?: unknown;
  /** In [0, 1), as Math.random. */
  random: () => number;
}

/** Functions of a world that other modules implement. */
interface WorldParts {
  /** Puts the cast into the empty collections. */
  fill(world: World): void;
  run(world: World, job: Job): void;
  deliver(world: World, letter: Letter): void;
}

/** @throws PuenteError bad_setting, naming the invalid setting. */
export function createWorld(options: WorldOptions, parts: WorldParts): World {
  const { profile = 'specification' } = options;
  const initial = parseSettings({ ...profileSettings[profile], ...asObject(options.settings ?? {}) });
  const settings: Settings = { ...initial };
  const clock = createClock<Job>(options.now, (job) => parts.run(world, job));
  const resets: (() => void | Promise<void>)[] = [];
  const runResets = async (): Promise<void> => void (await Promise.all(resets.map((run) => run())));
  const kept = emptyCollections();
  const indexes = {
    references: new Map<string, Order>(),
    shown: new Map<number, QrOrder>(),
    merchant_orders: new Map<number, QrOrder>(),
    keyed_intents: new Map<string, PaymentIntent>(),
    under_way: new Set<{ letter: Letter; attempt: number }>(),
    request_log: createRing<RequestLine>(LOG_LINES),
    sent_log: createRing<SentLine>(LOG_LINES),
  };
  const world: World = {
    ...kept,
    ...indexes,
    ...createBackground(),
    ...createKeys(kept, clock, settings),
    ...createPeople(kept),
    clock,
    random: options.random,
    profile,
    settings,
    counters: { ...firstNumbers },
    faults: [],
    next: (counter) => world.counters[counter]++,
    deliver: (letter) => parts.deliver(world, letter),
    configure(changes) {
      Object.assign(settings, parseSettings({ ...settings, ...asObject(changes) }));
    },
    reset() {
      return world.refill(() => {
        Object.assign(settings, initial);
        Object.assign(world.counters, firstNumbers);
        clock.reset();
        parts.fill(world);
      });
    },
    refill(fill) {
      for (const part of [...Object.values(kept), ...Object.values(indexes)]) part.clear();
      world.faults.length = 0;
      fill();
      return runResets();
    },
    close() {
      clock.close();
      void runResets();
    },
    onReset: (run) => void resets.push(run),
  };
  parts.fill(world);
  return world;
}

/** Look-ups of merchants, terminals and tills. */
function createPeople(
  kept: Collections,
): Pick<World, 'ownerOf' | 'merchant' | 'terminal' | 'terminalsOf' | 'posOf' | 'tillNamed' | 'occupy' | 'release'> {
  const terminal = (merchant_id: string, terminal_id: string) => kept.terminals.get(`${merchant_id}/${terminal_id}`);
  return {
    ownerOf: (token) => kept.merchants.get(kept.tokens.get(hashOf(token))?.merchant_id ?? ''),
    merchant(id) {
      const merchant = kept.merchants.get(id);
      if (merchant === undefined) throw new Error(`There is no merchant ${id}.`);
      return merchant;
    },
    terminal,
    terminalsOf: (merchant_id) =>
      [...kept.terminals.values()].filter((terminal) => terminal.merchant_id === merchant_id),
    posOf: ({ pos_id }) => (pos_id === null ? undefined : kept.points_of_sale.get(pos_id)),
    tillNamed: (merchant_id, external_id) =>
      [...kept.points_of_sale.values()].find(
        (pos) => pos.merchant_id === merchant_id && pos.external_id === external_id,
      ),
    occupy(terminal, occupation) {
      if (terminal.occupation !== null) {
        const holder = terminal.occupation.id;
        throw new PuenteError('conflict', `Terminal ${terminal.id} already holds ${holder}; end that first.`);
      }
      terminal.occupation = occupation;
    },
    release(merchant_id, terminal_id, id) {
      const holder = terminal(merchant_id, terminal_id);
      if (holder?.occupation?.id === id) holder.occupation = null;
    },
  };
}

function emptyCollections(): Collections {
  const names = Object.keys(collections) as CollectionName[]; // the keys of an object literal
  return Object.fromEntries(names.map((name) => [name, new Map()])) as unknown as Collections; // one map for each name
}

/** Tokens are stored as hashes, so that a snapshot holds no clear token except those of the cast. */
export function hashOf(token: string): string {
  return hash('sha256', token);
}

/** Keys last 24 hours per merchant (`docs/field-notes.md` Spec Limits), in the variants of `docs/protocol.md` §3.1. */
const MEMORY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60_000;

function createKeys(
  { keys }: Pick<Collections, 'keys'>,
  clock: Clock<Job>,
  settings: Settings,
): Pick<World, 'findKey' | 'storeKey'> {
  return {
    findKey(merchant_id, key) {
      const entry = keys.get(`${merchant_id}/${key}`);
      const memory_ms = settings.replay === 'forgets' ? settings.replay_forget_after_minutes * MINUTE_MS : MEMORY_MS;
      return entry !== undefined && clock.now() - entry.stored_at_ms < memory_ms ? entry : undefined;
    },
    storeKey(merchant_id, key, entry) {
      const now_ms = clock.now();
      // Entries are in order of age: stop at the first young one.
      for (const [name, { stored_at_ms }] of keys) {
        if (stored_at_ms > now_ms - MEMORY_MS) break;
        keys.delete(name);
      }
      const name = `${merchant_id}/${key}`;
      keys.delete(name); // keeps the map in order of age
      keys.set(name, { ...entry, name, stored_at_ms: now_ms });
    },
  };
}

/** Work that runs outside any request. */
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

/** @throws PuenteError bad_setting, naming the setting. */
export function parseSettings(value: unknown): Settings {
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

/** A bounded list that keeps its newest entries. */
type Ring<Entry> = ReturnType<typeof createRing<Entry>>;

function createRing<Entry>(capacity: number) {
  let entries: Entry[] = [];
  let next = 0;
  return {
    push(entry: Entry): void {
      entries[next] = entry;
      next = (next + 1) % capacity;
    },
    /** Oldest first. */
    list: (): Entry[] =>
      entries.length < capacity ? [...entries] : [...entries.slice(next), ...entries.slice(0, next)],
    clear(): void {
      entries = [];
      next = 0;
    },
  };
}

/** A UUID of version 4, from the world's own randomness: a simulated world repeats itself. */
export function newUuid(world: World): string {
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(world.random() * 16).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${(8 + Math.floor(world.random() * 4)).toString(16)}${hex(3)}-${hex(12)}`;
}
