/** A merchant as operators see it: the stage in force, the settings with where each comes from, and no secret. */

import { shownUrl } from '../../proxy/notices/guard.ts';
import { merchantUrl } from '../../proxy/notices/request.ts';
import {
  type Merchant,
  merchantSettings,
  type RoutedKind,
  routedKinds,
  type Stage,
} from '../../proxy/routing/merchant.ts';
import { stageInForce } from '../../proxy/routing/stage.ts';
import type { Runtime } from '../../proxy/runtime.ts';

/** The stage of one kind: what the operator set, and what holds. */
export interface StageView {
  /** Where new work goes now; never above shadow while a safety stop stands. */
  stage: Stage;
  intended: Stage;
  /** Percent of the units, on canary. */
  share: number;
  /** The safety stop that stands; null when there is none. */
  trip: { at: string; why: string } | null;
}

/** Of its notice URL only where it goes. */
export interface MerchantView {
  id: string;
  site: string | null;
  revision: number;
  updated_at: string | null;
  in_force: Record<RoutedKind, StageView>;
  settings: Record<string, { value: unknown; from: 'merchant' | 'default' }>;
  notice_secret: 'set' | 'not set';
  credential: 'set' | 'not set';
}

export function merchantView(runtime: Runtime, merchant: Merchant): MerchantView {
  return {
    id: merchant.id,
    site: merchant.site,
    revision: merchant.revision,
    updated_at: merchant.updated_at === 0 ? null : iso(merchant.updated_at),
    in_force: inForce(runtime, merchant),
    settings: settingsView(runtime, merchant),
    notice_secret: merchant.sealed_notice_secret === null ? 'not set' : 'set',
    credential: merchant.sealed_credential === null ? 'not set' : 'set',
  };
}

export function inForce(runtime: Runtime, merchant: Merchant): Record<RoutedKind, StageView> {
  const of = (kind: RoutedKind): StageView => {
    const { stage, intended, share, trip } = stageInForce(runtime.settings, merchant, kind);
    const shown = trip === null ? null : { at: iso(trip.at), why: trip.why };
    return { stage, intended, share: intended === 'canary' ? share : 0, trip: shown };
  };
  const [devices, intents, qr] = routedKinds;
  return { devices: of(devices), intents: of(intents), qr: of(qr) };
}

export function shownOrNull(url: string | null | undefined): string | null {
  return url === null || url === undefined ? null : shownUrl(url);
}

/** A setting that is as in a merchant nobody has touched comes from the default, whether that is null or not. */
function settingsView(runtime: Runtime, merchant: Merchant): MerchantView['settings'] {
  const fallback = runtime.settings.merchants;
  const defaults: Record<string, unknown> = { ...fallback, notice_url: shownOrNull(fallback.notice_url) };
  const untouched: Record<string, unknown> = merchantSettings.parse({});
  const own = { ...merchant.settings, notice_url: shownOrNull(merchantUrl(runtime, merchant)) };
  const settings = Object.entries(own).map(([name, value]): [string, MerchantView['settings'][string]] => {
    if (value === null) return [name, { value: defaults[name] ?? null, from: 'default' }];
    const same = JSON.stringify(value) === JSON.stringify(untouched[name]);
    return [name, { value, from: same ? 'default' : 'merchant' }];
  });
  return Object.fromEntries(settings);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
