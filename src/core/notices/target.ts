/** Where a link's notices go: the sale's own URL, or the merchant's, as it is set now. */
import type { Link } from '../link.ts';
import type { Merchant } from '../merchant.ts';
import { noticeUrl } from '../qr/held.ts';
import type { Runtime } from '../runtime.ts';

const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/** Null when no URL is set anywhere: then notices are held. Whether the URL may be called is the outbound guard's to say. */
export function targetOf(runtime: Runtime, link: Link | null, merchant: Merchant | null): string | null {
  const own = link === null ? null : callable(noticeUrl(runtime, link));
  return own ?? (merchant === null ? null : merchantUrl(runtime, merchant)) ?? runtime.settings.merchants.notice_url;
}

/** The merchant's own URL, unsealed; null when it follows the default. */
export function merchantUrl(runtime: Runtime, { sealed_notice_url: sealed }: Merchant): string | null {
  return sealed === null ? null : runtime.vault.open(sealed, 'notice-url').toString('utf8');
}

/** Samples of the vendor lack a scheme (`www.…`, `legacy-qr.md` §1.1); an empty URL is none. */
function callable(text: string | null): string | null {
  const url = text?.trim() ?? '';
  if (url === '') return null;
  return SCHEME.test(url) ? url : `https://${url}`;
}
