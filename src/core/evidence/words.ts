/** Counts and days in the sentences of findings. */
import type { Traffic } from '../records/evidence.ts';

/** `once`, `3 times`. */
export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** `1 call`, `3 calls`. */
export function callsOf(count: number): string {
  return count === 1 ? '1 call' : `${count} calls`;
}

export function sumOf(rows: readonly Pick<Traffic, 'calls'>[]): number {
  return rows.reduce((sum, { calls }) => sum + calls, 0);
}

/** What a side said of a create, as a clause: a shadow's verdict is kept as `refused_there 400 property_value …`. */
export function saidOf(side: string): string {
  const [, where, rest] = /^refused_(there|here) (.+)$/s.exec(side) ?? [];
  if (where === undefined || rest === undefined) return side;
  return `${where === 'there' ? 'orders' : 'Puente'} would refuse it: ${rest}`;
}
