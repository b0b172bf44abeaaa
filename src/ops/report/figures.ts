/** The figures of a period that charts are drawn of: a part of the report, without what takes long to judge or to prove. */
import type { z } from 'zod';
import type { Verdict } from '../../proxy/records/evidence.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { Figures } from '../charts/figures.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import { readinessDays, readinessSince } from '../readiness/readiness-days.ts';
import { askOf, reportQuery } from './ask.ts';
import { decisionLines } from './decisions.ts';
import { lossLines } from './findings.ts';
import { type ReportAsk, requirePeriod, tallyOf } from './gather.ts';
import { noticeLines } from './notices.ts';
import { dayLines, waitLines } from './tally.ts';
import { verdictDays } from './verdict-days.ts';

export const figuresQuery = reportQuery.pick({ merchant: true, since: true, until: true });
export type FiguresQuery = z.infer<typeof figuresQuery>;

export interface FiguresView extends Figures {
  /** Null: the fleet. */
  merchant_id: string | null;
  made_at: string;
  /** [since, until), ISO 8601. */
  period: { since: string; until: string };
  /** ISO 8601, the oldest call of any merchant that is still kept: nothing before it can be shown; null for none. */
  calls_since: string | null;
  /** UTC day of the first verdict that is kept; null for none. */
  readiness_since: string | null;
}

/**
 * Reports and figures wait for one another, and payments for none of them.
 * @param signal aborted when nobody waits for it any more; then it rejects with the signal's reason.
 * @throws PuenteError bad_request when the period is empty.
 */
export function viewFigures(runtime: Runtime, query: FiguresQuery, signal: AbortSignal): Promise<FiguresView> {
  const ask = askOf(runtime, query);
  requirePeriod(ask);
  return runtime.serial.run('report', () => gatherFigures(runtime, ask, signal));
}

async function gatherFigures(runtime: Runtime, ask: ReportAsk, signal: AbortSignal): Promise<FiguresView> {
  signal.throwIfAborted();
  await runtime.evidence.settled();
  const tally = await tallyOf(runtime.store, ask, signal);
  const notices = await noticeLines(runtime, ask, signal);
  const { decisions } = await decisionLines(runtime, ask, signal);
  const today = await verdictNow(runtime, ask.merchant_id);
  const [oldest] = await runtime.store.exchanges({}, 0, 1);
  return {
    merchant_id: ask.merchant_id,
    made_at: new Date(runtime.clock.now()).toISOString(),
    period: { since: new Date(ask.since).toISOString(), until: new Date(ask.until).toISOString() },
    calls_since: oldest === undefined ? null : new Date(oldest.at).toISOString(),
    readiness_since: await readinessSince(runtime),
    days: dayLines(tally),
    waits: waitLines(tally),
    losses: lossLines(runtime, tally).map(({ operation, path, count, would_be_count }) => {
      return { operation, path, count, would_be_count };
    }),
    notice_days: notices.days,
    readiness_days: await readinessDays(runtime, ask, verdictDays(decisions.lines), today),
  };
}

/** Null for all: thousands take too long to judge while somebody waits for a page. */
async function verdictNow(runtime: Runtime, merchant_id: string | null): Promise<Record<Verdict, number> | null> {
  if (merchant_id === null) return null;
  return { ready: 0, blocked: 0, inconclusive: 0, [(await merchantReadiness(runtime, merchant_id)).verdict]: 1 };
}
