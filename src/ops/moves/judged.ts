/** Judges a move on the store's evidence; refuses it with what is missing, or saves it with its evidence. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { AuditEntry } from '../../proxy/audit.ts';
import type { DifferenceGroup, Traffic } from '../../proxy/records/evidence.ts';
import type { PartOf } from '../../proxy/records/routing.ts';
import type { Merchant, MerchantSettings, RoutedKind } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import { DAY_MS } from '../fields.ts';
import { type MerchantView, merchantView } from '../merchants.ts';
import { openSales } from '../open-sales.ts';
import type { Ports } from '../ports.ts';
import { differenceKinds } from '../readiness/differences.ts';
import { comparedCalls, shadowedCreates, sumOf } from '../readiness/facts.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import { type Judgement, judgeMove } from './judge.ts';
import {
  type Facts,
  isThere,
  type MoveTarget,
  routingChange,
  routingOf,
  type Sample,
  type Situation,
} from './target.ts';

export interface Judged {
  before: Merchant;
  situation: Situation;
  judgement: Judgement;
  after: MerchantSettings;
}

export type Moved = MerchantView & { judgement: Judgement };

/** Reads the evidence and judges; moves nothing. */
export async function judgeFor(ports: Ports, before: Merchant, target: MoveTarget, person: Person): Promise<Judged> {
  const situation = await situationOf(ports, before, target, person);
  return { before, situation, ...judgeMove(situation) };
}

/** Whether the move would write nothing that is not so already. */
export function isNothing({ situation: { rules, merchant }, after }: Judged): boolean {
  return isThere(rules, merchant.settings, after);
}

/** Whether it is allowed, or lacks nothing but the hours of moves: what an override or a gate that advises waives is no lack. */
export function isAllowedInWindow({ situation }: Judged): boolean {
  return judgeMove({ ...situation, settings: { ...situation.settings, window: null } }).judgement.allowed;
}

/** @throws PuenteError refused: one sentence for each missing thing, with the command that gives it. */
export function refuseUnlessAllowed({ before, judgement }: Pick<Judged, 'before' | 'judgement'>): void {
  if (judgement.allowed) return;
  const missing = judgement.missing.flatMap(({ what, said, command }) => [
    { text: what, said },
    ...(command === null ? [] : [say('refusal.try', { command })]),
  ]);
  const hint = judgement.needs === 'override' ? [say('refusal.override', {})] : [];
  const sentences = [say('refusal.not_moved', { merchant: before.id }), ...missing, ...hint];
  throw new PuenteError('refused', sentences, {
    facts: { missing: judgement.missing.map(({ code }) => code).join(' '), needs: judgement.needs },
    between: '\n',
  });
}

/**
 * Saves an allowed move. @param extra further facts for the audit line, such as the proposer.
 * @param part_of of which it is a step: both are written, or neither.
 * @throws PuenteError conflict when the merchant, or what the move is a step of, changed since it was judged.
 */
export async function makeMove(
  ports: Ports,
  judged: Judged,
  why: string,
  person: Person,
  extra: Record<string, unknown> = {},
  part_of: PartOf = {},
): Promise<Moved> {
  const { before, after, judgement } = judged;
  ports.memory.failpoint('stage.before_save');
  const saved = await ports.store.merchants.saveMerchant(
    { ...before, settings: after },
    before.revision,
    moveAudit(ports, judged, why, person.name, extra),
    part_of,
  );
  ports.memory.failpoint('stage.saved');
  ports.log.info('stage moved', { merchant: before.id, action: judgement.preview.changes.join(', ') || 'no change' });
  return { ...merchantView(ports, saved), judgement };
}

function moveAudit(
  ports: Ports,
  { before, situation, judgement, after }: Judged,
  why: string,
  who: string,
  extra: Record<string, unknown>,
): AuditEntry {
  const { rules, readiness, facts, target, settings } = situation;
  const [from, to] = [routingOf(rules, before.settings), routingOf(rules, after)];
  const { kind, missing, overridden, preview } = judgement;
  return {
    at: ports.clock.now(),
    who,
    action: 'stage',
    subject: before.id,
    reason: why,
    detail: {
      ...routingChange(from, to),
      target,
      judgement: { kind, gate: settings.gate, overridden, missing: missing.map(({ code, what }) => ({ code, what })) },
      evidence: {
        verdict: readiness.verdict,
        samples: facts.samples,
        exchange_sequence: facts.exchange_sequence,
        tables_revision: ports.tables.of(before.id).revision,
      },
      touched: {
        units_now: preview.units_now,
        units_later: preview.units_later,
        calls_a_day: preview.calls_a_day_touched,
      },
      ...extra,
    },
  };
}

/** Days of traffic that the mean of calls per day is taken over. */
const DAYS = 7;

async function situationOf(ports: Ports, merchant: Merchant, target: MoveTarget, person: Person): Promise<Situation> {
  const { settings: rules, clock } = ports;
  const readiness = await merchantReadiness(ports, merchant.id);
  const facts = await gatherFacts(ports, merchant.id);
  return { merchant, target, person, now: clock.now(), rules, settings: rules.moves, readiness, facts };
}

async function gatherFacts(ports: Ports, merchant_id: string): Promise<Facts> {
  const { store, clock } = ports;
  const now = clock.now();
  const [traffic, coverage, verdicts, units, differences, open, exchange_sequence] = await Promise.all([
    store.evidence.traffic({ merchant_id }),
    store.evidence.coverage(merchant_id),
    store.evidence.verdicts(merchant_id),
    store.evidence.units(merchant_id),
    store.evidence.differences({ merchant_id, states: ['new'] }, now),
    openSales(ports, merchant_id),
    store.exchanges.lastExchange(),
  ]);
  const today = Math.floor(now / DAY_MS);
  const sample = (kind: RoutedKind): Sample => {
    const mine = ports.tables.operations.filter((one) => one.kind === kind);
    const called = trafficOf(
      traffic.filter((row) => row.kind === kind),
      today,
    );
    if (kind !== 'devices') {
      const creates = mine.filter(({ upstream }) => upstream === 'create');
      return { ...called, shadow: shadowedCreates(creates, { traffic, verdicts, coverage }) };
    }
    // Lists of devices are compared on both sides.
    const read_twice = comparedCalls(coverage.filter(({ operation }) => mine.some(({ name }) => name === operation)));
    return { ...called, shadow: Math.min(called.seen, read_twice) };
  };
  return {
    samples: { devices: sample('devices'), intents: sample('intents'), qr: sample('qr') },
    units,
    open,
    worst_difference: worst(differences),
    predicted_refusals: verdicts
      .filter(({ verdict, count, refused_on_legacy }) => verdict !== 'accepted' && count > refused_on_legacy)
      .toSorted((one, other) => other.count - other.refused_on_legacy - (one.count - one.refused_on_legacy))
      .map(({ operation, code, error, detail, count, refused_on_legacy }) => ({
        ...{ operation, code, error, detail },
        ...{ count: count - refused_on_legacy, refused_on_legacy },
      })),
    exchange_sequence,
  };
}

function trafficOf(rows: Traffic[], today: number): Omit<Sample, 'shadow'> {
  const first = rows.reduce((earliest, { day }) => Math.min(earliest, day), today);
  const days = Math.min(DAYS, today - first + 1);
  return {
    seen: sumOf(rows),
    orders: sumOf(rows.filter(({ lane, outcome }) => lane === 'orders' && outcome === 'ok')),
    calls_a_day: sumOf(rows.filter(({ day }) => day > today - DAYS)) / days,
  };
}

function worst(groups: DifferenceGroup[]): string | null {
  const gravity = ({ what }: DifferenceGroup): number => differenceKinds.indexOf(what);
  const [first] = groups.toSorted((one, other) => gravity(one) - gravity(other) || other.count - one.count);
  if (first === undefined) return null;
  const where = first.path === '' ? '' : ` in ${first.path}`;
  return `${first.operation}: ${first.what}${where} differs, seen ${first.count} times (${first.signature})`;
}
