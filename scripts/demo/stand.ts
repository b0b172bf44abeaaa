/** The demonstration's stand: the sandbox as the vendor and Puente, both in this process, on one virtual clock. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Clock } from '../../src/proxy/clock.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { send } from '../http.ts';

export interface Stand {
  public_url: string;
  ops_url: string;
  sandbox_url: string;
  /** Time of Puente and the vendor, epoch ms. */
  now(): number;
  pass(duration_ms: number): Promise<void>;
  /** A call on the sandbox's control door; `path` without `/_sandbox`. @throws Error for any other status than 2xx. */
  control(method: Method, path: string, body?: unknown): Promise<unknown>;
  /** Restarts Puente on the same database and ports. @param settings environment variables. */
  restart(settings: Record<string, string>): Promise<void>;
  close(): Promise<void>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** More terminals per merchant, so that a share has several units. */
const EXTRA_TERMINALS = 6;
const WEBHOOK_SECRET = 'the webhook secret of the demonstration';

/** The only settings: nothing is read from the environment, so that the demonstration is the same everywhere. */
const SETTINGS = {
  PUENTE_SECRET_KEY: 'the key of the demonstration, which seals what is on disk',
  PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
  PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
  PUENTE_LOG_LEVEL: 'silent',
  // Tills and the vendor share this process, and their work must not make Puente shed a till.
  PUENTE_LIMITS_LAG_MS: '600000',
  // Longer than any pause of a till here, so that no connection closes under its next request.
  PUENTE_PUBLIC_KEEP_ALIVE_TIMEOUT_MS: '75000',
  // The story lasts seconds, so fewer calls count as enough.
  PUENTE_MOVES_MIN_SAMPLE: '10',
};

/** @param people names, roles and tokens of the ops door. */
export async function startStand(people: Record<string, { role: string; token: string }>): Promise<Stand> {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-demo-data-'));
  const remove = (): void => rmSync(data_dir, { recursive: true, force: true });
  const interrupted = (): void => {
    remove();
    process.exit(1);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const sandbox = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    settings: { extra_terminals: EXTRA_TERMINALS, local_notification_urls: 'called' },
  }).catch((error: unknown) => {
    remove();
    throw error;
  });
  const env = { ...SETTINGS, PUENTE_OPS_TOKENS: JSON.stringify(people), PUENTE_DATA_DIR: data_dir };
  const open = (settings: Record<string, string>): Promise<App> =>
    startPuente(sandbox, data_dir, { ...env, ...settings });
  const control = (method: Method, path: string, body?: unknown) => ask(method, `${sandbox.url}/_sandbox${path}`, body);
  let app = await open({ PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0' }).catch(async (error: unknown) => {
    await sandbox.close();
    remove();
    throw error;
  });
  const { public_url, ops_url } = app;
  await control('PUT', '/webhooks', { url: `${public_url}/webhooks/orders`, secret: WEBHOOK_SECRET });
  // An attached shop reaches Puente by the vendor's host name; here a setting does that.
  await control('PUT', '/settings', { ipn_resource_base: public_url });
  return {
    public_url,
    ops_url,
    sandbox_url: sandbox.url,
    now: () => sandbox.world.clock.now(),
    pass: async (advance_ms) => void (await control('POST', '/clock', { advance_ms })),
    control,
    async restart(settings) {
      await app.close();
      const ports = { PUENTE_PUBLIC_PORT: new URL(public_url).port, PUENTE_OPS_PORT: new URL(ops_url).port };
      app = await open({ ...ports, ...settings });
    },
    async close() {
      await app.close();
      await sandbox.close();
      remove();
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    },
  };
}

/** Starts Puente as with a real upstream: it gets only the sandbox's URL, and the sandbox's clock. */
function startPuente(sandbox: Sandbox, cwd: string, env: Record<string, string>): Promise<App> {
  const clock: Clock = {
    now: () => sandbox.world.clock.now(),
    sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
  };
  const upstream = { PUENTE_UPSTREAM: sandbox.url, PUENTE_LEGACY_UPSTREAM: sandbox.url };
  return startApp(loadConfig({ env: { ...upstream, ...env }, cwd }), { clock });
}

/** @throws Error for any other status than 2xx: the stand itself must work. */
async function ask(method: Method, url: string, body?: unknown): Promise<unknown> {
  const answer = await send(method, url, { body });
  if (answer.status >= 300)
    throw new Error(`${method} ${url} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
