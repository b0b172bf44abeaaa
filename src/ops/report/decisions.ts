/** Decisions (made by people) and incidents (reported by Puente) of a period, from the audit chain. */
import { INTENT_ID } from '../../contract/identifiers.ts';
import type { AuditAction, AuditLine } from '../../proxy/audit.ts';
import { shownUrl } from '../../proxy/evidence/redact-text.ts';
import { type MismatchKind, mismatchKinds } from '../../proxy/sales/orphans.ts';
import { BY_ITSELF } from '../api/person.ts';
import { changeOf, reasonOf } from '../audit.ts';
import { HOUR_MS, iso, pagesOf } from '../fields.ts';
import type { Ports, Store } from '../ports.ts';
import type { ReportAsk } from './period.ts';
import type { Line } from './report.ts';

/** The newest lines that each of the two lists shows; the number of older ones is reported. */
const MOST_LINES = 5_000;
const PAGE = 500;
/** Entries shown of a list in a line, so that lines of thousands of units stay small; the audit trail has them all. */
const MOST_ENTRIES = 20;
/** A clock that was set back puts later lines before earlier ones, by at most this much. */
const CLOCK_MARGIN_MS = HOUR_MS;

interface Decided {
  /** Newest first. */
  lines: Line<'decisions'>[];
  left_out: number;
}

/** Where new work of a merchant goes changed with this line. */
export interface Move extends Pick<Line<'decisions'>, 'sequence' | 'before' | 'after'> {
  merchant_id: string;
  /** Epoch ms. */
  at: number;
}
const MOVES: readonly string[] = ['stage', 'rollback', 'safety stop', 'safety reset'] satisfies AuditAction[];

/** A disagreement with upstream that reconciliation or a read reported. */
export interface FoundMismatch extends Pick<Line<'decisions'>, 'sequence' | 'at' | 'subject' | 'reason' | 'said'> {
  kind: MismatchKind;
  merchant_id: string;
  order_id: string | null;
  unit: string | null;
  /** Of an orphan whose sale may be stored nowhere. */
  amount_minor: number | null;
  is_repaired: boolean;
}

/** Lines that Puente wrote (safety stops, settlements, mismatches) are incidents, all others decisions. */
export async function decisionLines(
  ports: Ports,
  ask: ReportAsk,
  signal: AbortSignal | null,
): Promise<{ incidents: Decided; decisions: Decided; moves: Move[]; mismatches: FoundMismatch[] }> {
  const incidents = newestOf();
  const decisions = newestOf();
  const moves: Move[] = [];
  const mismatches: FoundMismatch[] = [];
  const owners = new Map<string, string | null>();
  for await (const line of linesBetween(ports.store, ask.since, ask.until)) {
    signal?.throwIfAborted();
    if (ask.merchant_id !== null && !(await concerns(ports.store, owners, line, ask.merchant_id))) continue;
    const one = shown(line);
    (line.who === BY_ITSELF ? incidents : decisions).add(one);
    const { sequence, before, after } = one;
    if (MOVES.includes(line.action)) moves.push({ merchant_id: line.subject, at: line.at, sequence, before, after });
    const kind = mismatchKinds.find((name) => line.action === `mismatch ${name}`);
    if (kind !== undefined) mismatches.push(mismatchOf(line, one, kind));
  }
  moves.sort((a, b) => a.at - b.at || a.sequence - b.sequence);
  return { incidents: incidents.decided(), decisions: decisions.decided(), moves, mismatches };
}

function mismatchOf({ detail }: AuditLine, shown_line: Line<'decisions'>, kind: MismatchKind): FoundMismatch {
  const { sequence, at, subject, reason, said } = shown_line;
  const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const { merchant, order_id, unit, repaired, amount_minor: minor } = detail;
  const amount_minor = typeof minor === 'number' ? minor : null;
  const of = { merchant_id: textIn(merchant) ?? '', order_id: textIn(order_id), unit: textIn(unit) };
  return { kind, sequence, at, subject, reason, said, ...of, amount_minor, is_repaired: repaired === true };
}

/** Ascending, page by page. The chain is in time order except where the clock was set, so its start is searched for. */
async function* linesBetween(store: Store, since: number, until: number): AsyncGenerator<AuditLine> {
  const first = await lastBefore(store, since - CLOCK_MARGIN_MS);
  for await (const page of pagesOf((after, size) => store.audit.auditsAfter(after, size), PAGE, first)) {
    for (const line of page) {
      if (line.at >= until + CLOCK_MARGIN_MS) return;
      if (line.at >= since && line.at < until) yield line;
    }
  }
}

/** Sequence of the last line older than `at` (epoch ms); 0 when there is none. */
export async function lastBefore(store: Store, at: number): Promise<number> {
  let low = 0;
  let high = (await store.audit.audits(1))[0]?.sequence ?? 0;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [line] = await store.audit.auditsAfter(middle, 1);
    if (line === undefined || line.at >= at) high = middle;
    else low = line.sequence;
  }
  return low;
}

/** Whether a line is about the merchant or one of its sales; a sale's line has the sale as its subject. */
async function concerns(
  store: Store,
  owners: Map<string, string | null>,
  { subject, detail }: AuditLine,
  merchant_id: string,
): Promise<boolean> {
  if (subject === merchant_id || detail.merchant === merchant_id) return true;
  if (detail.merchant !== undefined || !INTENT_ID.test(subject)) return false;
  if (!owners.has(subject)) owners.set(subject, (await store.links.link(subject))?.merchant_id ?? null);
  return owners.get(subject) === merchant_id;
}

function shown({ sequence, at, who, action, subject, reason: stored, detail }: AuditLine): Line<'decisions'> {
  const { text: reason, said } = reasonOf({ who, reason: stored, detail });
  const { before = null, after = null, ...evidence } = shortened(detail) as typeof detail; // an object stays one
  const change = changeOf({ action, detail });
  return { sequence, at: iso(at), who, action, subject, reason, said, ...change, before, after, evidence };
}

/** Without long lists, and without the path of a notice URL, which lines of the first builds contain. */
function shortened(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return name === 'notice_url' ? shownUrl(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shortened(part, key)]));
  const more = value.length - MOST_ENTRIES;
  return [...value.slice(0, MOST_ENTRIES).map((one) => shortened(one)), ...(more > 0 ? [`${more} more`] : [])];
}

/** Keeps the newest lines of many, in bounded memory. */
function newestOf(): { add(line: Line<'decisions'>): void; decided(): Decided } {
  let kept: Line<'decisions'>[] = [];
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
