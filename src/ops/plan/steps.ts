/** The steps of one merchant: a change of the settings that differ, then moves; each judged after the steps before it. */
import { isDeepStrictEqual } from 'node:util';
import { PuenteError, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { AuditAction } from '../../proxy/audit.ts';
import { type Merchant, type RoutedKind, routedKinds } from '../../proxy/routing/merchant.ts';
import type { Secret } from '../../proxy/vault.ts';
import type { Person } from '../api/person.ts';
import type { OpsParts } from '../api/route.ts';
import { changeOf } from '../audit.ts';
import { defined } from '../fields.ts';
import { changedBy, differingOf, type SettingsChange, tryCredential } from '../merchants.ts';
import { judgeFor, refuseUnlessAllowed } from '../moves/judged.ts';
import { waitingFor } from '../moves/proposals.ts';
import {
  directionOf,
  FOLLOW,
  isThere,
  type MoveTarget,
  routingChange,
  routingOf,
  settingsAfter,
} from '../moves/target.ts';
import type { Ports } from '../ports.ts';
import { driftOf, fieldsOfMove, type Since } from './drift.ts';
import type { Wanted } from './file.ts';
import { secretNames } from './reference.ts';

/**
 * What would become of a step. `propose`: a second person decides. `waits`: it is proposed already. `held`: a step of the
 * merchant before it is not made; the order keeps units from a stage that the file does not want. A move that only leads
 * back is never held: it is made at any time, as by hand.
 */
export const outcomes = ['make', 'propose', 'waits', 'refused', 'held'] as const;
type Outcome = (typeof outcomes)[number];

/** One operation as by hand: a change of settings, or a move of the merchant or of one kind of its work. */
export interface Step {
  /** `merchant`: it was never seen, so nothing can be done to it. */
  what: 'merchant' | 'settings' | 'move';
  kind: RoutedKind | null;
  outcome: Outcome;
  /** From what to what, as the audit line will say it. */
  changes: Spoken[];
  /** Why it is refused or held; what an allowed move lacks. */
  why: Spoken[];
  /** What was changed by hand since the last apply; null: the difference is the file's. */
  drift: Spoken | null;
  /** The fields of the operation. */
  change: SettingsChange;
  target: MoveTarget | null;
  /** A move that only leads back, and not to a stage that its merchant has still to leave. */
  is_back: boolean;
}

export interface StepsAsk extends Pick<OpsParts, 'ports' | 'checkUrl'> {
  /** An operator at least. */
  person: Person;
  /** Whether stored secrets are compared with given ones: an operator may replace them, a viewer might guess. */
  sees_secrets: boolean;
  override: boolean;
  /** By merchant: why its new credential is refused; empty: upstream accepts it. */
  tried: ReadonlyMap<string, Spoken[]>;
  /** By merchant: why a ramp or a bulk move that has not ended forbids its moves. */
  taken: ReadonlyMap<string, Spoken>;
}

/** @param change as the file names it, with the values of its references. @param since as of `changedSince`. */
export async function stepsOf(
  ask: StepsAsk,
  before: Merchant,
  wanted: Wanted,
  change: SettingsChange,
  since: Since,
): Promise<{ steps: Step[]; notes: Spoken[] }> {
  const { change: differing, notes } = comparedBy(ask, before, change);
  const steps: Step[] = [];
  let state: State = { merchant: before, wished: before, is_held: false, is_unmoved: false };
  if (Object.keys(differing).length > 0) {
    const { after, detail } = changedBy(ask.ports, before, differing);
    const why = refusalOfSettings(ask, before.id, differing);
    const outcome = why.length > 0 ? 'refused' : 'make';
    const drift = driftOf(since, Object.keys(differing));
    const changes = sentencesOf('merchant settings', detail);
    const step = {
      what: 'settings',
      kind: null,
      outcome,
      changes,
      why,
      drift,
      change: differing,
      target: null,
    } as const;
    steps.push({ ...step, is_back: false });
    state = stateAfter(state, { ...state, wished: after, merchant: after }, outcome);
  }
  for (const target of targetsOf(wanted, ask.override)) {
    const move = await moveStep(ask, state, inPresentOrder(state.wished, target), since);
    if (move === null) continue;
    steps.push(move.step);
    state = move.state;
  }
  return { steps, notes };
}

/**
 * The sentences of a refusal as it would be made by hand; other errors are faults, and pass.
 * @param unseen how a file names on purpose what was never seen.
 */
export function refusalOf(error: unknown, unseen: Spoken = say('plan.unseen', {})): Spoken[] {
  if (!(error instanceof PuenteError) || error.said.length === 0) throw error;
  return error.said.map(({ code, facts }) => (code === 'refusal.unseen_purpose' ? unseen : say(code, facts)));
}

// Settings: only those that differ.

/** @returns without stored secrets that the person may not compare with, which `notes` name. */
function comparedBy(
  { ports, sees_secrets }: StepsAsk,
  merchant: Merchant,
  change: SettingsChange,
): { change: SettingsChange; notes: Spoken[] } {
  const hidden = secretNames.filter((name) => !sees_secrets && change[name] && merchant[`sealed_${name}`] !== null);
  const seen = Object.entries(change).filter(([name]) => !hidden.some((one) => one === name));
  return {
    change: differingOf(ports, merchant, Object.fromEntries(seen)),
    notes: hidden.map((setting) => say('plan.not_compared', { setting })),
  };
}

/** Calls of upstream in one plan: at a timeout each, the last answer comes within a minute or two. */
export const MOST_TRIES = 50;
const TRIES_AT_ONCE = 5;

/** Tries the credentials that differ, and no more than `MOST_TRIES`, in the order of the file. */
export async function tryCredentials(
  ports: Ports,
  changes: ReadonlyMap<string, SettingsChange>,
): Promise<StepsAsk['tried']> {
  const tried = new Map<string, Spoken[]>();
  const due: (readonly [string, Secret])[] = [];
  for (const [id, { credential }] of changes) {
    if (!credential) continue;
    const before = await ports.store.merchants.merchant(id);
    if (before !== null && differingOf(ports, before, { credential }).credential === undefined) continue;
    if (due.length < MOST_TRIES) due.push([id, credential]);
    else tried.set(id, [say('plan.credentials', { most: MOST_TRIES })]);
  }
  const next = due.values();
  const tryNext = async (): Promise<void> => {
    for (const [id, credential] of next)
      tried.set(id, await tryCredential(ports, id, credential).then(() => [], refusalOf));
  };
  await Promise.all(Array.from({ length: TRIES_AT_ONCE }, tryNext));
  return tried;
}

/** As by hand: the outbound guard judges a URL, and upstream a credential. */
function refusalOfSettings({ checkUrl, tried }: StepsAsk, id: string, change: SettingsChange): Spoken[] {
  try {
    if (change.notice_url) checkUrl(change.notice_url.reveal());
  } catch (error) {
    return refusalOf(error);
  }
  return change.credential ? (tried.get(id) ?? []) : [];
}

function sentencesOf(action: AuditAction, detail: Record<string, unknown>): Spoken[] {
  return changeOf({ action, detail }).change_said.map(({ code, facts }) => say(code, facts));
}

// Moves.

interface State {
  /** As it would be after the steps before that are made. */
  merchant: Merchant;
  /** As it would be if all of them were. */
  wished: Merchant;
  /** One of them is not made. */
  is_held: boolean;
  /** The merchant's own move is not. */
  is_unmoved: boolean;
}

/** @param made the state if the step is made. */
function stateAfter(before: State, made: Omit<State, 'is_held'>, outcome: Outcome): State {
  return outcome === 'make'
    ? { ...made, is_held: before.is_held }
    : { ...made, merchant: before.merchant, is_held: true };
}

/**
 * Kinds that get a stage of their own come first, so that the merchant's move leaves them alone; kinds that follow the
 * merchant again come last, when it is where they shall be.
 */
function targetsOf({ stage, share, units_in, units_out, kinds = {} }: Wanted, override: boolean): MoveTarget[] {
  const targetOf = (
    to: { stage: MoveTarget['stage'] | typeof FOLLOW; share?: number | undefined },
    kind?: RoutedKind,
  ): MoveTarget => ({
    ...defined({ kind, share: to.share, ...(to.stage === 'canary' ? { units_in, units_out } : {}) }),
    stage: to.stage === FOLLOW ? null : to.stage,
    override,
  });
  const routes = routedKinds.flatMap((kind) => {
    const route = kinds[kind];
    return route === undefined ? [] : [{ route, target: targetOf(route, kind) }];
  });
  return [
    ...routes.filter(({ route }) => route.stage !== FOLLOW).map(({ target }) => target),
    ...(stage === undefined ? [] : [targetOf({ stage, share })]),
    ...routes.filter(({ route }) => route.stage === FOLLOW).map(({ target }) => target),
  ];
}

/** Lists of units have no order: one with the same units is the present one. */
function inPresentOrder({ settings }: Merchant, target: MoveTarget): MoveTarget {
  const presentOf = (name: 'units_in' | 'units_out'): string[] | undefined => {
    const units = target[name];
    if (units === undefined) return undefined;
    return isDeepStrictEqual(new Set(units), new Set(settings[name])) ? settings[name] : units;
  };
  return { ...target, ...defined({ units_in: presentOf('units_in'), units_out: presentOf('units_out') }) };
}

/** Null when the merchant is there already. */
async function moveStep(
  { ports, person, taken }: StepsAsk,
  state: State,
  target: MoveTarget,
  since: Since,
): Promise<{ step: Step; state: State } | null> {
  const { settings: rules } = ports;
  const movedFrom = (merchant: Merchant): Merchant => ({
    ...merchant,
    settings: settingsAfter(rules, merchant.settings, target),
  });
  let [wished, after]: [Merchant, Merchant] = [state.wished, state.merchant];
  const made = (outcome: Outcome, changes: Spoken[], why: Spoken[], is_back = false) => {
    const kind = target.kind ?? null;
    const drift = driftOf(since, fieldsOfMove(kind));
    const step: Step = { what: 'move', kind, outcome, changes, why, drift, change: {}, target, is_back };
    const is_unmoved = state.is_unmoved || (kind === null && outcome !== 'make');
    return { step, state: stateAfter(state, { wished, merchant: after, is_unmoved }, outcome) };
  };
  try {
    [wished, after] = [movedFrom(state.wished), movedFrom(state.merchant)];
  } catch (error) {
    return made('refused', sentencesOf('move proposed', { target }), refusalOf(error));
  }
  const { merchant } = state;
  const sense = directionOf(routingOf(rules, merchant.settings), routingOf(rules, after.settings)).kind;
  // A kind that follows a merchant which does not move yet would follow it to a stage that the file does not want.
  const is_back = sense === 'back' && !(target.stage === null && state.is_unmoved);
  if (state.is_held && !is_back) {
    if (isThere(rules, state.wished.settings, wished.settings)) return null;
    const changes = routesSaid(ports, state.wished, wished, target);
    return made('held', changes, [say('plan.held', {})]);
  }
  if (isThere(rules, merchant.settings, after.settings)) return null;
  const changes = routesSaid(ports, merchant, after, target);
  const other = taken.get(merchant.id);
  if (other !== undefined) return made('refused', changes, [other], is_back);
  const judged = await judgeFor(asIf(ports, merchant), merchant, target, person);
  try {
    refuseUnlessAllowed(judged);
  } catch (error) {
    return made('refused', changes, refusalOf(error), is_back);
  }
  const lacks = judged.judgement.missing.map(({ said }) => say(said.code, said.facts));
  if (judged.judgement.needs !== 'approval') return made('make', changes, lacks, is_back);
  const first = await waitingFor(ports, merchant.id, target);
  if (first === undefined) return made('propose', changes, lacks);
  return made('waits', changes, [say('plan.waits', { name: first.proposed_by, id: first.id })]);
}

function routesSaid(ports: Ports, before: Merchant, after: Merchant, { kind, stage }: MoveTarget): Spoken[] {
  const [from, to] = [routingOf(ports.settings, before.settings), routingOf(ports.settings, after.settings)];
  const change = routingChange(from, to);
  if (!isDeepStrictEqual(change.before, change.after)) return sentencesOf('stage', { ...change });
  // It stays where it is, and is from now on there by itself, or no more.
  return [say('plan.pinned', { kind: kind ?? null, follows: stage === null })];
}

/** The ports for a judgement of a merchant as it would be after the steps before: its move may need its new settings. */
function asIf(ports: Ports, merchant: Merchant): Ports {
  const { merchants } = ports.store;
  const read: typeof merchants.merchant = async (id) => (id === merchant.id ? merchant : merchants.merchant(id));
  return { ...ports, store: { ...ports.store, merchants: { ...merchants, merchant: read } } };
}
