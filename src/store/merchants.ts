/** Merchants and their accepted tokens. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import type { AuditEntry } from '../proxy/audit.ts';
import type { PartOf } from '../proxy/records/routing.ts';
import type { Merchant } from '../proxy/routing/merchant.ts';
import type { Reader, Step, StoreMethods, Value, Writer } from './engine.ts';
import { partSteps } from './routing.ts';
import {
  exactBytes,
  type MerchantRow,
  merchantLock,
  merchantOf,
  readsOf,
  settingsIn,
  textOfSettings,
  tokenOf,
} from './rows.ts';
import type { WriteName } from './writes.ts';

const TOKEN = 'fingerprint, merchant_id, sealed_token, accepted_until, seen_at';
/** Settings of a new merchant: all defaults. */
const UNSET = '{}';

/**
 * `saveMerchant` inserts with an expected revision of 0. A change @throws PuenteError conflict when the stored revision
 * is another.
 */
export function merchantMethods(reader: Reader, writer: Writer, now: () => number) {
  const { one, list } = readsOf(reader);
  const byId: StoreMethods['merchant'] = one('SELECT * FROM merchants WHERE id = ?', merchantOf, 'lookup');
  const labels = reader.prepare<[string], Pick<MerchantRow, 'id' | 'settings'>>(
    'SELECT id, settings FROM merchants WHERE id IN (SELECT value FROM json_each(?))',
  );
  const change = async (
    id: string,
    revision: number,
    audit: AuditEntry,
    [write, values]: [WriteName, Value[]],
    part_of: PartOf = {},
  ) => {
    const part = partSteps(part_of, now());
    const steps: Step[] = [{ write, values, changes: 1 }, ...part.steps];
    const result = await writer.commit({ steps, audit, locks: { alone: [merchantLock(id), ...part.alone] } });
    if (result.kind !== 'done') throw movedOn(id, revision);
  };
  return {
    ...tokenMethods(reader, writer, now),
    merchant: byId,
    merchants: list('SELECT * FROM merchants ORDER BY id', merchantOf),
    async merchantNames(ids) {
      const rows = (await labels.all(JSON.stringify([...new Set(ids)]))).map(({ id, settings }) => {
        return [id, settingsIn(settings).settings.name] as const;
      });
      return new Map(rows.flatMap(([id, name]) => (name === null ? [] : [[id, name]])));
    },
    async saveMerchant(merchant, expected_revision, audit, part_of) {
      const { id, site } = merchant;
      const updated_at = now();
      const { sealed_notice_url, sealed_notice_secret, sealed_credential } = merchant;
      const sealed = [sealed_notice_url, sealed_notice_secret, sealed_credential].map(exactBytes);
      const columns = [site, textOfSettings(merchant), ...sealed, updated_at];
      const update: [WriteName, Value[]] = ['update_merchant', [...columns, id, expected_revision]];
      const write = expected_revision === 0 ? (['insert_merchant', [id, ...columns]] satisfies typeof update) : update;
      await change(id, expected_revision, audit, write, part_of);
      const { trips = {} } = (await byId(id)) ?? {};
      return { ...merchant, trips, revision: expected_revision + 1, updated_at };
    },
    async saveTrips(merchant_id, trips, revision, audit) {
      const before = await byId(merchant_id);
      if (before?.revision !== revision) throw movedOn(merchant_id, revision);
      // Merged here: a merge of JSON in SQL would also merge the evidence of two stops.
      const merged = Object.entries({ ...before.trips, ...trips }).filter(([, trip]) => trip !== null);
      const after: Merchant['trips'] = Object.fromEntries(merged);
      const updated_at = now();
      const values = [JSON.stringify(after), updated_at, merchant_id, revision];
      await change(merchant_id, revision, audit, ['update_trips', values]);
      return { ...before, trips: after, revision: revision + 1, updated_at };
    },
  } satisfies Partial<StoreMethods>;
}

function tokenMethods(reader: Reader, writer: Writer, now: () => number) {
  const { one } = readsOf(reader);
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
    token: one(`SELECT ${TOKEN} FROM tokens WHERE fingerprint = ?`, tokenOf, 'lookup'),
    latestToken: one(
      `SELECT ${TOKEN} FROM tokens WHERE merchant_id = (SELECT ?)
       ORDER BY accepted_until > 0 DESC, seen_at DESC, rowid DESC LIMIT 1`,
      tokenOf,
    ),
    async forgetToken(fingerprint) {
      await writer.commit({ steps: [{ write: 'forget_token', values: [fingerprint] }] });
    },
    async merchantWithToken(merchant_id, fingerprint) {
      const row = await withToken.get(fingerprint, merchant_id);
      if (row === undefined) return null;
      const { accepted_until, ...its } = row;
      return { merchant: merchantOf(its), accepted_until, is_free: false };
    },
  } satisfies Partial<StoreMethods>;
}

function movedOn(id: string, revision: number): PuenteError {
  return new PuenteError('conflict', say('refusal.changed', { merchant: id, expected: revision }));
}
