/** Decisions and incidents of a period, from the audit chain: people decide, Puente reports. */
import { INTENT_ID } from '../../contract/identifiers.ts';
import { shownUrl } from '../../proxy/notices/guard.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { AuditLine, Store } from '../../proxy/store.ts';
import { BY_ITSELF } from '../api/person.ts';
import { reasonSaid } from '../audit/audit-trail.ts';
import type { ReportAsk } from './gather.ts';
import type { DecisionLine } from './report.ts';

/** The newest lines that each of the two lists shows; how many older ones there are is said. */
const MOST_LINES = 5_000;
const PAGE = 500;
/** Entries that a list of a line shows, so that lines of thousands of units stay small; the audit trail has them all. */
const MOST_ENTRIES = 20;
/** A clock that was set back puts later lines before earlier ones; nobody sets one back by more. */
const CLOCK_MARGIN_MS = 3_600_000;

export interface Decided {
  /** Newest first. */
  lines: DecisionLine[];
  left_out: number;
}

/** What Puente wrote by itself (safety stops, settlements, mismatches) is an incident, the rest a decision. */
export async function decisionLines(
  runtime: Runtime,
  ask: ReportAsk,
  signal: AbortSignal | null,
): Promise<{ incidents: Decided; decisions: Decided }> {
  const incidents = newestOf();
  const decisions = newestOf();
  const owners = new Map<string, string | null>();
  for await (const line of linesBetween(runtime.store, ask.since, ask.until)) {
    signal?.throwIfAborted();
    if (ask.merchant_id !== null && !(await concerns(runtime.store, owners, line, ask.merchant_id))) continue;
    (line.who === BY_ITSELF ? incidents : decisions).add(shown(line));
  }
  return { incidents: incidents.decided(), decisions: decisions.decided() };
}

/** Ascending, a page at a time. The chain is in the order of time but for clocks that were set, so its start is searched for. */
async function* linesBetween(store: Store, since: number, until: number): AsyncGenerator<AuditLine> {
  for (let after = await lastBefore(store, since - CLOCK_MARGIN_MS); ; ) {
    const page = await store.auditsAfter(after, PAGE);
    for (const line of page) {
      if (line.at >= until + CLOCK_MARGIN_MS) return;
      if (line.at >= since && line.at < until) yield line;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.sequence;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Sequence of a line before which every line is older; 0 when there is none. */
export async function lastBefore(store: Store, at: number): Promise<number> {
  let low = 0;
  let high = (await store.audits(1))[0]?.sequence ?? 0;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [line] = await store.auditsAfter(middle, 1);
    if (line === undefined || line.at >= at) high = middle;
    else low = line.sequence;
  }
  return low;
}

/** A line about the merchant, or about something of it: a sale's line names the sale. */
async function concerns(
  store: Store,
  owners: Map<string, string | null>,
  { subject, detail }: AuditLine,
  merchant_id: string,
): Promise<boolean> {
  if (subject === merchant_id || detail.merchant === merchant_id) return true;
  if (detail.merchant !== undefined || !INTENT_ID.test(subject)) return false;
  if (!owners.has(subject)) owners.set(subject, (await store.link(subject))?.merchant_id ?? null);
  return owners.get(subject) === merchant_id;
}

function shown({ sequence, at, who, action, subject, reason, detail }: AuditLine): DecisionLine {
  const said = reasonSaid({ who, reason });
  const { before = null, after = null, ...evidence } = told(detail) as typeof detail; // an object stays one
  return { sequence, at: new Date(at).toISOString(), who, action, subject, reason, said, before, after, evidence };
}

/** Without what is too long, and without the path of a notice URL, which lines of the first builds have whole. */
function told(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return name === 'notice_url' ? shownUrl(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, told(part, key)]));
  const more = value.length - MOST_ENTRIES;
  return [...value.slice(0, MOST_ENTRIES).map((one) => told(one)), ...(more > 0 ? [`${more} more`] : [])];
}

/** Keeps the newest lines of many, in bounded memory. */
function newestOf(): { add(line: DecisionLine): void; decided(): Decided } {
  let kept: DecisionLine[] = [];
  let left_out = 0;
  const cut = (): void => {
    left_out += Math.max(0, kept.length - MOST_LINES);
    kept = kept.slice(-MOST_LINES);
  };
  return {
    add(line) {
      kept.push(line);
      if (kept.length >= 2 * MOST_LINES) cut();
    },
    decided() {
      cut();
      return { lines: kept.toReversed(), left_out };
    },
  };
}
