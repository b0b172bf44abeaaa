/** The safety stop as others see it: it is told of exchanges, and shows what it counts. */
import type { Exchange } from '../evidence/exchange.ts';
import type { RoutedKind } from '../routing/merchant.ts';

/** What the watch sees of one merchant and kind now. */
export interface Watched {
  merchant_id: string;
  kind: RoutedKind;
  calls: number;
  faults: number;
  slow: number;
  /** Faults since the last good call. */
  in_a_row: number;
  /** The exchange that showed the last fault or slow call. */
  sample: string | null;
  /** Why it would trip at this moment; null while it wouldn't. */
  why: string | null;
}

export interface SafetyWatch {
  /** Takes note of a finished exchange. Cheap, never throws, never waits. */
  note(exchange: Exchange): void;
  /** Windows with calls in them; of one merchant, or of all. */
  view(merchant_id?: string): Watched[];
  /** Until what was decided so far is in the store. */
  settled(): Promise<void>;
}
