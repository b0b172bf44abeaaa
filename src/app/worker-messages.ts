/** What the first process and its workers say to each other. */
import type { Reading } from '../proxy/telemetry/metrics.ts';

export type FromWorker =
  /** Its doors are open; `banner`: what a single process would print. */
  | { puente: 'ready'; banner: string }
  /** Somebody asked this worker for the numbers of all. */
  | { puente: 'asks'; id: number }
  | { puente: 'readings'; id: number; readings: Reading[] };

export type ToWorker =
  /** Another one has taken your place: stop, and nobody has to notice. */
  | { puente: 'replaced' }
  /** Tell your numbers. */
  | { puente: 'read'; id: number }
  /** The numbers of all workers that answered. */
  | { puente: 'all'; id: number; readings: Reading[][] };

/** Null for what is no message of ours. */
export function readMessage<Message extends FromWorker | ToWorker>(message: unknown): Message | null {
  const isOurs = message !== null && typeof message === 'object' && 'puente' in message;
  return isOurs ? (message as Message) : null; // both sides run the same build
}
