/** Bounds on calls to upstream: how many run at once, payments before reads; and the pace of recovery, so that a backlog does not crowd out payments (`test/faults/README.md` F31, §3.11.4). */

import type { Clock } from '../clock.ts';
import { createQueue, type Queue } from '../keyed-mutex.ts';
import type { Upstream, UpstreamOutcome } from './upstream.ts';

const SECOND_MS = 1_000;
/** How long all background calls rest when the service asks for fewer without saying for how long. */
const REST_MS = 1_000;
/** A slot further away than this was given before the clock was set back, and is not waited for. */
const LONGEST_WAIT_MS = 60_000;

export interface PacedUpstream extends Upstream {
  /** True while the service's own limit (429) is respected: nothing more is worth starting. */
  rests(): boolean;
}

/**
 * The same upstream at no more than `per_second` calls, evenly spaced and without a burst, whoever makes them. What is
 * started while it rests is answered as not sent, so that its caller tries later and holds nothing up meanwhile.
 */
export function paceUpstream(upstream: Upstream, per_second: number, clock: Clock): PacedUpstream {
  let free_at = Number.NEGATIVE_INFINITY;
  let rest_until = Number.NEGATIVE_INFINITY;

  /** Takes the next slot; ms until it comes. */
  const nextSlot = (): number => {
    const now = clock.now();
    const slot = free_at - now > LONGEST_WAIT_MS ? now : Math.max(now, free_at);
    free_at = slot + SECOND_MS / per_second;
    return slot - now;
  };
  const rests = (): boolean => {
    const left_ms = rest_until - clock.now();
    return left_ms > 0 && left_ms <= LONGEST_WAIT_MS;
  };
  const heed = (outcome: UpstreamOutcome): void => {
    if (outcome.kind !== 'answered' || outcome.status !== 429) return;
    rest_until = clock.now() + Math.min(outcome.retry_after_ms ?? REST_MS, LONGEST_WAIT_MS);
  };

  return {
    rests,
    async send(call) {
      const wait_ms = nextSlot();
      if (wait_ms > 0) await clock.sleep(wait_ms);
      if (rests()) return { kind: 'not_sent', cause: 'background calls rest' };
      const outcome = await upstream.send(call);
      heed(outcome);
      return outcome;
    },
  };
}

// Bounds how many calls run at once: payments go before reads, and those that wait leave the queue when their time is
// over.

/** `write`: makes, cancels or refunds something. `payment_read`: such a call waits for what is read. */
export type SlotKind = 'write' | 'payment_read' | 'read';

/** Who waits is served in this order. */
const KINDS = ['write', 'payment_read', 'read'] as const satisfies readonly SlotKind[];

/** The time that somebody waits. Not an AbortController: that costs as much processor time as all else that is done for a slot. */
export interface TimeLimit {
  isOver(): boolean;
  /** Told once, when the time is over; whoever asked last is told alone, and nobody who asks after it. */
  onOver(tell: () => void): void;
}

export interface Slots {
  /** True with a slot taken, at once where one is free; false when the time was over first. */
  take(kind: SlotKind, limit: TimeLimit): boolean | Promise<boolean>;
  /** Gives a slot back, to what has waited longest of the first kind in line. */
  give(kind: SlotKind): void;
}

/** Reads leave a quarter of the slots to writes, so that no flood of them, and no slow ones, keeps a payment waiting. */
const READ_SHARE = 0.75;
/** Those for payments may take more, and still leave room for what needs no read, should reads alone hang. */
const ALL_READS_SHARE = 0.875;

/**
 * The queue stands before undici's pool, because a call that timed out in the pool's own queue stays there and still
 * costs a connection attempt: while the other side is unreachable, that queue only grows.
 */
export function createSlots(count: number): Slots {
  const most_reads = Math.max(1, Math.floor(count * READ_SHARE));
  const most_all_reads = Math.min(count, Math.max(most_reads + 1, Math.floor(count * ALL_READS_SHARE)));
  const running: Record<SlotKind, number> = { write: 0, payment_read: 0, read: 0 };
  const waiting: Record<SlotKind, Queue<() => void>> = {
    write: createQueue(),
    payment_read: createQueue(),
    read: createQueue(),
  };
  const hasRoom = (kind: SlotKind): boolean => {
    const all_reads = running.payment_read + running.read;
    if (running.write + all_reads >= count) return false;
    if (kind === 'read' && running.read >= most_reads) return false;
    return kind === 'write' || all_reads < most_all_reads;
  };
  const serveNext = (): void => {
    for (const kind of KINDS) {
      const serve = waiting[kind].first();
      if (serve === null || !hasRoom(kind)) continue;
      serve();
      return;
    }
  };
  return {
    take(kind, limit) {
      if (limit.isOver()) return false;
      if (hasRoom(kind)) {
        running[kind]++;
        return true;
      }
      return new Promise((resolve) => {
        const settle = (taken: boolean): void => {
          waiting[kind].leave(place);
          if (taken) running[kind]++;
          resolve(taken);
        };
        const place = waiting[kind].join(() => settle(true));
        limit.onOver(() => settle(false));
      });
    },
    give(kind) {
      running[kind]--;
      serveNext();
    },
  };
}
