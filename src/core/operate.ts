/** What operators do with merchants: look, set, move; each change with a reason, a revision and an audit line. */
import { z } from 'zod';
import { USER_ID } from '../contract/identifiers.ts';
import { PuenteError } from '../error.ts';
import { dialects, type Merchant, merchantSettings, qrNotices, stages } from './merchant.ts';
import { shownUrl } from './notices/shown-url.ts';
import { merchantUrl } from './notices/target.ts';
import type { Runtime } from './runtime.ts';

const reason = z.string().trim().min(3).max(500);
const revision = z.int().nonnegative();

/** The body of `PUT /api/merchants/:id`: only what is named changes; `null` goes back to the default. */
export const merchantChange = z.strictObject({
  reason,
  revision,
  /** Kept sealed; shown again without its path and query. */
  notice_url: z.string().max(2048).nullable().optional(),
  dialect: z.enum(dialects).nullable().optional(),
  /** How QR sales are told from now on; what waits already keeps its form. */
  qr_notices: z.enum(qrNotices).nullable().optional(),
  declined: z.enum(['error', 'finished']).nullable().optional(),
  cancel_on_terminal: z.boolean().nullable().optional(),
  voucher: z.enum(['refuse', 'drop']).nullable().optional(),
  /** Signs this merchant's `point_integration_wh` notices and the webhooks of its QR sales; kept sealed, never shown again. */
  notice_secret: z.string().min(8).max(512).nullable().optional(),
  /** Token for work after the call has ended; kept sealed, never shown again. */
  credential: z.string().min(8).max(512).nullable().optional(),
});
export type MerchantChange = z.infer<typeof merchantChange>;

/** The body of `PUT /api/merchants/:id/stage`. */
export const stageChange = z.strictObject({ stage: z.enum(stages), reason, revision });
export type StageChange = z.infer<typeof stageChange>;

/** A merchant as operators see it: settings in force, where each comes from, and no secret; of a URL only where it goes. */
export interface MerchantView {
  id: string;
  site: string | null;
  revision: number;
  updated_at: string | null;
  settings: Record<string, { value: unknown; from: 'merchant' | 'default' }>;
  notice_secret: 'set' | 'not set';
  credential: 'set' | 'not set';
}

export async function viewMerchants(runtime: Runtime): Promise<MerchantView[]> {
  return (await runtime.store.merchants()).map((merchant) => view(runtime, merchant));
}

/** A merchant nobody has seen yet is shown with the defaults and revision 0. */
export async function viewMerchant(runtime: Runtime, id: string): Promise<MerchantView> {
  return view(runtime, (await runtime.store.merchant(checkedId(id))) ?? newMerchant(id));
}

/**
 * Changes a merchant's settings.
 * @param checkUrl refuses a notice URL that the outbound guard would refuse.
 * @throws PuenteError conflict when the revision is not the stored one, bad_request for a bad id, blocked_address for the URL.
 */
export async function changeMerchant(
  runtime: Runtime,
  id: string,
  change: MerchantChange,
  who: string,
  checkUrl: (url: string) => void,
): Promise<MerchantView> {
  const { reason, revision, notice_url, notice_secret, credential, ...settings } = change;
  if (typeof notice_url === 'string') checkUrl(notice_url);
  const before = await merchantToChange(runtime, id);
  const saved = await runtime.store.saveMerchant(
    {
      ...before,
      settings: merchantSettings.parse({ ...before.settings, ...settings }),
      sealed_notice_url: sealedOr(runtime, notice_url, 'notice-url', before.sealed_notice_url),
      sealed_notice_secret: sealedOr(runtime, notice_secret, 'notice-secret', before.sealed_notice_secret),
      sealed_credential: sealedOr(runtime, credential, 'credential', before.sealed_credential),
    },
    revision,
    {
      at: runtime.clock.now(),
      who,
      action: 'merchant settings',
      subject: id,
      reason,
      detail: {
        before: {
          ...pick(before.settings, settings),
          ...shownAs(notice_url, shownOrNull(merchantUrl(runtime, before))),
        },
        after: { ...settings, ...shownAs(notice_url, shownOrNull(notice_url)) },
        secrets: [
          ...(notice_secret === undefined ? [] : ['notice_secret']),
          ...(credential === undefined ? [] : ['credential']),
        ],
      },
    },
  );
  if (notice_url !== undefined || notice_secret !== undefined || settings.dialect !== undefined) {
    await runtime.store.hastenNotices(id, runtime.clock.now());
    runtime.noticesWaiting();
  }
  return view(runtime, saved);
}

/** Moves a merchant: the next create sees it; every open link stays where it was born. */
export async function moveStage(runtime: Runtime, id: string, move: StageChange, who: string): Promise<MerchantView> {
  const before = await merchantToChange(runtime, id);
  const from = before.settings.stage ?? runtime.settings.merchants.stage;
  runtime.failpoint('stage.before_save');
  const saved = await runtime.store.saveMerchant(
    { ...before, settings: { ...before.settings, stage: move.stage } },
    move.revision,
    {
      at: runtime.clock.now(),
      who,
      action: 'stage',
      subject: id,
      reason: move.reason,
      detail: { before: from, after: move.stage },
    },
  );
  runtime.failpoint('stage.saved');
  runtime.log.info('stage moved', { merchant: id, action: `${from} to ${move.stage}` });
  return view(runtime, saved);
}

/** The merchant as it is saved again: a URL that an older build kept in clear moves to its sealed column. */
async function merchantToChange(runtime: Runtime, id: string): Promise<Merchant> {
  const stored = (await runtime.store.merchant(checkedId(id))) ?? newMerchant(id);
  const clear = stored.settings.notice_url;
  if (clear === null) return stored;
  const settings = { ...stored.settings, notice_url: null };
  return { ...stored, settings, sealed_notice_url: runtime.vault.seal(clear, 'notice-url') };
}

/** What the audit says of the URL, when the change names it. */
function shownAs(named: string | null | undefined, shown: string | null): { notice_url?: string | null } {
  return named === undefined ? {} : { notice_url: shown };
}

function shownOrNull(url: string | null | undefined): string | null {
  return url === null || url === undefined ? null : shownUrl(url);
}

function view(runtime: Runtime, merchant: Merchant): MerchantView {
  const fallback = runtime.settings.merchants;
  const defaults: Record<string, unknown> = { ...fallback, notice_url: shownOrNull(fallback.notice_url) };
  const own = { ...merchant.settings, notice_url: shownOrNull(merchantUrl(runtime, merchant)) };
  const settings = Object.entries(own).map(([name, value]) => [
    name,
    value === null ? { value: defaults[name] ?? null, from: 'default' } : { value, from: 'merchant' },
  ]);
  return {
    id: merchant.id,
    site: merchant.site,
    revision: merchant.revision,
    updated_at: merchant.updated_at === 0 ? null : new Date(merchant.updated_at).toISOString(),
    settings: Object.fromEntries(settings),
    notice_secret: merchant.sealed_notice_secret === null ? 'not set' : 'set',
    credential: merchant.sealed_credential === null ? 'not set' : 'set',
  };
}

function newMerchant(id: string): Merchant {
  return {
    id,
    site: null,
    settings: merchantSettings.parse({}),
    sealed_notice_url: null,
    sealed_notice_secret: null,
    sealed_credential: null,
    revision: 0,
    updated_at: 0,
  };
}

function checkedId(id: string): string {
  if (!USER_ID.test(id))
    throw new PuenteError(
      'bad_request',
      `A merchant id is the vendor's user id, digits only; '${id.slice(0, 40)}' is not`,
    );
  return id;
}

function sealedOr(
  runtime: Runtime,
  text: string | null | undefined,
  purpose: string,
  before: Uint8Array | null,
): Uint8Array | null {
  if (text === undefined) return before;
  return text === null ? null : runtime.vault.seal(text, purpose);
}

function pick(settings: Record<string, unknown>, named: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(named).map((name) => [name, settings[name] ?? null]));
}
