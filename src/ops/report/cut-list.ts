/** Lists of a report that are cut: so many lines, so many of each merchant, open ones before accepted ones. */
import type { ReportAsk } from './period.ts';

/** Lines of sales in one report; the number of the others is reported. */
export const MOST_LINES = 5_000;
/** Of each merchant in the report of a fleet; a report of the merchant has the others. */
const MOST_OF_ONE = 100;

/** Lines in bounded memory; in a fleet's report no merchant takes the room of the others. The rest is counted. */
export function listOf<Row extends { merchant_id: string }>({ merchant_id }: ReportAsk, most = MOST_LINES) {
  const most_of_one = merchant_id === null ? MOST_OF_ONE : MOST_LINES;
  const lines: Row[] = [];
  const kept = new Map<string, number>();
  let more = 0;
  return {
    lines,
    left_out: () => more,
    add(line: Row): void {
      const own = kept.get(line.merchant_id) ?? 0;
      if (own >= most_of_one || lines.length >= most) return void more++;
      kept.set(line.merchant_id, own + 1);
      lines.push(line);
    },
  };
}

/** A list whose accepted lines are the first that are cut. `open` is cut by merchant alone, so that each is judged. */
export function openFirst<Row extends { merchant_id: string }>(ask: ReportAsk) {
  const [open, accepted] = [listOf<Row>(ask, Number.POSITIVE_INFINITY), listOf<Row>(ask)];
  return {
    open: open.lines,
    add: (line: Row, is_open: boolean): void => (is_open ? open : accepted).add(line),
    cut() {
      const all = listOf<Row>(ask);
      for (const line of [...open.lines, ...accepted.lines]) all.add(line);
      return { lines: all.lines, left_out: all.left_out() + open.left_out() + accepted.left_out() };
    },
  };
}
