/** Merchants and their accepted tokens. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import { type AcceptedToken, type Merchant, merchantSettings } from '../proxy/routing/merchant.ts';
import type { Reader, Step, StoreMethods, Writer } from './engine.ts';
import { exactBytes, type MerchantRow, merchantLock, merchantOf, tokenOf } from './rows.ts';

const TOKEN = 'fingerprint, merchant_id, sealed_token, accepted_until, seen_at';
const TOKEN_BY_FINGERPRINT = `SELECT ${TOKEN} FROM tokens WHERE fingerprint = ?`;
/** What a merchant starts with: nothing set, everything follows the defaults. */
const UNSET = JSON.stringify(merchantSettings.parse({}));

export function merchantMethods(reader: Reader, writer: Writer, now: () => number) {
  const byId = reader.prepare<[string], MerchantRow>('SELECT * FROM merchants WHERE id = ?', 'lookup');
  const all = reader.prepare<[], MerchantRow>('SELECT * FROM merchants ORDER BY id');
  const tripsOf = async (id: string): Promise<Merchant['trips']> => {
    const row = await byId.get(id);
    return row === undefined ? {} : merchantOf(row).trips;
  };
  return {
    ...tokenMethods(reader, writer, now),
    merchant: async (id) => {
      const row = await byId.get(id);
      return row === undefined ? null : merchantOf(row);
    },
    merchants: async () => (await all.all()).map(merchantOf),
    async saveMerchant(merchant, expected_revision, audit) {
      const { id, site, settings } = merchant;
      const updated_at = now();
      const { sealed_notice_url, sealed_notice_secret, sealed_credential } = merchant;
      const sealed = [sealed_notice_url, sealed_notice_secret, sealed_credential].map(exactBytes);
      const text = JSON.stringify(settings);
      const step: Step =
        expected_revision === 0
          ? { write: 'insert_merchant', values: [id, site, text, ...sealed, updated_at], changes: 1 }
          : {
              write: 'update_merchant',
              values: [site, text, ...sealed, updated_at, id, expected_revision],
              changes: 1,
            };
      const result = await writer.commit({ steps: [step], audit, locks: { alone: [merchantLock(id)] } });
      if (result.kind !== 'done') throw movedOn(id, expected_revision);
      return { ...merchant, trips: await tripsOf(id), revision: expected_revision + 1, updated_at };
    },
    async saveTrips(merchant_id, trips, revision, audit) {
      const row = await byId.get(merchant_id);
      if (row === undefined || row.revision !== revision) throw movedOn(merchant_id, revision);
      const before = merchantOf(row);
      // Merged here, because what JSON merges in SQL would also merge the evidence of two stops.
      const merged = Object.entries({ ...before.trips, ...trips }).filter(([, trip]) => trip !== null);
      const after: Merchant['trips'] = Object.fromEntries(merged);
      const updated_at = now();
      const values = [JSON.stringify(after), updated_at, merchant_id, revision];
      const locks = { alone: [merchantLock(merchant_id)] };
      const result = await writer.commit({ steps: [{ write: 'update_trips', values, changes: 1 }], audit, locks });
      if (result.kind !== 'done') throw movedOn(merchant_id, revision);
      return { ...before, trips: after, revision: revision + 1, updated_at };
    },
  } satisfies Partial<StoreMethods>;
}

function tokenMethods(reader: Reader, writer: Writer, now: () => number) {
  const byFingerprint = reader.prepare<[string], AcceptedToken>(TOKEN_BY_FINGERPRINT, 'lookup');
  const latest = reader.prepare<[string], AcceptedToken>(
    `SELECT ${TOKEN} FROM tokens WHERE merchant_id = (SELECT ?) ORDER BY accepted_until > 0 DESC, seen_at DESC, rowid DESC LIMIT 1`,
  );
  const withToken = reader.prepare<[string, string], MerchantRow & { accepted_until: number | null }>(
    `SELECT merchants.*, accepted_until FROM merchants
     LEFT JOIN tokens ON tokens.fingerprint = ? AND tokens.merchant_id = merchants.id WHERE merchants.id = ?`,
    'lookup',
  );
  return {
    async acceptToken(token, site) {
      const { fingerprint, merchant_id, accepted_until, seen_at } = token;
      await writer.commit({
        locks: { alone: [merchantLock(merchant_id)] },
        steps: [
          { write: 'meet_merchant', values: [merchant_id, site, UNSET, now()] },
          {
            write: 'accept_token',
            values: [fingerprint, merchant_id, exactBytes(token.sealed_token), accepted_until, seen_at],
            changes: 1,
          },
        ],
      });
    },
    token: async (fingerprint) => {
      const row = await byFingerprint.get(fingerprint);
      return row === undefined ? null : tokenOf(row);
    },
    latestToken: async (merchant_id) => {
      const row = await latest.get(merchant_id);
      return row === undefined ? null : tokenOf(row);
    },
    async forgetToken(fingerprint) {
      await writer.commit({ steps: [{ write: 'forget_token', values: [fingerprint] }] });
    },
    async merchantWithToken(merchant_id, fingerprint) {
      const row = await withToken.get(fingerprint, merchant_id);
      if (row === undefined) return null;
      return { merchant: merchantOf(row), accepted_until: row.accepted_until, is_free: false };
    },
  } satisfies Partial<StoreMethods>;
}

function movedOn(id: string, revision: number): PuenteError {
  return new PuenteError('conflict', say('refusal.changed', { merchant: id, expected: revision }));
}
