/** Carries bytes to the legacy upstream, untouched and streaming both ways; no logic in its hooks (DESIGN decision 2). */
import { Agent as HttpAgent, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { RequestHandler } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { refused } from '../core/answer.ts';
import type { Log } from '../core/runtime.ts';
import { sendAnswer } from './answer.ts';

/** Without a keep-alive agent the library opens a connection per request and is four times slower (`performance.md`). */
const MAX_SOCKETS = 256;
/** Longest silence of the legacy upstream; longer than any till waits. */
const SILENCE_MS = 60_000;

export interface Passthrough {
  handler: RequestHandler;
  close(): void;
}

/** @param target base URL of the legacy upstream. */
export function createPassthrough(target: string, log: Log): Passthrough {
  const options = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const agent = target.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  const handler = createProxyMiddleware({
    target,
    changeOrigin: true,
    agent,
    proxyTimeout: SILENCE_MS,
    on: {
      error: (error, _request, response) => {
        log.warn('legacy upstream failed', { cause: error.message, lane: 'legacy' });
        const answer = refused('point', 'bad_gateway');
        if ('writeHead' in response) sendAnswer(response as ServerResponse, answer); // not a socket
      },
    },
  });
  return { handler: handler as RequestHandler, close: () => agent.destroy() }; // the library types its own request
}
