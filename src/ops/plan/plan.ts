/** The plan of a file of merchants: what would change, what drifted, what would be refused; judged as by hand. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { type Merchant, routedKinds } from '../../proxy/routing/merchant.ts';
import { Secret } from '../../proxy/vault.ts';
import { isEnough, type Person } from '../api/person.ts';
import { issueSaid } from '../api/route.ts';
import { defined, iso, said, time } from '../fields.ts';
import { type MerchantView, merchantChange, merchantView, type SettingsChange } from '../merchants.ts';
import { isWaiting } from '../moves/bulk-decision.ts';
import { openRamps } from '../moves/ramp.ts';
import { moveTarget, routeText, routingOf, unitsOf } from '../moves/target.ts';
import type { Ports } from '../ports.ts';
import { knownMerchants, merchantToChange } from '../seen.ts';
import { type Apply, changedSince, lastApplies } from './drift.ts';
import { LONGEST_TEXT, readMerchants, settingNames, type Wanted } from './file.ts';
import { isSecretName, REFERENCE, secretNames } from './reference.ts';
import { outcomes, refusalOf, type Step, type StepsAsk, stepsOf, tryCredentials } from './steps.ts';

export const planAsk = z.strictObject({
  file: z
    .string()
    .regex(/^[^\p{Cc}/\\]{1,120}$/u)
    .describe('the name of the file, for errors and audit lines'),
  text: z
    .string()
    .min(1)
    .max(LONGEST_TEXT, encoded(say('file.long', { most: LONGEST_TEXT })))
    .transform(normalized)
    .describe('its content: YAML, or JSON; its digest is that of the text with one `\\n` at the end of each line'),
  secrets: z
    .record(
      z.string().max(300),
      z.string().transform((text) => new Secret(text)),
    )
    .default({})
    .describe('the values of its references, such as env:SHOP_SECRET; used, and never shown'),
  override: moveTarget.shape.override,
});
type PlanAsk = z.infer<typeof planAsk>;

/** As most editors write it: a text that went through a form has other ends of lines, and often none at its own end. */
function normalized(text: string): string {
  return `${text.replaceAll('\r\n', '\n').trimEnd()}\n`;
}

export interface MerchantPlan {
  merchant_id: string;
  name: string | null;
  /** 0 without a row. */
  revision: number;
  is_new: boolean;
  steps: Step[];
  notes: Spoken[];
  /** What the store has and the file does not name; it stays. */
  left: Left[];
}

type Left = z.infer<typeof leftView>;

export interface Plan {
  file: string;
  /** Of the text, hex. */
  sha256: string;
  digest: string;
  /** The last apply that named any of the merchants. */
  last: Apply | null;
  merchants: MerchantPlan[];
  /** Merchants of the store that the file does not name; they stay as they are. */
  absent: Merchant[];
}

/**
 * Reads the store, tries an operator's new credentials at upstream (`MOST_TRIES` of them), and changes nothing. Moves are judged as an operator's at least: a viewer sees what the file would do
 * when an operator applies it.
 * @throws PuenteError bad_request for a file that can't be read, or references without their values, all of them.
 */
export async function makePlan(
  parts: Pick<StepsAsk, 'ports' | 'checkUrl'>,
  ask: PlanAsk,
  person: Person,
): Promise<Plan> {
  const { ports } = parts;
  const { wanted, placeOf } = readMerchants(ask.file, ask.text);
  const sha256 = createHash('sha256').update(ask.text).digest('hex');
  const missing = new Map<string, Spoken>();
  const changes = wanted.map((one, nth) => changeWanted(one, ask, (field) => placeOf(nth, field), missing));
  if (missing.size > 0) throw new PuenteError('bad_request', [...missing.values()], { between: '\n' });
  const applies = await lastApplies(
    ports,
    wanted.map(({ id }) => id),
  );
  const is_operator = isEnough(person.role, 'operator');
  const judge: Person = is_operator ? person : { ...person, role: 'operator' };
  const { override } = ask;
  const steps = {
    ...parts,
    person: judge,
    sees_secrets: is_operator,
    override,
    taken: await takenBy(ports),
    tried: is_operator
      ? await tryCredentials(ports, new Map(wanted.map(({ id }, nth) => [id, changes[nth] ?? {}])))
      : new Map(),
  };
  const merchants: MerchantPlan[] = [];
  for (const [nth, one] of wanted.entries()) {
    merchants.push(await planMerchant(steps, one, changes[nth] ?? {}, applies));
    // Each is read and judged from the store: payments run between two.
    await yieldToEventLoop();
  }
  const named = new Set(wanted.map(({ id }) => id));
  const absent = (await knownMerchants(ports)).filter(({ id }) => !named.has(id));
  const last = applies.find(({ merchants: its }) => wanted.some(({ id }) => its.has(id))) ?? null;
  const digest = digestOf(ports, sha256, override, merchants, changes);
  return { file: ask.file, sha256, digest, last, merchants, absent };
}

async function planMerchant(
  ask: StepsAsk,
  wanted: Wanted,
  change: SettingsChange,
  applies: readonly Apply[],
): Promise<MerchantPlan> {
  const { ports } = ask;
  const { id: merchant_id, units_in, units_out } = wanted;
  const planned = { merchant_id, name: wanted.name ?? null, revision: 0, is_new: wanted.new, notes: [], left: [] };
  let before: Merchant | null = null;
  let is_new = wanted.new;
  try {
    before = await merchantToChange(ports, merchant_id, wanted);
    // A file keeps its `new: true`: it must not let mistyped units of the merchant pass from then on.
    is_new &&= before.revision === 0;
    await merchantToChange(ports, merchant_id, { new: is_new }, unitsOf(defined({ units_in, units_out })));
  } catch (error) {
    const unseen = before === null || before.revision === 0 ? 'plan.unseen' : 'plan.unseen_unit';
    const why = refusalOf(error, say(unseen, unseen === 'plan.unseen' ? {} : { merchant: merchant_id }));
    const step: Step = {
      ...{ what: 'merchant', kind: null, outcome: 'refused', changes: [], why },
      ...{ drift: null, change: {}, target: null, is_back: false },
    };
    return { ...planned, steps: [step] };
  }
  const since = await changedSince(ports, merchant_id, applies);
  const { steps, notes } = await stepsOf(ask, before, wanted, change, since);
  return {
    ...{ merchant_id, is_new, steps, revision: before.revision },
    ...{ name: before.settings.name ?? planned.name, left: leftOf(ports, before, wanted) },
    notes: [...notes, ...notesOf(ports, before)],
  };
}

/**
 * The settings that an entry names, with the values of its references. @param missing takes a sentence for each reference
 * without its value. @throws PuenteError bad_request.
 */
function changeWanted(
  wanted: Wanted,
  { secrets }: PlanAsk,
  placeOf: (field: string) => string,
  missing: Map<string, Spoken>,
): SettingsChange {
  const named: Record<string, unknown> = Object.fromEntries(
    Object.entries(wanted).filter(([name]) => settingNames.includes(name)),
  );
  for (const name of secretNames) {
    const text = wanted[name];
    if (text === null) named[name] = null;
    if (text === undefined || text === null) continue;
    const [place, reference] = [placeOf(name), text];
    const secret = REFERENCE.test(text) ? secrets[text] : new Secret(text);
    if (secret === undefined) {
      if (!missing.has(reference)) missing.set(reference, say('file.no_secret', { place, reference }));
      continue;
    }
    const field = merchantChange.shape[name];
    const taken = field.safeParse(secret.reveal(), { reportInput: true });
    const [issue] = taken.error?.issues ?? [];
    if (issue !== undefined)
      throw new PuenteError('bad_request', say('file.value', { place, reference, wrong: issueSaid(field, issue) }));
    named[name] = taken.data;
  }
  return named as SettingsChange; // the names of `merchantChange`, parsed by its schemas
}

/** Bulk moves that are read. */
const MOST_READ = 500;

/** Merchants that a ramp or a bulk move still has to move: two owners of one stage would undo one another. */
export async function takenBy(ports: Ports): Promise<Map<string, Spoken>> {
  const bulk = await ports.store.moves.bulkMoves({ states: ['running'], is_ramp: false }, MOST_READ);
  return new Map(
    [...bulk, ...(await openRamps(ports))].flatMap(({ id, ramp, items }) => {
      const [what, command] = ramp === null ? ['bulk', 'puente bulk abort'] : ['ramp', 'puente ramps cancel'];
      return items
        .filter(isWaiting)
        .map(({ merchant_id }) => [merchant_id, say('plan.taken', { merchant: merchant_id, what, id, command })]);
    }),
  );
}

/** Enough for people to compare two of them, and too many to meet by chance. */
const DIGEST_DIGITS = 16;

/**
 * Covers the file, the values given for its references, the revision of each merchant, and each step with its outcome: an
 * apply has to find them again. Stored secrets are not in it, and a step that changes secrets alone is left out: a viewer's
 * plan, which does not compare them, has the same digest.
 */
function digestOf(
  { vault }: Ports,
  sha256: string,
  override: boolean,
  merchants: readonly MerchantPlan[],
  changes: readonly SettingsChange[],
): string {
  // Keyed: a digest is shown, and a guess of a secret must not be tried against it elsewhere.
  const given = changes.map((change) =>
    secretNames.map((name) => change[name] && vault.keyed('plan value', change[name].reveal())),
  );
  const seen = merchants.map(({ merchant_id, revision, steps }) => [
    ...[merchant_id, revision],
    steps.flatMap(({ what, kind, outcome, change, changes }) => {
      // Of settings their names: the revision covers their values before, and the file those after.
      const names = Object.keys(change).filter((name) => !isSecretName(name));
      const shown = what === 'settings' ? names : changes.map(({ text }) => text);
      return what === 'settings' && shown.length === 0 ? [] : [[what, kind, outcome, shown]];
    }),
  ]);
  return createHash('sha256')
    .update(JSON.stringify([sha256, override, given, seen]))
    .digest('hex')
    .slice(0, DIGEST_DIGITS);
}

function notesOf({ clock }: Ports, { settings, trips }: Merchant): Spoken[] {
  const now = clock.now();
  const windows = settings.brownouts.filter(({ aborted_at, until }) => aborted_at === null && until > now);
  return [
    ...routedKinds.filter((kind) => trips[kind] !== undefined).map((kind) => say('plan.stopped', { kind })),
    ...windows.map(({ from, until }) => say('plan.brownout', { since_at: iso(from), until_at: iso(until) })),
  ];
}

function leftOf(ports: Ports, merchant: Merchant, wanted: Wanted): Left[] {
  const { settings, notice_secret, credential } = merchantView(ports, merchant);
  const { stage, units_in, units_out, kinds } = merchant.settings;
  const routing = routingOf(ports.settings, merchant.settings);
  const own = {
    ...(stage === null ? {} : { stage: routeText(routing.merchant) }),
    ...(units_in.length === 0 ? {} : { units_in }),
    ...(units_out.length === 0 ? {} : { units_out }),
    ...Object.fromEntries(
      Object.entries(settings)
        .filter(([name, { from }]) => from === 'merchant' && settingNames.includes(name))
        .map(([name, { value }]) => [name, value]),
    ),
    ...(settings.notice_url?.from === 'merchant' ? { notice_url: settings.notice_url.value } : {}),
    ...defined({ notice_secret: isSet(notice_secret), credential: isSet(credential) }),
  };
  const left = Object.entries(own).filter(([name]) => wanted[name as keyof Wanted] === undefined); // any name is looked up
  const of_kinds = routedKinds.flatMap((kind): [string, string][] =>
    kinds[kind] === undefined || wanted.kinds?.[kind] !== undefined
      ? []
      : [[`kinds.${kind}`, routeText(routing.kinds[kind])]],
  );
  return [...left, ...of_kinds].map(([setting, value]) => ({
    setting,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }));
}

function isSet(word: MerchantView['credential']): string | undefined {
  return word === 'set' ? word : undefined;
}

// The plan as it is answered.

const leftView = z.object({ setting: z.string(), value: z.string().describe('secrets are only said to be set') });

export const stepView = z.object({
  what: z.enum(['merchant', 'settings', 'move']),
  kind: z.enum(routedKinds).nullable().describe('the one kind of work that is moved'),
  outcome: z.enum(outcomes),
  changes: z.array(z.string()).describe('from what to what, in words, as the audit line will say it'),
  changes_said: z.array(said),
  why: z.array(z.string()).describe('why it is refused or held, or what an allowed move lacks'),
  why_said: z.array(said),
  drift: z.string().nullable().describe('what was changed by hand since the last apply; null: the file was changed'),
  drift_said: said.nullable(),
});

export const planView = z.object({
  file: z.string(),
  sha256: z.string().describe('of the file'),
  plan: z.string().describe('digest of the plan: an apply that names it is refused when anything has changed since'),
  last_applied: z
    .object({ at: time, who: z.string(), file: z.string(), sha256: z.string() })
    .nullable()
    .describe('the last apply that named any of the merchants'),
  changes: z.int().describe('steps that would be made or proposed'),
  refused: z.int().describe('steps that would be refused'),
  merchants: z.array(
    z.object({
      merchant_id: z.string(),
      name: z.string().nullable(),
      revision: z.int(),
      steps: z.array(stepView),
      notes: z.array(z.string()),
      notes_said: z.array(said),
      not_in_file: z.array(leftView).describe('settings of the merchant that the file does not name: they stay'),
    }),
  ),
  not_in_file: z
    .array(z.object({ merchant_id: z.string(), name: z.string().nullable(), stage: z.string() }))
    .describe('merchants that the file does not name: they stay as they are'),
});
export type PlanView = z.infer<typeof planView>;

/** @throws PuenteError as `makePlan`. */
export async function viewPlan(
  parts: Pick<StepsAsk, 'ports' | 'checkUrl'>,
  ask: PlanAsk,
  person: Person,
): Promise<PlanView> {
  return planAnswer(parts.ports, await makePlan(parts, ask, person));
}

/** Each sentence in English, and as a code for other languages. */
export function planAnswer(ports: Ports, { file, sha256, digest, last, merchants, absent }: Plan): PlanView {
  const steps = merchants.flatMap((one) => one.steps);
  return {
    ...{ file, sha256, plan: digest },
    last_applied: last && { at: iso(last.at), who: last.who, file: last.file, sha256: last.sha256 },
    changes: steps.filter(({ outcome }) => outcome === 'make' || outcome === 'propose').length,
    refused: steps.filter(({ outcome }) => outcome === 'refused').length,
    merchants: merchants.map(({ merchant_id, name, revision, steps: its, notes, left }) => ({
      ...{ merchant_id, name, revision, steps: its.map(stepAnswer), not_in_file: left },
      ...{ notes: notes.map(({ text }) => text), notes_said: notes.map((one) => one.said) },
    })),
    not_in_file: absent.map(({ id: merchant_id, settings }) => {
      const stage = routeText(routingOf(ports.settings, settings).merchant);
      return { merchant_id, name: settings.name, stage };
    }),
  };
}

/** `drift` says what was changed since the file was applied last; null when nothing was. */
export function stepAnswer({ what, kind, outcome, changes, why, drift }: Step): z.infer<typeof stepView> {
  return {
    ...{ what, kind, outcome },
    ...{ changes: changes.map(({ text }) => text), changes_said: changes.map((one) => one.said) },
    ...{ why: why.map(({ text }) => text), why_said: why.map((one) => one.said) },
    ...{ drift: drift?.text ?? null, drift_said: drift?.said ?? null },
  };
}
