/** The real server imports OpenTelemetry only if a variable requests it, and reports it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { killChildren, SOURCES, StartRefused, startChild } from '../../crash/child.ts';

/** A start without these packages; only the API package is there, because prom-client depends on it. */
const WITHOUT = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const resolve = (name, context, next) => {
    if (name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api') throw new Error('telemetry was loaded');
    return next(name, context);
  };
  registerHooks({ resolve });
`)}`;
const directory = mkdtempSync(join(tmpdir(), 'puente-telemetry-'));
/** Without the sandbox, whose start prints more than `child.ts` keeps. */
const ANYWHERE = {
  PUENTE_PUBLIC_PORT: '0',
  PUENTE_OPS_PORT: '0',
  PUENTE_UPSTREAM: 'https://127.0.0.1:1',
  PUENTE_LEGACY_UPSTREAM: 'https://127.0.0.1:1',
  PUENTE_PUBLIC_URL: 'https://puente.example',
  PUENTE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  PUENTE_WEBHOOK_SECRET: 'of-the-webhooks-of-this-test',
  PUENTE_OPS_TOKEN: 'of-the-ops-door-of-this-test',
};

afterAll(async () => {
  await killChildren();
  rmSync(directory, { recursive: true, force: true });
});

function start(environment: Record<string, string>, node_options: string[] = []): ReturnType<typeof startChild> {
  return startChild({ ...ANYWHERE, PUENTE_DATA_DIR: directory, ...environment }, { ...SOURCES, node_options });
}

it.each([
  [{}],
  [{ OTEL_SERVICE_NAME: 'puente' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
])('%o loads nothing', async (environment) => {
  const server = await start(environment, ['--import', WITHOUT]);
  expect(server?.output()).toContain('Puente is ready.');
  expect(server?.output()).not.toContain('OpenTelemetry');
  await server?.stop();
  expect(server?.process.exitCode).toBe(0);
});

it('an address loads it', async () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
  const refused = await start(environment, ['--import', WITHOUT]).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StartRefused);
  expect(String(refused)).toContain('telemetry was loaded');
});

it('what is sent where, and what is not known, stands in the banner; the process ends by itself', async () => {
  const key = 'the-key-of-our-collector';
  const server = await start({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${key}`,
  });
  expect(server?.output()).toContain('OpenTelemetry: traces go to otlp.');
  expect(server?.output()).toContain('OTEL_EXPORTER_OTLP_PROTOCOL has an unknown value');
  await server?.stop();
  expect(server?.process.exitCode).toBe(0);
  expect(server?.output()).toContain('Puente has stopped.');
  expect(server?.output()).not.toContain(key);
});
