/** The whole fleet at a glance: all viewers share one read, so that many cost as much as one. */
import type { ChainMark } from '../../proxy/audit.ts';
import type { CallSeen } from '../../proxy/records/evidence.ts';
import { BY_ITSELF } from '../api/person.ts';
import { isInChain, merchantOfLine, whyOf } from '../audit.ts';
import { callsAfter, DAY_MS, iso, MINUTE_MS, pagesOf } from '../fields.ts';
import type { Ports, Store } from '../ports.ts';
import { type Mismatches, merchantReadiness, mismatchesOnce } from '../readiness/readiness.ts';
import { lastBefore } from '../report/decisions.ts';
import { knownMerchants } from '../seen.ts';
import { ERASE } from '../upkeep/erase.ts';
import {
  createPulses,
  type FleetLine,
  type FleetQuery,
  type FleetView,
  fleetLine,
  type Incident,
  type Judged,
  PULSE_MS,
  type Pulses,
  selectLines,
  totalsOf,
} from './line.ts';

/** A read serves all requests for this long; an open board sends one every few seconds. */
const FRESH_MS = 2_000;
/** Rows per page; payments run between two pages. */
const PAGE = 2_000;
/** More waiting moves than approvers decide in a day. */
const MOST_PROPOSALS = 1_000;

export type Fleet = ReturnType<typeof createFleet>;

interface Read {
  /** Epoch ms. */
  at: number;
  lines: FleetLine[];
}

/**
 * The board of all merchants. Requests within `FRESH_MS` share one read of the store; verdicts come later, from the
 * background, so a line may have none yet.
 */
export function createFleet(ports: Ports) {
  const reader = createReader(ports);
  let newest: { at: number; read: Promise<Read> } | null = null;
  const shared = (): Promise<Read> => {
    const now = ports.clock.now();
    if (newest !== null && now >= newest.at && now - newest.at < FRESH_MS) return newest.read;
    const mine = { at: now, read: reader.read(now) };
    newest = mine;
    mine.read.catch(() => {
      if (newest === mine) newest = null;
    });
    return mine.read;
  };
  return {
    async view(query: FleetQuery): Promise<FleetView> {
      const { at, lines } = await shared();
      const selection = selectLines(lines, query);
      reader.judge(selection.merchants, lines);
      return { at: iso(at), totals: totalsOf(lines), ...selection };
    },
  };
}

function createReader(ports: Ports) {
  const { store, settings } = ports;
  const pulses = createPulses();
  const catchUp = pulseReader(ports, pulses);
  const incidents = createIncidents(store);
  const judgements = createJudgements(ports);
  const ids = (lines: readonly FleetLine[]): string[] => lines.map(({ merchant_id }) => merchant_id);
  return {
    async read(now: number): Promise<Read> {
      await ports.memory.mutex.run('fleet', async () => {
        await catchUp(now);
        await incidents.update(now);
      });
      const merchants = await knownMerchants(ports);
      const open = new Map((await store.history.openCounts(now)).map((count) => [count.merchant_id, count]));
      const waiting = await waitingMoves(ports, now);
      const lines = merchants.map((merchant) =>
        fleetLine(settings, merchant, {
          health: pulses.of(merchant.id, now),
          open: open.get(merchant.id),
          readiness: judgements.of(merchant.id),
          last_incident: incidents.of(merchant.id),
          waiting_moves: waiting.get(merchant.id)?.length ?? 0,
        }),
      );
      return { at: now, lines };
    },
    /** Judges in the background, the shown lines first. */
    judge: (shown: readonly FleetLine[], all: readonly FleetLine[]): void => judgements.keepFresh(ids(shown), ids(all)),
  };
}

/**
 * Adds the calls recorded since its last run; the first run reads those of the last hour. No call is missed: sequences
 * ascend in the order in which calls become readable, whichever process writes them (`EXCHANGES_LOCK` of the store).
 */
function pulseReader({ store, evidence, clock }: Ports, pulses: Pulses): (now: number) => Promise<void> {
  let last: CallSeen | null = null;
  const forget = (): void => {
    pulses.forget();
    last = null;
  };
  return async (now) => {
    // Viewers look for calls of a moment ago, but the board must not wait for evidence that can't be written.
    await Promise.race([evidence.settled(), clock.sleep(EVIDENCE_WAIT_MS)]);
    for await (const page of callsAfter(store.exchanges, { since: now - PULSE_MS }, PAGE, last, forget)) {
      for (const call of page) pulses.add(call);
      last = page.at(-1) ?? last;
    }
    pulses.trim(now);
  };
}

const EVIDENCE_WAIT_MS = 250;

async function waitingMoves({ store }: Ports, now: number): Promise<Map<string, unknown[]>> {
  const waiting = await store.moves.proposals({ state: 'waiting' }, MOST_PROPOSALS);
  const open = waiting.filter(({ expires_at }) => expires_at > now);
  return Map.groupBy(open, ({ merchant_id }) => merchant_id);
}

// Readiness verdicts of the fleet, made one by one in the background while the board is open.

/** Age at which a verdict is renewed: of merchants on the screen, and of the others. */
const SHOWN_FRESH_MS = 30_000;
const OTHERS_FRESH_MS = 10 * MINUTE_MS;
/** Judging ends after this long without a request; an open board sends one every few seconds. */
const LOOKED_AWAY_MS = MINUTE_MS;
/** Pause between two verdicts, longer than one takes: payments come first. */
const PAUSE_MS = 10;
/** How long one read of the mismatches serves: it covers all merchants, and many are judged in this time. */
const MISMATCHES_FRESH_MS = 5_000;

interface Kept {
  /** Null: the merchant could not be judged. */
  judged: Judged | null;
  /** Epoch ms. */
  at: number;
}

export type Judgements = ReturnType<typeof createJudgements>;

/**
 * Readiness verdicts, made one by one in the background, so that no request waits for them. `of` returns null before
 * the first, and for a merchant that can't be judged.
 */
export function createJudgements(ports: Ports) {
  const kept = new Map<string, Kept>();
  let shown_ids: readonly string[] = [];
  let all_ids: readonly string[] = [];
  let running = false;
  let looked_at = -Infinity;
  const next = (): string | undefined => {
    const now = ports.clock.now();
    if (now - looked_at >= LOOKED_AWAY_MS) return undefined;
    const isOld = (id: string, fresh_ms: number): boolean => now - (kept.get(id)?.at ?? -Infinity) >= fresh_ms;
    return shown_ids.find((id) => isOld(id, SHOWN_FRESH_MS)) ?? all_ids.find((id) => isOld(id, OTHERS_FRESH_MS));
  };
  const run = async (): Promise<void> => {
    const mismatches = mismatchesOnce(ports, MISMATCHES_FRESH_MS);
    for (let id = next(); id !== undefined; id = next()) {
      // A merchant that can't be judged must not hold up the others; it is tried again when its verdict is old.
      const judged = await judge(ports, id, mismatches).catch((error: unknown) => {
        ports.log.debug('a merchant of the fleet could not be judged', { merchant: id, cause: String(error) });
        return null;
      });
      if (!ports.store.healthy()) return;
      kept.set(id, { judged, at: ports.clock.now() });
      await ports.clock.sleep(PAUSE_MS);
    }
  };
  return {
    of: (merchant_id: string): Judged | null => kept.get(merchant_id)?.judged ?? null,
    /** Judges merchants without a fresh verdict, the shown ones first, until a minute after the last call. */
    keepFresh(shown: readonly string[], all: readonly string[]): void {
      shown_ids = shown;
      all_ids = all;
      looked_at = ports.clock.now();
      forgetOthers(kept, all);
      if (running) return;
      running = true;
      void run().finally(() => {
        running = false;
      });
    },
  };
}

/** No verdict is kept of an erased merchant. */
function forgetOthers(kept: Map<string, Kept>, all: readonly string[]): void {
  if (kept.size <= all.length) return;
  const known = new Set(all);
  for (const id of kept.keys()) if (!known.has(id)) kept.delete(id);
}

async function judge(ports: Ports, merchant_id: string, mismatches: Mismatches): Promise<Judged> {
  const { verdict, blockers, unproven, judged_at } = await merchantReadiness(ports, merchant_id, mismatches);
  const first = blockers[0] ?? unproven[0];
  return {
    verdict,
    blockers: blockers.length,
    first: first?.what ?? null,
    first_said: first?.said ?? null,
    at: judged_at,
  };
}

// The newest incident of each merchant (what Puente noticed or did), read from the audit chain as it grows.

const LOOKED_BACK_MS = 30 * DAY_MS;
const INCIDENTS_PAGE = 500;

/** `of` returns null without an incident since `LOOKED_BACK_MS` before the first `update`, or since an erase. */
export function createIncidents(store: Store) {
  const newest = new Map<string, Incident>();
  let last: ChainMark | null = null;
  return {
    of: (merchant_id: string): Incident | null => newest.get(merchant_id) ?? null,
    async update(now: number): Promise<void> {
      if (last !== null && !(await isInChain(store, last))) {
        newest.clear();
        last = null;
      }
      const after = last?.sequence ?? (await lastBefore(store, now - LOOKED_BACK_MS));
      const read = (from: number, size: number) => store.audit.auditsAfter(from, size);
      for await (const page of pagesOf(read, INCIDENTS_PAGE, after)) {
        for (const line of page) {
          const { at, action, reason } = line;
          // Erased by any process: the incident is forgotten, also for a new merchant under the same id.
          if (action === ERASE) newest.delete(line.subject);
          if (line.who !== BY_ITSELF) continue;
          const owner = await merchantOfLine(store, line);
          if (owner !== null) newest.set(owner, { at: iso(at), what: action, ...whyOf(reason) });
        }
        last = page.at(-1) ?? last;
      }
    },
  };
}
