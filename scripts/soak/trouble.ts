/** Faults at upstream: while on, a share of calls is spoiled, and as many webhooks dropped, late, doubled or forged. */

import type { FaultRule } from '../../src/sandbox/actions.ts';
import { createFault } from '../../src/sandbox/faults.ts';
import type { World } from '../../src/sandbox/world.ts';
import type { Chance } from '../make-capture/chance.ts';

export interface Trouble {
  set(isOn: boolean): void;
  acted(): Record<string, number>;
  close(): void;
}

/** Interval at which the next fault is drawn: at some hundred calls a second only a few pass in between. */
const TICK_MS = 20;
/** Late enough that Puente polls before; far below the vendor's 15 minutes. */
const WEBHOOK_LATE_MS = 8_000;

type Spoil = Pick<FaultRule, 'kind'> & Partial<Pick<FaultRule, 'when' | 'delay_ms' | 'status' | 'code'>>;
const RULES: readonly [Spoil, ...Spoil[]] = [
  { kind: 'refuse' },
  { kind: 'reset' },
  { kind: 'reset', when: 'after' },
  { kind: 'error', status: 500, code: 'internal_error' },
  { kind: 'error', when: 'after', status: 500, code: 'internal_error' },
  { kind: 'html' },
  { kind: 'delay', delay_ms: 700 },
  { kind: 'delay', when: 'after', delay_ms: 1_500 },
  { kind: 'truncate' },
  { kind: 'no_answer' },
];
const MODES = ['drop', 'duplicate', 'late', 'forge'] as const;

/** @param share 0 to 1. */
export function startTrouble(world: World, chance: Chance, share: number): Trouble {
  const counts: Record<string, number> = {};
  let isOn = false;
  const count = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  /** Keeps one rule at a time; the call it hits is drawn, so each call is hit with the same probability. */
  const nextFault = (): void => {
    const [waiting] = world.faults;
    if (waiting !== undefined && waiting.acted === 0) return;
    if (waiting !== undefined) count(`${waiting.rule.kind} ${waiting.rule.when}`);
    const rule = chance.pick(RULES);
    const nth = callsUntil(chance, share);
    world.faults.length = 0;
    const rest = { method: '*', path: '*', nth, times: 1, when: 'before', delay_ms: 0 } as const;
    world.faults.push(createFault({ ...rest, ...rule }));
  };
  const nextMode = (): void => {
    const mode = chance.is(share) ? chance.pick(MODES) : 'normal';
    if (mode !== 'normal') count(`webhooks ${mode}, ${TICK_MS} ms`);
    setMode(world, mode);
  };
  const timer = setInterval(() => {
    if (!isOn) return;
    nextFault();
    nextMode();
  }, TICK_MS);
  world.configure({ webhook_late_ms: WEBHOOK_LATE_MS });
  return {
    set(wanted) {
      isOn = wanted && share > 0;
      if (isOn) return;
      world.faults.length = 0;
      setMode(world, 'normal');
    },
    acted: () => ({ ...counts }),
    close: () => clearInterval(timer),
  };
}

function setMode(world: World, webhook_mode: World['settings']['webhook_mode']): void {
  if (world.settings.webhook_mode !== webhook_mode) world.configure({ webhook_mode });
}

/** Geometric distribution: the number of the first call to hit. */
function callsUntil(chance: Chance, share: number): number {
  let calls = 1;
  while (!chance.is(share)) calls++;
  return calls;
}
