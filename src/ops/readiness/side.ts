/** What a side answered to a create, as shadow stores it: for findings and for people. */
import { say } from '../../locales/message.ts';

/** A side's answer to a create, read. Shadow stores a refusal as `refused_there 400 property_value 400 …`: both statuses are one. */
export function sideOf(side: string): { by: 'orders' | 'puente' | 'itself'; detail: string } {
  const [, where, detail] = /^refused_(there|here) (.+)$/s.exec(side) ?? [];
  if (where === undefined || detail === undefined) return { by: 'itself', detail: side };
  return { by: where === 'there' ? 'orders' : 'puente', detail: detail.replace(/^(\d{3}) (\S+) \1 /, '$1 $2: ') };
}

/** A side's answer to a create, as a clause in English. */
export function saidOf(side: string): string {
  return say('side', sideOf(side)).text;
}
