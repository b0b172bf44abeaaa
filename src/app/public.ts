/** The public door: webhooks and legacy operations; everything else is proxied. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import express, { type ErrorRequestHandler, type Express } from 'express';
import type { Config } from '../config/config.ts';
import { PuenteError } from '../error.ts';
import type { Ports } from '../ops/ports.ts';
import { type Admission, admissionGate } from '../proxy/http/admission.ts';
import { createAfter } from '../proxy/http/after-answer.ts';
import { answerThrown, refused, sendAnswer } from '../proxy/http/answer.ts';
import { createExchanges, type Exchanges } from '../proxy/http/exchange.ts';
import { legacyRouter } from '../proxy/http/legacy.ts';
import { familyOf, type Passthrough } from '../proxy/http/passthrough.ts';
import { unknownEndpoints } from '../proxy/http/proxy-legacy.ts';
import { readToken } from '../proxy/http/request.ts';
import { type Listening, listen } from '../proxy/http/server.ts';
import { webhookRouter } from '../proxy/http/webhooks.ts';
import type { Telemetry } from '../proxy/telemetry/port.ts';
import type { Metrics } from '../proxy/telemetry/telemetry.ts';
import type { Secret } from '../proxy/vault.ts';

interface PublicParts {
  ports: Ports;
  config: Config;
  metrics: Metrics;
  passthrough: Passthrough;
  admission: Admission;
  webhook_secret: Secret | null;
  telemetry: Telemetry | null;
}

/** `close` also waits for the work after answers. @throws PuenteError bad_setting for a bad address or certificate. */
export async function openPublicDoor(parts: PublicParts): Promise<Listening & { own_url: string }> {
  const door = parts.config.public;
  const tls = readTls(parts.config);
  const exchanges = createExchanges(parts.ports, createAfter(parts.admission, parts.metrics, parts.telemetry));
  const listening = await listen(publicApp(parts, exchanges), {
    name: 'public.port',
    host: door.host,
    port: door.port,
    headers_timeout_ms: door.headers_timeout_ms,
    request_timeout_ms: door.request_timeout_ms,
    keep_alive_timeout_ms: door.keep_alive_timeout_ms,
    write_timeout_ms: door.write_timeout_ms,
    header_limit_bytes: door.header_limit_bytes,
    max_connections: door.max_connections,
    max_requests_per_connection: door.max_requests_per_connection,
    refuse(request, response, fault) {
      parts.ports.count('refused_heads', fault);
      sendAnswer(response, refused(familyOf(request.url ?? ''), 'bad_request'));
    },
    mayHoldBack(request) {
      const token = readToken(request);
      return token !== null && parts.admission.isKnown(parts.ports.vault.fingerprint(token));
    },
    dropped: () => parts.ports.count('dropped_connections', 'public'),
    ...(tls === null ? {} : { tls }),
  });
  return {
    port: listening.port,
    own_url: doorUrl(tls === null ? 'http' : 'https', door.host, listening.port),
    farewell: listening.farewell,
    async close(grace_ms) {
      await listening.close(grace_ms);
      await exchanges.settled();
    },
  };
}

/** The URL of a door, as reached from this machine. */
export function doorUrl(scheme: string, host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

const notSupported = refused('point', 'action_not_supported');

function publicApp(parts: PublicParts, exchanges: Exchanges): Express {
  const { ports, passthrough } = parts;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(admissionGate(ports, parts.admission));
  const { unverified, waiting_limit } = parts.config.webhook;
  const { webhook_secret: secret } = parts;
  app.use(webhookRouter({ ports, secret, unverified, waiting_limit }));
  app.use(exchanges.open);
  app.use(
    legacyRouter({
      ports,
      proxy: passthrough.handler,
      body_limit_bytes: parts.config.public.body_limit_bytes,
    }),
  );
  // The sandbox's control door needs no token and shows tokens, so only the sandbox's own port serves it.
  app.use('/_sandbox', (_request, response) => sendAnswer(response, notSupported));
  app.use(unknownEndpoints({ proxy: passthrough.handler }));
  const tell: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    sendAnswer(response, answerThrown(familyOf(request.url), error, request, ports.log));
  };
  app.use(tell);
  return app;
}

/** Chain and key, PEM; null for plain HTTP. @throws PuenteError bad_setting when unreadable, or not of one pair. */
export function readTls(config: {
  public: Pick<Config['public'], 'tls'>;
}): { certificate: string; key: string } | null {
  const { certificate_file, key_file } = config.public.tls;
  if (certificate_file === null) return null;
  const read = (path: string | null, name: string): string => {
    try {
      return readFileSync(path ?? '', 'utf8');
    } catch (error) {
      throw new PuenteError('bad_setting', `public.tls.${name}: ${path} can't be read; give the path of a PEM file`, {
        cause: error,
      });
    }
  };
  const pair = { certificate: read(certificate_file, 'certificate_file'), key: read(key_file, 'key_file') };
  try {
    createSecureContext({ cert: pair.certificate, key: pair.key });
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unreadable';
    throw new PuenteError(
      'bad_setting',
      `public.tls: certificate_file and key_file can't be used together (${why}); give the chain in PEM, and its own key`,
      { cause: error },
    );
  }
  return pair;
}
