/** Probes an upstream for the doctor: reachability, latency, TLS version, certificate, and clock. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../../proxy/clock.ts';
import type { Probe } from './finding.ts';

/** An operator at a prompt should not wait longer. */
const TIMEOUT_MS = 5_000;

/** Sends HEAD to the base URL, without a token; any answer counts as reached. Never throws. */
export function probeUpstream(
  name: Probe['name'],
  base_url: string,
  clock: Pick<Clock, 'now'>,
  timeout_ms = TIMEOUT_MS,
): Promise<Probe> {
  const url = new URL(base_url);
  const nothing = {
    name,
    url: url.origin,
    is_reached: false,
    says: '',
    latency_ms: null,
    protocol: null,
    certificate_until: null,
    skew_ms: null,
  };
  return new Promise((resolve) => {
    const started_ms = performance.now();
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    // A new connection: one that is open already would prove neither the name, nor the route, nor the certificate.
    const sent = send(url, { method: 'HEAD', agent: false });
    // A limit for the whole call: an answer that drips is never silent long enough for a socket timeout.
    const limit = setTimeout(() => sent.destroy(new Error(`no answer within ${timeout_ms} ms`)), timeout_ms);
    sent.on('close', () => clearTimeout(limit));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve({ ...nothing, says: error.code ?? error.message }));
    sent.on('response', (answer) => {
      const latency_ms = Math.round(performance.now() - started_ms);
      resolve({ ...nothing, ...seen(answer, clock.now()), is_reached: true, latency_ms });
      answer.destroy();
    });
    sent.end();
  });
}

function seen(
  { statusCode = 0, headers, socket }: IncomingMessage,
  now: number,
): Pick<Probe, 'says' | 'protocol' | 'certificate_until' | 'skew_ms'> {
  const date = Date.parse(headers.date ?? '');
  const is_tls = socket instanceof TLSSocket;
  const until = is_tls ? Date.parse(socket.getPeerCertificate().valid_to ?? '') : Number.NaN;
  return {
    says: `status ${statusCode}`,
    protocol: is_tls ? socket.getProtocol() : null,
    certificate_until: Number.isNaN(until) ? null : until,
    // A Date header has whole seconds, so half a second is added.
    skew_ms: Number.isNaN(date) ? null : now - (date + 500),
  };
}
