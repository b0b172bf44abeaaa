/** A handler that is loaded with the first request that gets to it: a start pays nothing for it, and neither does who never asks. */
import type { RequestHandler } from 'express';

/** @param load tried again with the next request when it fails; its error is the request's. */
export function loadedLate(load: () => Promise<RequestHandler>): RequestHandler {
  let loading: Promise<RequestHandler> | null = null;
  return async (request, response, next) => {
    loading ??= load();
    const handler = await loading.catch((error: unknown) => {
      loading = null;
      throw error;
    });
    await handler(request, response, next);
  };
}
