/** Evidence: exchanges recorded once with their sums, the findings, verdicts by day, and traffic. */

import { DAY_MS } from '../contract/duration.ts';
import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import { OTHERS } from '../mapping/tables.ts';
import { createLru } from '../proxy/concurrency.ts';
import type {
  CoverageRow,
  DifferenceGroup,
  DifferenceSeen,
  LedgerRow,
  OlderForm,
  ReadinessDay,
  RecordedExchange,
  Traffic,
  UnknownRow,
  VerdictRow,
} from '../proxy/records/evidence.ts';
import type { Room } from '../proxy/records/upkeep.ts';
import { isOlderForm, signatureOf } from '../proxy/shadow/shadow.ts';
import { merchantsIn } from './conditions.ts';
import {
  type CommitResult,
  type Condition,
  filteredReads,
  type Reader,
  type Step,
  type StoreMethods,
  storeFailed,
  type Value,
  type Writer,
} from './engine.ts';
import { type NameKeeper, nameKeeper } from './names.ts';
import { EXCHANGES_LOCK, merchantLock, readsOf } from './rows.ts';
import { sumSteps } from './sums.ts';

/** An exchange recorded again has the same time, so only the time partitions of the batch are read. */
export const KNOWN_IDS = `SELECT id FROM exchanges INDEXED BY sqlite_autoindex_exchanges_1
  WHERE id IN (SELECT value FROM json_each(?)) AND at >= (SELECT ?) AND at <= (SELECT ?)`;

/** Calls without a merchant or an operation count only among the unknown names. */
export function recordingMethods(
  reader: Reader,
  writer: Writer,
  room: () => Room,
  rowsOf: (batch: readonly RecordedExchange[]) => Step[],
): Pick<StoreMethods, 'recordExchanges'> {
  const knownIds = reader.prepare<[string, number, number], { id: string }>(KNOWN_IDS);
  const withNames = nameKeeper(reader);
  const withStored = signatureKeeper(reader);
  let writing: Promise<void> = Promise.resolve();

  /** Each exchange once. Repeated batches are rare: known ids are read only after the unique index refused one. */
  async function record(batch: readonly RecordedExchange[]): Promise<void> {
    const once = [...new Map(batch.map((exchange) => [exchange.id, exchange])).values()];
    if ((await add(once)).kind === 'done') return;
    const known = await knownOf(once);
    const fresh = once.filter((exchange) => !known.has(exchange.id));
    const result = await add(fresh);
    if (result.kind === 'done') return;
    const cause = result.kind === 'constraint' ? result.text : result.kind;
    throw new PuenteError('store_failed', `${fresh.length} exchanges were not recorded (${cause}): record them again.`);
  }

  /** All in one unit, which the unique index refuses when it has an id already: no sum counts an exchange twice. */
  async function add(batch: readonly RecordedExchange[]): Promise<CommitResult> {
    if (batch.length === 0) return { kind: 'done' };
    const { signed, remember } = await withStored(batch);
    const { named, sums } = await withNames((names) => {
      const named = signed.map((one) => withDifferences(one, names));
      return { named, sums: sumSteps(named, names) };
    });
    const result = await writer.commit({ steps: [...rowsOf(named), ...sums], locks: { alone: [EXCHANGES_LOCK] } });
    if (result.kind === 'done') remember();
    return result;
  }

  async function knownOf(batch: readonly RecordedExchange[]): Promise<Set<string>> {
    const ids = JSON.stringify(batch.map((exchange) => exchange.id));
    const times = batch.map((exchange) => exchange.at).sort((one, other) => one - other);
    const rows = await knownIds.all(ids, times[0] ?? 0, times.at(-1) ?? 0);
    return new Set(rows.map((row) => row.id));
  }

  return {
    recordExchanges(batch) {
      // The rest of the disk is for payments: evidence waits, and is dropped and counted when it waits for too long.
      if (room().level !== 'enough') return Promise.reject(storeFailed('full', 'the disk is nearly full'));
      // In sequence, because stored names are read before a batch is summed.
      const written = writing.then(() => record(batch));
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

/** Groups whose signature is known, of all merchants; a merchant has some tens. */
const KNOWN_GROUPS = 10_000;

/**
 * Differences under the signature by which their group is stored: one that an older build made stays, so that its
 * judgement stands and the exchanges that name it still find it. It is recognised once, when it is seen again, because no
 * SQL of an upgrade can read a reason of any wording; once that is committed it is known by its current signature.
 */
function signatureKeeper(reader: Reader) {
  const groups = reader.prepare<[string, string, string], DifferenceGroup>(
    'SELECT * FROM differences WHERE merchant_id = ? AND operation = ? AND what = ? ORDER BY last_at DESC',
  );
  const known = createLru<string>(KNOWN_GROUPS);

  /**
   * @param recognised groups of older builds that another difference of the batch has joined, by merchant and signature.
   * @param fresh what the batch adds to `known`.
   */
  async function stored(
    merchant_id: string,
    { signature, ...one }: DifferenceSeen,
    older: OlderForm,
    recognised: Set<string>,
    fresh: Map<string, string>,
  ): Promise<string> {
    const key = `${merchant_id} ${signature}`;
    const before = fresh.get(key) ?? known.get(key);
    if (before !== undefined) {
      recognised.add(`${merchant_id} ${before}`);
      return before;
    }
    const found = await groups.all(merchant_id, one.operation, one.what);
    const same = found.find((group) => [group.signature, group.current_signature].includes(signature));
    const alike = found.filter(
      (group) =>
        group.current_signature === null &&
        !recognised.has(`${merchant_id} ${group.signature}`) &&
        group.path === one.path &&
        group.legacy === one.legacy &&
        isOlderForm(older, group.orders),
    );
    // Of groups that a reworded reason has divided, a judged one.
    const group = same ?? alike.find(({ state }) => state !== 'new') ?? alike[0];
    fresh.set(key, group?.signature ?? signature);
    if (group !== undefined) recognised.add(`${merchant_id} ${group.signature}`);
    return group?.signature ?? signature;
  }

  /** `remember`: to be called when the batch is committed. */
  return async (batch: readonly RecordedExchange[]) => {
    const signed: RecordedExchange[] = [];
    const recognised = new Set<string>();
    const fresh = new Map<string, string>();
    for (const one of batch) {
      const { merchant_id } = one;
      if (merchant_id === null || one.differences.length === 0) {
        signed.push(one);
        continue;
      }
      const differences: DifferenceSeen[] = [];
      for (const { older, ...seen } of one.differences) {
        const signature =
          older === undefined ? seen.signature : await stored(merchant_id, seen, older, recognised, fresh);
        differences.push(older === undefined ? seen : { ...seen, signature, current_signature: seen.signature });
      }
      signed.push({ ...one, differences });
    }
    const remember = (): void => {
      for (const [key, signature] of fresh) known.set(key, signature);
    };
    return { signed, remember };
  };
}

/** The row of an exchange names the groups that count its differences, so that reports find them. */
function withDifferences(one: RecordedExchange, names: NameKeeper): RecordedExchange {
  const { merchant_id, differences } = one;
  if (merchant_id === null || differences.length === 0) return one;
  const named = differences.map((difference) => {
    const { operation, what, signature } = difference;
    if (names('difference', [merchant_id], signature) === signature) return difference;
    // One group for each operation and kind of difference; it shows the last one.
    const others = signatureOf({ operation, what, path: OTHERS, kind: OTHERS });
    return { ...difference, signature: others, current_signature: others, path: OTHERS };
  });
  return { ...one, differences: named };
}

// Findings in exchanges: the loss ledger, coverage, differences, unknown names and shadow verdicts.

/**
 * Days are counted from 1970-01-01, UTC; periods are half open. `saveDifference` @throws PuenteError not_found, or
 * conflict when the stored revision is another.
 */
export function evidenceMethods(reader: Reader, writer: Writer) {
  return {
    ...findingMethods(reader, writer),
    ...readinessDayMethods(reader, writer),
    ...trafficMethods(reader, writer),
  };
}

function findingMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const of = <Row>(table: string, merchant_id: string | undefined, order: string) =>
    run<Row>([['merchant_id = ?', merchant_id]], (where) => `SELECT * FROM ${table} WHERE ${where} ORDER BY ${order}`);
  const difference: (merchant_id: string, signature: string) => Promise<DifferenceGroup | null> = readsOf(reader).one(
    'SELECT * FROM differences WHERE merchant_id = ? AND signature = ?',
  );
  return {
    ledger: async (merchant_id) => of<LedgerRow>('ledger', merchant_id, MONEY_FIRST),
    coverage: async (merchant_id) => of<CoverageRow>('coverage', merchant_id, 'merchant_id, operation, field'),
    unknowns: async (merchant_id) => of<UnknownRow>('unknowns', merchant_id, 'count DESC, merchant_id, what, name'),
    async verdicts(merchant_id) {
      const order = 'merchant_id, operation, count DESC, verdict, code, error, detail';
      return (await of<VerdictRow>('verdicts', merchant_id, order)).map(verdictOf);
    },
    async differences({ merchant_id, states }, now) {
      const found = await of<DifferenceGroup>('differences', merchant_id, 'last_at DESC, merchant_id, signature');
      const shown = found.map((one) => shownAt(one, now));
      return states === undefined ? shown : shown.filter(({ state }) => states.includes(state));
    },
    async saveDifference(merchant_id, signature, change, revision, audit) {
      const { state, accepted_until, note, who } = change;
      const values: Value[] = [state, accepted_until, note, who, merchant_id, signature, revision];
      const result = await writer.commit({ steps: [{ write: 'save_difference', values, changes: 1 }], audit });
      const group = await difference(merchant_id, signature);
      const named = { merchant: merchant_id, signature };
      if (group === null) throw new PuenteError('not_found', say('refusal.no_difference', named));
      if (result.kind === 'done') return withoutCurrent(group);
      throw new PuenteError('conflict', say('refusal.difference_changed', { ...named, expected: revision }));
    },
  } satisfies Partial<StoreMethods>;
}

const MONEY_FIRST = `CASE weight WHEN 'money' THEN 0 WHEN 'identity' THEN 1 ELSE 2 END, count DESC, merchant_id, operation, path`;

function shownAt(stored: DifferenceGroup, now: number): DifferenceGroup {
  const group = withoutCurrent(stored);
  const { state, accepted_until } = group;
  const is_over = state === 'accepted' && accepted_until !== null && accepted_until <= now;
  return is_over ? { ...group, state: 'new' } : group;
}

/** A group has one signature for everyone who reads it: that under which it is stored. */
function withoutCurrent({ current_signature: _, ...group }: DifferenceGroup): DifferenceGroup {
  return group;
}

/** In the key '' means null. */
function verdictOf(row: VerdictRow): VerdictRow {
  const orNull = (text: string | null) => (text === '' ? null : text);
  return { ...row, code: orNull(row.code), error: orNull(row.error), detail: orNull(row.detail) };
}

// Verdicts by day: the merchants judged, and how many had each verdict.

function readinessDayMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const { one, list } = readsOf(reader);
  return {
    async keepReadiness(rows) {
      const values = JSON.stringify(rows.map(({ merchant_id, day, verdict }) => [merchant_id, day, verdict]));
      const shared = rows.map(({ merchant_id }) => merchantLock(merchant_id));
      await writer.commit({ steps: [{ write: 'keep_readiness', values: [values] }], locks: { shared } });
    },
    readinessDays: (filter) =>
      run<ReadinessDay>(
        daysOf(filter),
        (where) => `SELECT day, verdict, count(*) AS merchants FROM readiness_days WHERE ${where}
          GROUP BY day, verdict ORDER BY day, verdict`,
      ),
    readinessSince: one('SELECT min(day) AS day FROM readiness_days', ({ day }: { day: number | null }) => day),
    judgedOn: list('SELECT merchant_id AS id FROM readiness_days WHERE day = ? ORDER BY merchant_id', idOf),
  } satisfies Partial<StoreMethods>;
}

/** Days are half open: [since, until). */
function daysOf(filter: { merchant_id?: string; since_day?: number; until_day?: number }): Condition[] {
  return [
    ['merchant_id = ?', filter.merchant_id],
    ['day >= ?', filter.since_day],
    ['day < ?', filter.until_day],
  ];
}

function idOf({ id }: { id: string }): string {
  return id;
}

// Traffic: calls by day, the units that they named, and the evidence that was dropped.

function trafficMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const { list } = readsOf(reader);
  const called: (after: string) => Promise<string[]> = list(merchantsIn('traffic'), idOf);
  const shed = reader.prepare<[number, number], { shadow: number; evidence: number }>(
    `SELECT coalesce(sum(count) FILTER (WHERE reason = 'shadow'), 0) AS shadow,
       coalesce(sum(count) FILTER (WHERE reason = 'evidence'), 0) AS evidence FROM shed WHERE day >= ? AND day < ?`,
  );
  return {
    traffic: (filter) =>
      run<Traffic>(
        daysOf(filter),
        (where) => `SELECT * FROM traffic WHERE ${where} ORDER BY merchant_id, day, operation, lane, outcome`,
      ),
    calledMerchants: () => called(''),
    units: list('SELECT * FROM seen_units WHERE merchant_id = ? ORDER BY slot'),
    async noteShed(reason, count, at) {
      await writer.commit({ steps: [{ write: 'add_shed', values: [Math.floor(at / DAY_MS), reason, count] }] });
    },
    shed: async (since_day, until_day) => (await shed.get(since_day, until_day)) ?? { shadow: 0, evidence: 0 },
  } satisfies Partial<StoreMethods>;
}
