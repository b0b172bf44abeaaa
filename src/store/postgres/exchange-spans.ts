/** Deleting old exchanges: whole spans of time at once, and the few rows that lie in none. */
import type { EvidenceStore } from '../../proxy/records/evidence.ts';
import type { Writer } from '../engine.ts';
import { tidierOf } from '../exchanges.ts';
import type { PostgresReader } from './reader.ts';

const DAY_MS = 86_400_000;
/** So many make up what is kept, and each is kept until its newest row is old: a sixteenth longer than its oldest. */
const SPANS = 16;

/** Rows from before there were spans, and those whose clock was wrong. */
const LOOSE = `(SELECT sequence, at FROM exchanges_before UNION ALL SELECT sequence, at FROM exchanges_unplaced) AS loose`;

/** @param now epoch ms. */
export function spanMethods(
  reader: PostgresReader,
  writer: Writer,
  now: () => number,
): Pick<EvidenceStore, 'tidyExchanges'> {
  const keep = reader.prepare<[number, number, number], { changed: number }>(
    'SELECT keep_exchange_spans(?, ?, ?) AS changed',
  );
  const tidyRows = tidierOf(reader, writer, { rows: LOOSE, messages: 'of all' });
  return {
    async tidyExchanges(exchanges_before, messages_before, limit) {
      const at = now();
      const kept = await keep.get(at, widthOf(at - exchanges_before), exchanges_before).then(
        () => null,
        (error: unknown) => error,
      );
      // Spans that could not be kept in order keep no row and no message from going.
      const gone = await tidyRows(exchanges_before, messages_before, limit);
      if (kept !== null && gone === 0) throw kept;
      return gone;
    },
  };
}

/** Whole days, at least one. */
function widthOf(kept_ms: number): number {
  return Math.max(1, Math.floor(kept_ms / SPANS / DAY_MS)) * DAY_MS;
}
