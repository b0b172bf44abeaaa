/** A handler that is loaded when it is needed: until then a start pays nothing for it, and neither does who never asks. */
import type { RequestHandler } from 'express';

export interface LoadedLate {
  /** Waits for the handler; its error is the request's. */
  handler: RequestHandler;
  /** Loads it before anybody asks; a failure is tried again with the next request. */
  load(): Promise<void>;
}

/** @param load tried again with the next request when it fails. */
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
    load: () =>
      loaded().then(
        () => undefined,
        () => undefined,
      ),
  };
}
