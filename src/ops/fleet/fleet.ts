/** The whole fleet at a glance: one read of it is shared by everybody who looks, so that many viewers cost what one does. */

import type { Runtime } from '../../proxy/runtime.ts';
import { knownMerchants } from '../merchants/operate.ts';
import { createIncidents } from './incidents.ts';
import { createJudgements } from './judged.ts';
import { type FleetLine, fleetLine } from './line.ts';
import { createPulses, PULSE_MS, type Pulses } from './pulse.ts';
import { type FleetQuery, type FleetTotals, type Selection, selectLines, totalsOf } from './select.ts';

/** A look that comes within so long of another sees the same; the board asks every few seconds. */
const FRESH_MS = 2_000;
/** Read at once; payments have their turn between two pages. */
const PAGE = 2_000;
/** More waiting moves than anybody approves in a day. */
const MOST_PROPOSALS = 1_000;

export interface FleetView extends Selection {
  /** RFC 3339; rates and waits are those of the hour before. */
  at: string;
  totals: FleetTotals;
}

export interface Fleet {
  view(query: FleetQuery): Promise<FleetView>;
}

interface Read {
  /** Epoch ms. */
  at: number;
  lines: FleetLine[];
}

export function createFleet(runtime: Runtime): Fleet {
  const reader = createReader(runtime);
  let newest: { at: number; read: Promise<Read> } | null = null;
  const shared = (): Promise<Read> => {
    const now = runtime.clock.now();
    if (newest !== null && now >= newest.at && now - newest.at < FRESH_MS) return newest.read;
    const mine = { at: now, read: reader.read(now) };
    newest = mine;
    mine.read.catch(() => {
      if (newest === mine) newest = null;
    });
    return mine.read;
  };
  return {
    async view(query) {
      const { at, lines } = await shared();
      const selection = selectLines(lines, query);
      reader.judge(selection.merchants, lines);
      return { at: new Date(at).toISOString(), totals: totalsOf(lines), ...selection };
    },
  };
}

interface FleetReader {
  read(now: number): Promise<Read>;
  /** Makes verdicts in the background: of the lines that are shown first. */
  judge(shown: readonly FleetLine[], all: readonly FleetLine[]): void;
}

function createReader(runtime: Runtime): FleetReader {
  const { store, settings } = runtime;
  const pulses = createPulses();
  const catchUp = pulseReader(runtime, pulses);
  const incidents = createIncidents(store);
  const judgements = createJudgements(runtime);
  const ids = (lines: readonly FleetLine[]): string[] => lines.map(({ merchant_id }) => merchant_id);
  return {
    async read(now) {
      await runtime.serial.run('fleet', async () => {
        await catchUp(now);
        await incidents.update(now);
      });
      const merchants = await knownMerchants(runtime);
      const open = new Map((await store.openCounts(now)).map((count) => [count.merchant_id, count]));
      const waiting = await waitingMoves(runtime, now);
      const lines = merchants.map((merchant) =>
        fleetLine(settings, merchant, {
          health: pulses.of(merchant.id, now),
          open: open.get(merchant.id),
          readiness: judgements.of(merchant.id),
          last_incident: incidents.of(merchant.id),
          waiting_moves: waiting.get(merchant.id) ?? 0,
        }),
      );
      return { at: now, lines };
    },
    judge: (shown, all) => judgements.keepFresh(ids(shown), ids(all)),
  };
}

/**
 * Reads the calls that were recorded since it was asked before; at first those of the last hour. None comes in behind: sequences
 * rise in the order in which they can be read, whichever process writes them (`EXCHANGES_LOCK` of the store).
 */
function pulseReader({ store, evidence, clock }: Runtime, pulses: Pulses): (now: number) => Promise<void> {
  let after = 0;
  return async (now) => {
    // Who looks has often made a call a moment ago; but nobody waits for evidence that can't be written.
    await Promise.race([evidence.settled(), clock.sleep(SETTLE_MS)]);
    for (;;) {
      const page = await store.calls({ since: now - PULSE_MS }, after, PAGE);
      for (const call of page) pulses.add(call);
      after = page.at(-1)?.sequence ?? after;
      if (page.length < PAGE) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    pulses.trim(now);
  };
}

const SETTLE_MS = 250;

async function waitingMoves({ store }: Runtime, now: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { merchant_id, expires_at } of await store.proposals({ state: 'waiting' }, MOST_PROPOSALS))
    if (expires_at > now) counts.set(merchant_id, (counts.get(merchant_id) ?? 0) + 1);
  return counts;
}
