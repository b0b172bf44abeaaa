/** Proxies a request to legacy in this thread, as the product's proxy does over sockets. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { watchCall } from '../../src/proxy/http/exchange.ts';
import type { Random } from '../crash/random.ts';
import type { SimulatedClock } from './clock.ts';
import type { ProxiedCall } from './history.ts';
import type { Service } from './service.ts';

const FASTEST_MS = 5;
const SLOWEST_MS = 120;

export interface Passthrough {
  log: ProxiedCall[];
  handler: RequestHandler;
  reset(random: Random): void;
}

export function createPassthrough(clock: SimulatedClock, service: Service): Passthrough {
  let random: Random | null = null;
  const delay = (): number => random?.between(FASTEST_MS, SLOWEST_MS) ?? FASTEST_MS;
  const passthrough: Passthrough = {
    log: [],
    reset(next) {
      random = next;
      passthrough.log = [];
    },
    handler(request, response) {
      const body = request.read() as Buffer | null; // no encoding is set on it
      const { method, url, call } = request as typeof request & { call?: number }; // set where the request was made
      const headers = request.headers as Record<string, string>; // each once, as they were made
      clock.after(delay(), () => {
        const line: ProxiedCall = { at: clock.now(), call: call ?? null, method, url, status: null };
        passthrough.log.push(line);
        const reply = service.serve({ method, url, headers, body });
        line.status = reply.status;
        clock.after(delay(), () => {
          const answer = answerOf(reply.status, reply.headers);
          watchCall(request, answer as unknown as IncomingMessage); // it uses only the events
          if (reply.text !== '') answer.emit('data', Buffer.from(reply.text));
          answer.emit('end');
          response.writeHead(reply.status, reply.headers).end(reply.text);
        });
      });
    },
  };
  return passthrough;
}

function answerOf(statusCode: number, headers: Record<string, string>) {
  return Object.assign(new EventEmitter(), { statusCode, headers, complete: true });
}
