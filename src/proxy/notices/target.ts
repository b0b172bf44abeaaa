/** Where a link's notices go: the sale's own URL, or the merchant's, as it is set now. */
import { callableUrl } from '../../contract/notice-url.ts';
import { noticeUrl } from '../qr/held.ts';
import type { Merchant } from '../routing/merchant.ts';
import type { Runtime } from '../runtime.ts';
import type { Link } from '../sales/link.ts';

/** Null when no URL is set anywhere: then notices are held. Whether the URL may be called is the outbound guard's to say. */
export function targetOf(runtime: Runtime, link: Link | null, merchant: Merchant | null): string | null {
  const own = link === null ? null : callableUrl(noticeUrl(runtime, link) ?? '', runtime.notice_urls.scheme);
  return own ?? (merchant === null ? null : merchantUrl(runtime, merchant)) ?? runtime.settings.merchants.notice_url;
}

/** The merchant's own URL, unsealed; null when it follows the default. */
export function merchantUrl(runtime: Runtime, { sealed_notice_url: sealed }: Merchant): string | null {
  return sealed === null ? null : runtime.vault.open(sealed, 'notice-url').toString('utf8');
}
