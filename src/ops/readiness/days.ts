/** Readiness by day: each merchant's verdict is stored once a UTC day, because it can't be computed later. */
import { createHash } from 'node:crypto';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { DAY_MS, dayOf, MINUTE_MS } from '../fields.ts';
import type { Ports } from '../ports.ts';
import type { ReportAsk } from '../report/period.ts';
import type { Line } from '../report/report.ts';
import { knownMerchants } from '../seen.ts';
import { type Rounds, startRounds } from '../upkeep/chores.ts';
import { merchantReadiness, mismatchesOnce } from './readiness.ts';

/** Pause between two verdicts, longer than one takes: payments come first. */
const PAUSE_MS = 20;

/** Merchants between two reads of those that another process has judged meanwhile. */
const LOOKED_AT = 25;

/**
 * Judges every merchant without a verdict of today, one after the other, while `mayGoOn` is true: as early in the day
 * as possible. A merchant that can't be judged is left for the next round. Each process starts at another merchant.
 * @returns how many were judged.
 */
export async function keepReadiness(ports: Ports, mayGoOn: () => boolean): Promise<number> {
  const { store, clock, log } = ports;
  const day = Math.floor(clock.now() / DAY_MS);
  const mismatches = mismatchesOnce(ports);
  const all = await knownMerchants(ports);
  const first = createHash('sha256').update(ports.memory.ids.boot).digest().readUInt32BE(0) % Math.max(1, all.length);
  let judged: ReadonlySet<string> = new Set();
  let count = 0;
  for (const [index, { id }] of [...all.slice(first), ...all.slice(0, first)].entries()) {
    if (index % LOOKED_AT === 0) judged = new Set(await store.evidence.judgedOn(day));
    if (judged.has(id)) continue;
    if (!mayGoOn()) break;
    try {
      const { verdict } = await merchantReadiness(ports, id, mismatches);
      await store.evidence.keepReadiness([{ merchant_id: id, day, verdict }]);
      count++;
    } catch (error) {
      log.debug('the verdict of a day could not be kept', { merchant: id, cause: String(error) });
    }
    await clock.sleep(PAUSE_MS);
  }
  return count;
}

/**
 * Days with a verdict, oldest first. For one merchant the newest known verdict: the present one, else that of its last
 * decision of the day, else the stored one. For all merchants the stored ones: only they include every merchant.
 * @param decided verdicts that decisions rested on. @param today the merchant's present verdict; null for all.
 */
export async function readinessDays(
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
  { merchant_id, since, until }: ReportAsk,
  decided: readonly Line<'readiness_days'>[],
  today: Record<Verdict, number> | null,
): Promise<Line<'readiness_days'>[]> {
  const this_day = Math.floor(clock.now() / DAY_MS);
  const [since_day, until_day] = [Math.floor(since / DAY_MS), Math.ceil(until / DAY_MS)];
  const kept = new Map<string, Line<'readiness_days'>>();
  const whose = merchant_id === null ? {} : { merchant_id };
  for (const { day, verdict, merchants } of await store.evidence.readinessDays({ ...whose, since_day, until_day })) {
    const date = dayOf(day * DAY_MS);
    const line = kept.get(date) ?? { day: date, ready: 0, inconclusive: 0, blocked: 0 };
    kept.set(date, { ...line, [verdict]: merchants });
  }
  const by_day = decided.map((line) => [line.day, line] as const);
  const is_asked_for = this_day >= since_day && this_day < until_day;
  const live = today === null || !is_asked_for ? null : { day: dayOf(this_day * DAY_MS), ...today };
  const days = new Map(merchant_id === null ? [...by_day, ...kept] : [...kept, ...by_day]);
  if (live !== null) days.set(live.day, live);
  return [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

/** The first UTC day with a stored verdict, as `2026-01-31`; null for none. */
export async function readinessSince({ store }: Pick<Ports, 'store'>): Promise<string | null> {
  const day = await store.evidence.readinessSince();
  return day === null ? null : dayOf(day * DAY_MS);
}

/** How often merchants that are new, or without a verdict of a new day, are looked for. */
const LOOK_EVERY_MS = 10 * MINUTE_MS;

/** Stores one verdict per merchant and day. */
export function startJudging(ports: Ports, every_ms = LOOK_EVERY_MS): Rounds {
  return startRounds({ log: ports.log, name: 'readiness of the day', every_ms }, async (isStopped) => {
    const mayGoOn = (): boolean => !isStopped() && ports.store.healthy();
    if (mayGoOn()) await keepReadiness(ports, mayGoOn);
  });
}
