/** Proves whether the bytes of one request left this process, through undici's diagnostics channels (`reliability.md` §3.5). */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** `sent` turns true just before undici hands the request's head to the socket, and never back. */
export interface SentMark {
  sent: boolean;
}

export interface SentWatch {
  /** Runs `dispatch`; the one request it makes writes into `mark`. */
  follow(mark: SentMark, dispatch: () => void): void;
  stop(): void;
}

/**
 * Ties each channel message to its call: undici makes its request object inside `dispatch`, also when the pool had queued
 * it (it restores the caller's async context then), and names that same object when it writes it.
 */
export function watchSending(): SentWatch {
  const context = new AsyncLocalStorage<SentMark>();
  const created = (message: unknown): void => {
    const mark = context.getStore();
    const request = requestOf(message);
    if (mark !== undefined && request !== null) request[MARK] = mark;
  };
  const writing = (message: unknown): void => {
    const mark = requestOf(message)?.[MARK];
    if (mark !== undefined) mark.sent = true;
  };
  subscribe('undici:request:create', created);
  subscribe('undici:client:sendHeaders', writing);
  return {
    follow: (mark, dispatch) => context.run(mark, dispatch),
    stop() {
      unsubscribe('undici:request:create', created);
      unsubscribe('undici:client:sendHeaders', writing);
    },
  };
}

/** On undici's own object, because a WeakMap holds on to what is long over (`proxy/http/ongoing.ts`). */
const MARK = Symbol('mark');
type Marked = object & { [MARK]?: SentMark };

function requestOf(message: unknown): Marked | null {
  if (typeof message !== 'object' || message === null || !('request' in message)) return null;
  return typeof message.request === 'object' ? message.request : null;
}
