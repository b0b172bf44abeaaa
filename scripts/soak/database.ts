/** Facts read from the server's database file, while it runs or after it has ended. */
import Database from 'better-sqlite3';
import type { Database as Facts, LinkFacts } from './history.ts';

type Reader = Database.Database;

export function readFacts(path: string): Facts {
  return withReader(path, (reader) => ({
    read_at: Date.now(),
    links: reader.prepare<[], LinkFacts>(`SELECT ${LINK_COLUMNS} FROM links`).all(),
    proxied: reader
      .prepare<[], Facts['proxied'][number]>(
        "SELECT merchant_id, legacy_id, client_reference FROM legacy_sales WHERE work = 'sale'",
      )
      .all(),
    events: reader
      .prepare<[], Facts['events'][number]>("SELECT order_id || ' ' || action AS event, state FROM events")
      .all(),
    waiting: waitingOf(reader),
    reported: reportedOf(reader),
  }));
}

/** Pending work in words, and creates in doubt, which may be right; both empty when the server is quiet. */
export function readWaiting(path: string): { waiting: string[]; in_doubt: LinkFacts[] } {
  return withReader(path, (reader) => ({
    waiting: waitingOf(reader),
    in_doubt: reader.prepare<[], LinkFacts>(`SELECT ${LINK_COLUMNS} FROM links WHERE ${IN_DOUBT}`).all(),
  }));
}

export function checkFile(path: string): string {
  return withReader(path, (reader) => String(reader.pragma('integrity_check', { simple: true })));
}

const LINK_COLUMNS = `legacy_id, merchant_id, family, unit, slot,
  iif(reference_sent LIKE '~covered%', NULL, reference_sent) AS reference_sent, client_reference, idempotency_key,
  amount_minor, state, client_answer, order_id, payment_id, merchant_order_id, legacy_state, expires_at,
  updated_at`;

const IN_DOUBT = "state IN ('SENDING', 'IN_DOUBT')";
const OPEN_WORK: readonly [what: string, from: string][] = [
  ['live links', "links WHERE state = 'LIVE'"],
  ['events', "events WHERE state = 'pending'"],
  ['notices', "notices WHERE state = 'pending'"],
  ['dead notices', "notices WHERE state = 'dead'"],
  ['refunds in doubt', "refunds WHERE state IN ('SENDING', 'IN_DOUBT')"],
];

function waitingOf(reader: Reader): string[] {
  return OPEN_WORK.flatMap(([what, from]) => {
    const count = Number(reader.prepare(`SELECT count(*) FROM ${from}`).pluck().get());
    return count === 0 ? [] : [`${count} ${what}`];
  });
}

/** Subjects of audit lines, and orders named by settlements. */
function reportedOf(reader: Reader): string[] {
  const lines = reader.prepare<[], { subject: string; detail: string }>('SELECT subject, detail FROM audit').all();
  return lines.flatMap(({ subject, detail }) => {
    const { order_id } = JSON.parse(detail) as { order_id?: unknown }; // an audit line's detail is an object
    return typeof order_id === 'string' ? [subject, order_id] : [subject];
  });
}

function withReader<Read>(path: string, read: (reader: Reader) => Read): Read {
  const reader = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}
