/** A run as a list of small, independent steps, so that steps can be removed to find the relevant ones. */

export const faults = [
  'refused', // not a byte leaves
  'lost before', // bytes leave, and nothing happens upstream
  'lost after', // it happens, and the answer is lost
  'truncated', // it happens, and half of the answer comes
  'slow', // it happens, and the answer comes after the product's timeout
  'late', // it happens only after the product's timeout
  'error before', // 500, and nothing happened
  'error after', // 500, and it happened
  'idempotency error', // 500 idempotency_validation_failed, and nothing happened
  'bad gateway', // 502 of a proxy in between, and it happened
  'empty', // it happens, and the answer has no body
  'foreign', // it happens, and the answer contains another order
  'rate', // 429
  'redirect', // 302 elsewhere
  'unauthorized', // 401 although the token is valid
  'missing', // 404 although it exists
  'stale', // a read shows the state of an earlier read
] as const;
/** `other sum`: a read shows another amount than that of the order. Only in plans with ramps: it stops a ramp. */
export type FaultName = (typeof faults)[number] | 'other sum';

export type FaultyCall = 'create' | 'get' | 'cancel' | 'refund' | 'any';

export const mails = ['lost', 'lost once', 'late', 'twice', 'slow', 'forged first'] as const;
export type MailName = (typeof mails)[number];

export const receiverMoods = ['well', 'errors', 'hangs', 'refuses', 'accepts wrongly', 'answer lost'] as const;
export type ReceiverMood = (typeof receiverMoods)[number];

export type TerminalAct = 'pick_up' | 'pay' | 'decline' | 'cancel' | 'confirm_needed';

/** `after_ms` is the time before the step. */
export type Step = { after_ms: number } & (
  | {
      do: 'sell';
      sale: number;
      till: number;
      keyed: boolean;
      own_reference: boolean;
      copies: number;
      patience_ms: number | null;
      /** The till's library repeats the call, as the vendor's SDKs do. */
      retries?: boolean;
      /** Number of answers to its creates that break off on their way to the till. */
      lost_answers?: number;
    }
  /** The cashier repeats the sale: the same sale while it has no 2xx, otherwise a new one. */
  | { do: 'again'; sale: number; patience_ms: number | null }
  | { do: 'read'; sale: number }
  | { do: 'cancel'; sale: number }
  /** Of a part in minor units, or with null of all that is left. */
  | {
      do: 'refund';
      sale: number;
      minor: number | null;
      keyed: boolean;
      copies: number;
      patience_ms: number | null;
    }
  /** The last refund of the sale, with the same key if it had one. */
  | { do: 'refund again'; sale: number; patience_ms: number | null }
  | { do: 'spy'; sale: number }
  | { do: 'terminal'; till: number; act: TerminalAct }
  | { do: 'buyer'; sale: number; act: 'pay' | 'lock' | 'unlock' }
  | { do: 'wait' }
  | { do: 'move'; merchant: number; stage: 'legacy' | 'canary' | 'orders' }
  /** Starts a ramp, of the merchant alone or of all; resumes it, after a reset of its safety stops, or pauses it. */
  | { do: 'ramp'; merchant: number; pauses: boolean; of_all?: boolean }
  /** The loop of ramps runs, as it does every few seconds. */
  | { do: 'look' }
  /** A safety stop trips. */
  | { do: 'trip'; merchant: number }
  | { do: 'kill'; point: string | null; nth: number; down_ms: number }
  | { do: 'stop'; down_ms: number }
  | { do: 'clock'; by_ms: number }
  | { do: 'fault'; call: FaultyCall; what: FaultName; times: number }
  | { do: 'mail'; what: MailName; times: number }
  | { do: 'forge'; sale: number; action: string; signed: boolean }
  | { do: 'resend'; nth: number }
  | { do: 'receiver'; merchant: number; mood: ReceiverMood; for_ms: number }
  | { do: 'outage'; for_ms: number }
  | { do: 'token'; merchant: number; good: boolean }
);

/** The variants of `docs/protocol.md` §3.1. */
export const variants = ['V1', 'V2', 'V3', 'V4', 'V5'] as const;
export type Variant = (typeof variants)[number];

/** A whole run, which is deterministic. */
export interface Plan {
  seed: number;
  variant: Variant;
  /** Behaviour that the vendor's pages leave open, as settings of the sandbox. */
  world: Record<string, unknown>;
  /** How far the clock that dates open orders is ahead of the one that dates ended orders. */
  dates_ahead_ms?: number;
  /** Receivers read the subject of a notice inside their handler; otherwise they only answer. */
  receivers_read?: boolean;
  product: {
    declined: 'error' | 'finished';
    unclaimed: 'cancel-unclaimed' | 'adopt';
    sweep: boolean;
    stop: 'off' | 'observe' | 'armed';
    looks: 'often' | 'rarely';
  };
  stages: ('legacy' | 'canary' | 'orders')[];
  /** With ramps, so that calls are recorded as their evidence. */
  ramps?: boolean;
  steps: Step[];
}

/** `form`: the form of its QR creates; by default that of the newest documentation. */
interface TillFacts {
  merchant: 0 | 1;
  kind: 'point' | 'static' | 'dynamic';
  unit: string;
  form?: QrForm;
}
export type QrForm = 'v1 POST' | 'v1 PUT' | 'hybrid';

export const tills = [
  { merchant: 0, kind: 'point', unit: 'PAX_A910__SMARTPOS0000000001' },
  { merchant: 0, kind: 'point', unit: 'NEWLAND_N950__SBX0000001' },
  { merchant: 1, kind: 'point', unit: 'PAX_A910__SMARTPOS0000000001' },
  { merchant: 0, kind: 'static', unit: 'SUC001POS001' },
  { merchant: 1, kind: 'static', unit: 'SUC001POS001' },
  { merchant: 0, kind: 'dynamic', unit: 'SUC001POS002' },
  { merchant: 1, kind: 'static', unit: 'SUC001POS002', form: 'v1 POST' },
  { merchant: 0, kind: 'static', unit: 'SUC002POS001', form: 'v1 PUT' },
  { merchant: 1, kind: 'static', unit: 'SUC002POS001', form: 'hybrid' },
] as const satisfies readonly TillFacts[];

export const merchants = ['700100200', '700100300'] as const;
