/** A handler that is imported when it is first needed, so that a start does not wait for it. */
import type { RequestHandler } from 'express';

export interface LoadedLate {
  /** Waits for the handler; a failed import fails the request. */
  handler: RequestHandler;
  /** Imports ahead of the first request; after a failure the next request tries again. */
  load(): Promise<void>;
}

/** A handler whose code is loaded by its first call, or by `load`; a failed load is tried again by the next. */
export function loadedLate(load: () => Promise<RequestHandler>): LoadedLate {
  let loading: Promise<RequestHandler> | null = null;
  const loaded = (): Promise<RequestHandler> => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
  return {
    handler: async (request, response, next) => (await loaded())(request, response, next),
    load: async () => void (await loaded().catch(() => undefined)),
  };
}
