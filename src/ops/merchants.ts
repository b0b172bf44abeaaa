/** Merchants for operators: view and change, with a reason, a revision and an audit line. Moves are in `moves/`. */

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { noticeBody } from '../contract/legacy-point.ts';
import { userMe } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import { encoded, readStored, say } from '../locales/message.ts';
import { folded } from '../mapping/near.ts';
import { yieldToEventLoop } from '../proxy/concurrency.ts';
import { maskWritten, shownUrl } from '../proxy/evidence/redact-text.ts';
import { merchantUrl } from '../proxy/notices/request.ts';
import {
  dialects,
  type Merchant,
  type MerchantSettings,
  merchantSettings,
  pointPaymentNotices,
  policyAmong,
  qrNotices,
  type RoutedKind,
  routedKinds,
  safetyModes,
  stages,
  unknownPolicies,
} from '../proxy/routing/merchant.ts';
import { stageInForce } from '../proxy/routing/stage.ts';
import { Secret } from '../proxy/vault.ts';
import { defined, iso, isWhole, LOST_CHARACTERS, merchantId, reason, time } from './fields.ts';
import type { Ports } from './ports.ts';
import {
  changeInAnyCase,
  is_new,
  knownMerchants,
  merchantOf,
  merchantToChange,
  namedTwice,
  refuseUnseen,
} from './seen.ts';

/** The precondition of a change: the revision that the operator saw. */
export const revision = z.int().nonnegative().describe('refuse unless it is still at this revision');
const unknown = policyAmong(unknownPolicies).nullable().optional();

/** A secret, which refuses to be printed as soon as it is parsed. */
function secretText(shortest: number, longest: number) {
  return z
    .string()
    .min(shortest)
    .max(longest)
    .transform((text) => new Secret(text));
}

/** Names, tags and links are shown everywhere, and sent to tills. */
export const SHOWS_SECRET = encoded(say('input.shows_secret', {}));
/** Null, or a text without anything that `maskWritten` would mask. */
export function isBare(text: string | null): boolean {
  return text === null || maskWritten(text) === text;
}

const MOST_EXTRA = 20;
const EXTRA_KEY = /^[A-Za-z][\w.-]{0,199}$/;
const LONGEST_EXTRA = 200;
const EXTRA = encoded(
  say('input.notice_extra', { most: MOST_EXTRA, longest: LONGEST_EXTRA, example: '{"store_id": "77"}' }),
);

/** Keys that receivers read beside the fields of a notice, which none may replace. */
const noticeExtra = z
  .record(z.string(), z.union([z.string(), z.number()], EXTRA), EXTRA)
  .superRefine((extra, context) => {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
    const entries = Object.entries(extra);
    const isUsable = ([key, value]: [string, string | number]): boolean =>
      EXTRA_KEY.test(key) &&
      (typeof value === 'string'
        ? value.length <= LONGEST_EXTRA
        : !Number.isInteger(value) || Number.isSafeInteger(value));
    if (entries.length > MOST_EXTRA || !entries.every(isUsable)) refuse(EXTRA);
    const fields = Object.keys(extra).filter((key) => Object.hasOwn(noticeBody.shape.body.shape, key));
    if (fields.length > 0) refuse(encoded(say('input.notice_field', { fields, count: fields.length })));
    if (!entries.every(([key, value]) => isBare(key) && isBare(String(value)))) refuse(SHOWS_SECRET);
  });

/** The body of `PUT /api/merchants/:id`: only the named fields change; `null` restores the default. */
export const merchantChange = z.strictObject({
  reason,
  revision,
  new: is_new,
  name: merchantSettings.shape.name
    .unwrap()
    .refine(isBare, SHOWS_SECRET)
    .refine(isWhole, LOST_CHARACTERS)
    .optional()
    .describe('what people call it'),
  tags: merchantSettings.shape.tags
    .unwrap()
    .refine((tags) => tags?.every(isBare) ?? true, SHOWS_SECRET)
    .refine((tags) => tags?.every(isWhole) ?? true, LOST_CHARACTERS)
    .optional()
    .describe('words to select it by; replaces the list'),
  /** Kept sealed. */
  notice_url: secretText(0, 2048).nullable().optional().describe('where its notices go; shown without path and query'),
  dialect: z.enum(dialects).nullable().optional().describe('form of its Point notices'),
  qr_notices: z.enum(qrNotices).nullable().optional().describe('form of the notices of its new QR sales'),
  point_payment_notices: z
    .enum(pointPaymentNotices)
    .nullable()
    .optional()
    .describe('whether its new Point sales are notified by topic payment too'),
  point_notice_extra: noticeExtra.nullable().optional().describe('constant keys to add to its Point webhooks'),
  declined: z.enum(['error', 'finished']).nullable().optional().describe('how a declined payment shows'),
  cancel_on_terminal: z.boolean().nullable().optional().describe('let a cancel reach an order that is on the terminal'),
  voucher: z.enum(['refuse', 'drop']).nullable().optional().describe('what a voucher preference does'),
  safety_stop: z.enum(safetyModes).nullable().optional().describe('whether its safety stop judges, and acts'),
  unknown_endpoint: unknown.describe('what happens to calls that are in no table'),
  unknown_field: unknown.describe('the same for fields of translated bodies'),
  unknown_header: unknown.describe('the same for headers of translated calls'),
  capture: z.boolean().nullable().optional().describe('keep its exchanges with redacted messages, for replay'),
  /** Headers for the makers of its tills; a field that is left out is not sent. */
  deprecation: merchantSettings.shape.deprecation
    .unwrap()
    .refine(endsAfterItStarts, encoded(say('input.sunset', {})))
    .refine((dates) => isBare(dates?.link ?? null), SHOWS_SECRET)
    .optional(),
  /** Signs its `point_integration_wh` notices and the webhooks of its QR sales; kept sealed, never shown again. */
  notice_secret: secretText(8, 512).nullable().optional(),
  /** Token for work after the call has ended; kept sealed, never shown again. */
  credential: secretText(8, 512).nullable().optional(),
});

export const merchantsQuery = z.strictObject({
  search: z.string().max(80).default('').describe('only those with this in id, name or tags'),
});

/** Judges no merchant, unlike the fleet. */
export async function viewMerchants(ports: Ports, { search }: z.infer<typeof merchantsQuery>): Promise<MerchantView[]> {
  return (await knownMerchants(ports))
    .filter(({ id, settings }) => isSought(id, labelOf(settings), { search }))
    .map((merchant) => merchantView(ports, merchant));
}

/** A merchant without a row is shown with the defaults and revision 0. */
export async function viewMerchant(ports: Ports, id: string): Promise<MerchantView> {
  return merchantView(ports, await merchantOf(ports, id));
}

/** The fields of a change that are settings. */
export type SettingsChange = Omit<z.infer<typeof merchantChange>, 'reason' | 'revision' | 'new'>;

/**
 * Of fields that have their value already nothing is written.
 * @param checkUrl refuses a notice URL that the outbound guard would refuse.
 * @param extra further facts for the audit line.
 * @throws PuenteError as `merchantToChange` and `tryCredential`; conflict for another revision, blocked_address for the URL.
 */
export async function changeMerchant(
  ports: Ports,
  id: string,
  { reason, revision, new: made, ...named }: z.infer<typeof merchantChange>,
  who: string,
  checkUrl: (url: string) => void,
  extra: Record<string, unknown> = {},
): Promise<ChangedMerchant> {
  if (named.notice_url) checkUrl(named.notice_url.reveal());
  const before = await merchantToChange(ports, id, { new: made });
  const change = differingOf(ports, before, named);
  if (Object.keys(change).length === 0 && !(made && before.revision === 0)) {
    refuseOtherRevision(before, revision);
    return { ...merchantView(ports, before), result: 'unchanged' };
  }
  const { notice_url, notice_secret, credential, dialect } = change;
  const site = (credential ? await tryCredential(ports, id, credential) : null) ?? before.site;
  const { after, detail } = changedBy(ports, before, change);
  const saved = await ports.store.merchants.saveMerchant({ ...after, site }, revision, {
    at: ports.clock.now(),
    who,
    action: 'merchant settings',
    subject: id,
    reason,
    detail: { ...detail, ...extra },
  });
  if (notice_url !== undefined || notice_secret !== undefined || dialect !== undefined) {
    await ports.store.notices.hastenNotices(id, ports.clock.now());
    ports.memory.wakeups.notices.wake();
  }
  return { ...merchantView(ports, saved), result: 'changed' };
}

/** @throws PuenteError conflict. */
export function refuseOtherRevision({ id: merchant, revision }: Merchant, expected: number): void {
  if (revision === expected) return;
  throw new PuenteError('conflict', say('refusal.moved_on', { merchant, revision, expected }), { facts: { revision } });
}

/** The fields of a change that have another value now. */
export function differingOf(ports: Ports, merchant: Merchant, change: SettingsChange): SettingsChange {
  const now = (name: string): unknown => {
    if (name === 'notice_url') return merchantUrl(ports, merchant);
    if (name === 'notice_secret' || name === 'credential') return openedOf(ports, merchant, name);
    return (merchant.settings as Record<string, unknown>)[name]; // by the names of its own fields
  };
  // No tags and an empty list of them are the same.
  const comparable = (name: string, value: unknown): unknown => value ?? (name === 'tags' ? [] : null);
  const isOther = ([name, value]: [string, unknown]): boolean => {
    const wanted = value instanceof Secret ? value.reveal() : value;
    return wanted !== undefined && !isDeepStrictEqual(comparable(name, wanted), comparable(name, now(name)));
  };
  return Object.fromEntries(Object.entries(change).filter(isOther));
}

/** A stored secret in clear; null without one, and another value where its key is lost. */
function openedOf({ vault }: Ports, merchant: Merchant, name: 'notice_secret' | 'credential'): string | symbol | null {
  const sealed = merchant[`sealed_${name}`];
  try {
    return sealed && vault.open(sealed, name.replace('_', '-')).toString('utf8');
  } catch {
    return Symbol('lost');
  }
}

/** The merchant after a change of its settings, and the facts of the audit line: from what to what, without secrets. */
export function changedBy(
  ports: Ports,
  before: Merchant,
  { notice_url, notice_secret, credential, ...settings }: SettingsChange,
): { after: Merchant; detail: Record<string, unknown> } {
  const after: Merchant = {
    ...before,
    settings: merchantSettings.parse({ ...before.settings, ...settings }),
    sealed_notice_url: sealedOr(ports, notice_url, 'notice-url', before.sealed_notice_url),
    sealed_notice_secret: sealedOr(ports, notice_secret, 'notice-secret', before.sealed_notice_secret),
    sealed_credential: sealedOr(ports, credential, 'credential', before.sealed_credential),
  };
  const detail = {
    before: { ...pick(before.settings, settings), ...shownAs(notice_url, shownOrNull(merchantUrl(ports, before))) },
    after: { ...settings, ...shownAs(notice_url, shownOrNull(notice_url?.reveal() ?? null)) },
    secrets: [
      ...(notice_secret === undefined ? [] : ['notice_secret']),
      ...(credential === undefined ? [] : ['credential']),
    ],
  };
  return { after, detail };
}

/** An apply sets what its plan has just tried. */
const TRIED_WITHIN_MS = 60_000;

/**
 * One `GET /users/me` with it; none when upstream has just accepted it.
 * @returns the merchant's site, which stage legacy learns in no other way.
 * @throws PuenteError refused when upstream refuses it or it is another merchant's, unreachable without an answer.
 */
export function tryCredential(ports: Ports, merchant: string, token: Secret): Promise<string | null> {
  const { timeout_ms } = ports.settings.reads;
  const key = `credential ${merchant} ${ports.vault.fingerprint(token)}`;
  return ports.memory.cache.get(key, ports.clock.now(), TRIED_WITHIN_MS, async () => {
    const read = { name: 'users_me', method: 'GET', path: '/users/me', token, for_payment: false, timeout_ms } as const;
    const outcome = await ports.upstreams.orders.send(read);
    const status = outcome.kind === 'answered' ? outcome.status : null;
    if (status === 401 || status === 403)
      throw new PuenteError('refused', say('refusal.credential', { merchant, status }));
    const user = outcome.kind === 'answered' && status === 200 ? userMe.safeParse(outcome.body) : null;
    if (!user?.success) throw new PuenteError('unreachable', say('refusal.credential_untried', { merchant }));
    const { id: owner, site_id = null } = user.data;
    if (owner !== merchant) throw new PuenteError('refused', say('refusal.credential_of', { merchant, owner }));
    return site_id;
  });
}

// Names and tags of many merchants at once, as a file has them.

const named = z.strictObject({
  merchant_id: merchantId,
  name: merchantChange.shape.name,
  tags: merchantChange.shape.tags,
});

export const importAsk = z.strictObject({
  merchants: z.array(named).min(1).max(10_000),
  dry_run: z.boolean().default(false).describe('change nothing, and show what would change'),
  reason,
  new: is_new,
});

export const importAnswer = z.object({
  dry_run: z.boolean(),
  merchants: z.array(
    z.object({
      merchant_id: z.string(),
      result: z.enum(['new', 'changed', 'same']),
      name: z.string().nullable(),
      tags: z.array(z.string()),
      before: z.object({ name: z.string().nullable(), tags: z.array(z.string()) }),
    }),
  ),
});

/**
 * Names and tags by a list; a field that a line leaves out stays. Each changed merchant has its own audit line.
 * @throws PuenteError bad_request for a merchant that is named twice; not_found for merchants that were never seen.
 */
export async function importNames(
  ports: Ports,
  { merchants, dry_run, reason, ...purpose }: z.infer<typeof importAsk>,
  who: string,
): Promise<z.infer<typeof importAnswer>> {
  const ids = merchants.map(({ merchant_id }) => merchant_id);
  const twice = namedTwice(ids);
  if (twice !== undefined) throw new PuenteError('bad_request', say('refusal.named_twice', { merchant: twice }));
  await refuseUnseen(ports, ids, purpose);
  const lines: z.infer<typeof importAnswer>['merchants'] = [];
  for (const { merchant_id, ...change } of merchants) {
    await yieldToEventLoop(); // a list of ten thousand is read between payments
    const { revision, settings } = await merchantOf(ports, merchant_id);
    const before = labelOf(settings);
    const after = { ...before, ...defined(change) };
    const is_same = JSON.stringify(labelOf(after)) === JSON.stringify(before);
    const result = is_same ? 'same' : revision === 0 ? 'new' : 'changed';
    lines.push({ merchant_id, result, ...labelOf(after), before });
    if (is_same || dry_run) continue;
    await changeInAnyCase(ports, merchant_id, { new: true }, (now) =>
      changeMerchant(
        ports,
        merchant_id,
        { ...change, reason, revision: now.revision, new: true },
        who,
        () => undefined,
      ),
    );
  }
  return { dry_run, merchants: lines };
}

/** No tags are an empty list. */
export function labelOf({ name, tags }: Pick<MerchantSettings, 'name' | 'tags'>): {
  name: string | null;
  tags: string[];
} {
  return { name, tags: tags ?? [] };
}

/** True for a merchant with the text in id, name or tags, and with the tag. */
export function isSought(
  id: string,
  { name, tags }: ReturnType<typeof labelOf>,
  { search, tag }: { search?: string; tag?: string },
): boolean {
  const typed = folded(search ?? '');
  return (
    [id, name ?? '', ...tags].some((text) => folded(text).includes(typed)) && (tag === undefined || tags.includes(tag))
  );
}

function shownAs(named: Secret | null | undefined, shown: string | null): { notice_url?: string | null } {
  return named === undefined ? {} : { notice_url: shown };
}

/** Also true when either date is missing. */
export function endsAfterItStarts(dates: MerchantSettings['deprecation']): boolean {
  const { deprecated_at = null, sunset_at = null } = dates ?? {};
  return deprecated_at === null || sunset_at === null || sunset_at >= deprecated_at;
}

function sealedOr(
  ports: Ports,
  secret: Secret | null | undefined,
  purpose: string,
  before: Uint8Array | null,
): Uint8Array | null {
  if (secret === undefined) return before;
  return secret === null ? null : ports.vault.seal(secret.reveal(), purpose);
}

function pick(settings: Record<string, unknown>, named: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(named).map((name) => [name, settings[name] ?? null]));
}

const stageView = z.object({
  stage: z.enum(stages).describe('where new work goes now; never above shadow during a safety stop'),
  intended: z.enum(stages).describe('as the operator set it'),
  share: z.number().describe('percent of the units, on canary'),
  trip: z.object({ at: time, why: z.string() }).nullable().describe('the safety stop in force'),
});
export type StageView = z.infer<typeof stageView>;

/** Without secrets, and the notice URL without path and query. */
export const merchantAnswer = z.object({
  id: z.string(),
  name: z.string().nullable(),
  tags: z.array(z.string()),
  site: z.string().nullable(),
  revision: z.int().describe('The precondition of the next change; 0 for a merchant without calls and settings.'),
  updated_at: time.nullable(),
  in_force: z.record(z.enum(routedKinds), stageView),
  settings: z.record(z.string(), z.object({ value: z.unknown(), from: z.enum(['merchant', 'default']) })),
  notice_secret: z.enum(['set', 'not set']),
  credential: z.enum(['set', 'not set']),
});
export type MerchantView = z.infer<typeof merchantAnswer>;

export const changedMerchant = merchantAnswer.extend({
  result: z.enum(['changed', 'unchanged']).describe('unchanged: it is so already, and nothing is written'),
});
export type ChangedMerchant = z.infer<typeof changedMerchant>;

/** Of secrets only whether they are set. */
export function merchantView(ports: Ports, merchant: Merchant): MerchantView {
  return {
    id: merchant.id,
    ...labelOf(merchant.settings),
    site: merchant.site,
    revision: merchant.revision,
    updated_at: merchant.updated_at === 0 ? null : iso(merchant.updated_at),
    in_force: inForce(ports, merchant),
    settings: settingsView(ports, merchant),
    notice_secret: merchant.sealed_notice_secret === null ? 'not set' : 'set',
    credential: merchant.sealed_credential === null ? 'not set' : 'set',
  };
}

/** By kind, with the safety stop that holds it back; `share` is 0 outside canary. */
export function inForce(ports: Ports, merchant: Merchant): Record<RoutedKind, StageView> {
  const of = (kind: RoutedKind): StageView => {
    const { stage, intended, share, trip } = stageInForce(ports.settings, merchant, kind);
    const shown = trip === null ? null : { at: iso(trip.at), why: readStored(trip.why).text };
    return { stage, intended, share: intended === 'canary' ? share : 0, trip: shown };
  };
  const [devices, intents, qr] = routedKinds;
  return { devices: of(devices), intents: of(intents), qr: of(qr) };
}

function shownOrNull(url: string | null | undefined): string | null {
  return url === null || url === undefined ? null : shownUrl(url);
}

/** A setting that equals a new merchant's comes from the default, whether it is null or not. */
function settingsView(ports: Ports, merchant: Merchant): MerchantView['settings'] {
  const fallback = ports.settings.merchants;
  const defaults: Record<string, unknown> = { ...fallback, notice_url: shownOrNull(fallback.notice_url) };
  const untouched: Record<string, unknown> = merchantSettings.parse({});
  const own = { ...merchant.settings, notice_url: shownOrNull(merchantUrl(ports, merchant)) };
  const settings = Object.entries(own).map(([name, value]): [string, MerchantView['settings'][string]] => {
    if (value === null) return [name, { value: defaults[name] ?? null, from: 'default' }];
    const same = JSON.stringify(value) === JSON.stringify(untouched[name]);
    return [name, { value, from: same ? 'default' : 'merchant' }];
  });
  return Object.fromEntries(settings);
}
