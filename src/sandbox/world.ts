/** The sandbox's one shared state, seen by the new API and the legacy API alike. */

import { hash } from 'node:crypto';
import { PuenteError } from '../error.ts';
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
import type {
  Fault,
  KeyEntry,
  Merchant,
  Order,
  PaymentIntent,
  PointOfSale,
  QrOrder,
  RequestLine,
  SentLine,
  Terminal,
} from './records.ts';

export interface World extends Collections {
  readonly clock: Clock<Job>;
  /** A number in [0, 1), as Math.random. */
  readonly random: () => number;
  /** Decides the settings that were not set one by one. */
  readonly profile: Profile;
  readonly settings: Settings;
  readonly counters: Counters;
  readonly faults: Fault[];
  readonly request_log: Ring<RequestLine>;
  readonly sent_log: Ring<SentLine>;
  /** Made from the collections: the newest order of each `<merchant>/<external_reference>`. */
  readonly references: Map<string, Order>;
  /** The open legacy QR order that a till's printed code shows, by the till's internal number. */
  readonly shown: Map<number, QrOrder>;
  /** Legacy QR orders by merchant order, in order of creation of those. */
  readonly merchant_orders: Map<number, QrOrder>;
  /** Open payment intents by merchant, device and idempotency key. */
  readonly keyed_intents: Map<string, PaymentIntent>;
  /** Attempts of notifications that are being made. */
  readonly under_way: Set<{ letter: Letter; attempt: number }>;

  /** The owner of an access token; a token that was taken away is nobody's, as an expired one is. */
  ownerOf(token: string): Merchant | undefined;
  /** The seller that a record names. */
  merchant(id: string): Merchant;
  terminal(merchant_id: string, terminal_id: string): Terminal | undefined;
  /** In order of creation. */
  terminalsOf(merchant_id: string): Terminal[];
  posOf(terminal: Terminal): PointOfSale | undefined;
  /** The seller's till with this external id. */
  tillNamed(merchant_id: string, external_id: string): PointOfSale | undefined;
  /** @throws PuenteError conflict, when something is queued there already. */
  occupy(terminal: Terminal, occupation: NonNullable<Terminal['occupation']>): void;
  /** Frees the terminal if it still holds the thing with this id. */
  release(merchant_id: string, terminal_id: string, id: string): void;
  next(counter: keyof Counters): number;
  /** The answer that is remembered under an idempotency key. */
  findKey(merchant_id: string, key: string): KeyEntry | undefined;
  storeKey(merchant_id: string, key: string, entry: Omit<KeyEntry, 'name' | 'stored_at_ms'>): void;
  /** Returns at once; attempts go on in the background until one is acknowledged or the world is reset. */
  deliver(letter: Letter): void;
  /** Work that runs in the background (a webhook on its way); the clock waits for it between two timers. */
  track(work: Promise<unknown>): void;
  /** Resolves when nothing tracked is running. */
  settled(): Promise<void>;
  /** @throws PuenteError bad_setting, naming the setting. */
  configure(changes: unknown): void;
  /** Back to the cast, without faults, orders, timers, at once; settings go back to those given at creation. Resolves as `refill` does. */
  reset(): Promise<void>;
  /** Empties the world and fills it again, at once. Resolves when all that waits for a reset has run. */
  refill(fill: () => void): Promise<void>;
  /** Ends timers and background work. */
  close(): void;
  /** Runs after each reset and restore, and at the end. */
  onReset(run: () => void | Promise<void>): void;
}

/** Bounds of the logs: enough for a whole test or demo, small enough to stay in memory under load. */
const LOG_LINES = 2000;

/** Numbers look like live ones, and no two kinds have the same. */
const firstNumbers: Counters = {
  payment: 131_000_000_001, // eleven or twelve digits live (`docs/field-notes.md` Orders §1.4)
  merchant_order: 40_100_000_001, // eleven digits live (`docs/field-notes.md` QR §2)
  refund: 1_900_000_001, // ten digits in published examples
  chargeback: 217_000_000_001,
  store: 60_000_001, // above every number of the cast
  point_of_sale: 70_000_001, // above those of load tests too
  event: 812_300_001, // nine digits in the vendor's capture
};

export interface WorldOptions {
  /** Real time, epoch milliseconds. */
  now: () => number;
  /** `specification` when missing. */
  profile?: Profile | undefined;
  /** Anything `settingsSchema` accepts; missing settings are those of the profile. */
  settings?: unknown;
  random: () => number;
}

/** What a world does that other modules know how to do. */
export interface WorldParts {
  /** Puts the cast into the empty collections. */
  fill(world: World): void;
  run(world: World, job: Job): void;
  deliver(world: World, letter: Letter): void;
}

/** @throws PuenteError bad_setting, naming the setting that does not hold. */
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

/** Sellers, and where they sell. */
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

/** Tokens are known by their hash alone, so that no snapshot has one in clear that the cast does not show. */
export function hashOf(token: string): string {
  return hash('sha256', token);
}

/** `docs/field-notes.md` Spec Limits: key memory of 24 hours, per merchant and key, in the five variants of `docs/protocol.md` §3.1. */
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
      // Entries are in order of age, so the walk stops at the first young one.
      for (const [name, { stored_at_ms }] of keys) {
        if (stored_at_ms > now_ms - MEMORY_MS) break;
        keys.delete(name);
      }
      const name = `${merchant_id}/${key}`;
      keys.delete(name); // so that the map stays in order of age
      keys.set(name, { ...entry, name, stored_at_ms: now_ms });
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

/** A list that keeps its newest entries: the sandbox's logs never grow past their bound. */
export interface Ring<Entry> {
  push(entry: Entry): void;
  /** Oldest first. */
  list(): Entry[];
  clear(): void;
}

export function createRing<Entry>(capacity: number): Ring<Entry> {
  let entries: Entry[] = [];
  let next = 0;
  return {
    push(entry) {
      entries[next] = entry;
      next = (next + 1) % capacity;
    },
    list: () => (entries.length < capacity ? [...entries] : [...entries.slice(next), ...entries.slice(0, next)]),
    clear() {
      entries = [];
      next = 0;
    },
  };
}
