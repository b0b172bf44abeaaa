/** What a side answered to a create, as shadow stores it: for findings and for people. */
import type { Spoken } from '../../error.ts';
import { quoted, say } from '../../locales/message.ts';

/** Facts of the message `side`. */
type Side = { by: 'orders' | 'puente' | 'itself'; detail: string | Spoken };

/** A side's answer to a create, read. Shadow stores a refusal as `refused_there 400 property_value 400 …`: both statuses are one. */
export function sideOf(side: string): Side {
  const [, where, detail] = /^refused_(there|here) (.+)$/s.exec(side) ?? [];
  if (where === undefined || detail === undefined) return { by: 'itself', detail: side };
  if (where === 'here') return { by: 'puente', detail: detailOf(detail) };
  return { by: 'orders', detail: detail.replace(/^(\d{3}) (\S+) \1 /, '$1 $2: ') };
}

/** The detail of a refusal by a row as its parts, so that the row's reason has its translation. */
export function detailOf(detail: string): string | Spoken {
  const [, answer, why, row] = /^([^:]+): (.+) \(([\w.]+#[\w.]+)\)$/s.exec(detail) ?? [];
  if (answer === undefined || why === undefined || row === undefined) return detail;
  return say('side.row', { answer, why: quoted(why), row });
}

/** A side's answer to a create, as a clause in English. */
export function saidOf(side: string): string {
  return say('side', sideOf(side)).text;
}
