/** What reads and writes name alike; apart from the rows, because the writer's thread starts with this alone. */

/** The columns of a link, in the order of `valuesOfLink`. */
export const LINK = `legacy_id, merchant_id, lane, family, unit, slot, client_key, fingerprint, reference_sent,
  client_reference, held, amount_minor, merchant_order_id, sealed_notice_url, idempotency_key, sealed_body,
  tables_revision, state, attempts, first_sent_at, boot_id, client_answer, order_id, order_json, order_version,
  payment_id, legacy_state, legacy_state_at, cancel, acknowledged_at, heard_by, expires_at, next_check_at, created_at,
  updated_at, revision`;

/** The columns of a Notice. */
export const NOTICE = `id, legacy_id, merchant_id, sequence, topic, form, subject, body, state, attempts, created_at,
  next_attempt_at`;

/**
 * A row whose column has one of the values. Said as the partial indexes say it, because SQLite does not see that an `IN` says
 * the same; and they say it so because it fills a table in memory for each list of three and more, for every row that is written.
 */
export function oneOfThese(column: string, values: readonly string[]): string {
  return `(${values.map((value) => `${column} = '${value}'`).join(' OR ')})`;
}

/** A link that holds its slot. */
export const LIVE = oneOfThese('state', ['SENDING', 'IN_DOUBT', 'LIVE']);
/**
 * A sale that an equal create may be a retry of; the first condition is that of the index `links_unheard`. Who has acknowledged a
 * notice may still repeat a create by its key, if its answer was lost (`proxy/sales/opening.ts`).
 */
export const RETRIABLE = `(heard_by IS NULL OR (heard_by = 'notice' AND client_key IS NOT NULL)) AND ${oneOfThese('state', ['SENDING', 'IN_DOUBT', 'LIVE', 'DONE'])}`;
/** A link that its till sees as over. */
export const FINAL = oneOfThese('legacy_state', [
  'FINISHED',
  'CONFIRMATION_REQUIRED',
  'CANCELED',
  'ERROR',
  'ABANDONED',
]);
