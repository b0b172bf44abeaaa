/** Carries bytes to the legacy upstream, untouched and streaming both ways; no logic in its hooks (DESIGN decision 2). */
import { Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { RequestHandler } from 'express';
import { createProxyMiddleware, debugProxyErrorsPlugin, proxyEventsPlugin } from 'http-proxy-middleware';
import type { Family } from '../contract/legacy-errors.ts';
import { refused } from '../core/answer.ts';
import type { Log } from '../core/runtime.ts';
import { sendAnswer } from './answer.ts';
import { collectBehind } from './collect-behind.ts';
import { dropHopByHop, ownConnection } from './head.ts';
import { watchCall } from './ongoing.ts';

/** Longest silence of the legacy upstream; longer than any till waits. */
const SILENCE_MS = 60_000;
/** Failures before a connection stood, so that nothing can have happened there. */
const NOT_CONNECTED: readonly string[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

export interface Passthrough {
  handler: RequestHandler;
  close(): void;
}

interface PassthroughLimits {
  /** That the gate lets in: with fewer sockets one merchant's slow calls would keep the others waiting here. */
  calls: number;
  /** How long an idle connection to a till stays open, which its answers say. */
  keep_alive_timeout_ms: number;
}

/** @param target base URL of the legacy upstream. */
export function createPassthrough(target: string, limits: PassthroughLimits, log: Log): Passthrough {
  // Without a keep-alive agent the library opens a connection per request and is four times slower (`performance.md`).
  const options = { keepAlive: true, maxSockets: limits.calls };
  const agent = target.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  const handler = createProxyMiddleware({
    // A text would be read as a URL twice for each call.
    target: new URL(target),
    changeOrigin: true,
    agent,
    // Without the one of the library's own that writes a log line for each call, and makes a URL for it if nobody reads it.
    ejectPlugins: true,
    plugins: [debugProxyErrorsPlugin, proxyEventsPlugin],
    proxyTimeout: SILENCE_MS,
    on: {
      proxyReq: (_onward, request) => collectBehind(request),
      proxyRes: (answer, request, response) => {
        ownConnection(answer, response.shouldKeepAlive ? limits.keep_alive_timeout_ms : null);
        watchCall(request, answer);
        collectBehind(answer);
      },
      error: (error, request, response) => {
        log.warn('legacy upstream failed', { cause: error.message, lane: 'legacy' });
        if ('writeHead' in response) sendAnswer(response as ServerResponse, failure(error, request)); // not a socket
      },
    },
  });
  const carry = handler as RequestHandler; // the library types its own request
  return {
    handler: (request, response, next) => {
      dropHopByHop(request);
      return carry(request, response, next);
    },
    close: () => agent.destroy(),
  };
}

/** A call that may have arrived is never told as one that did nothing, unless it could do nothing anyway. */
function failure(error: Error, request: IncomingMessage): ReturnType<typeof refused> {
  const code = 'code' in error ? String(error.code) : '';
  const harmless = request.method === 'GET' || request.method === 'HEAD' || NOT_CONNECTED.includes(code);
  return refused(familyOf(request.url ?? ''), harmless ? 'bad_gateway' : 'outcome_unknown');
}

/** Whose envelope the callers of a path know; everything that is not named speaks as payments do (`legacy-qr.md` §3). */
const FAMILIES: readonly (readonly [string, Family])[] = [
  ['/point/', 'point'],
  ['/mpmobile/', 'qr_v1'],
  ['/instore/', 'qr'],
  ['/merchant_orders', 'merchant_orders'],
];

/** @param target path and query as they came. */
export function familyOf(target: string): Family {
  return FAMILIES.find(([prefix]) => target.startsWith(prefix))?.[1] ?? 'payments';
}
