/** Seals the notice URLs that the first builds kept in clear: receivers' keys stand in them. */
import type Database from 'better-sqlite3';

/** Seals a URL as the merchant's own (`Merchant.sealed_notice_url`). */
export type SealNoticeUrl = (url: string) => Uint8Array;

/**
 * Does nothing from the second time on. No numbered migration, because SQL has no key; and the columns stay as they are.
 * What a merchant saved since then, sealed, is the newer one.
 */
export function sealClearUrls(database: Database.Database, seal: SealNoticeUrl): void {
  const options = { directOnly: true };
  database.function('seal_notice_url', options, (url: unknown) => Buffer.from(seal(String(url))));
  database.exec(`UPDATE merchants SET
    sealed_notice_url = coalesce(sealed_notice_url, seal_notice_url(json_extract(settings, '$.notice_url'))),
    settings = json_set(settings, '$.notice_url', NULL)
    WHERE json_extract(settings, '$.notice_url') IS NOT NULL`);
}
