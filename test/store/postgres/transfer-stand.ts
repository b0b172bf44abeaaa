/** A running installation on a file beside its sandbox, and the command that transfers it to a server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../../src/app/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import type { MigrateStoreOutcome } from '../../../src/ops/cli/store.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import {
  type Answer,
  ARGENTINA,
  type Call,
  call,
  OPS_TOKEN,
  POINT,
  startReceiver,
  tables,
  tokenOf,
} from '../../kit.ts';
import { FAST } from '../../proxy/http/till.ts';
import { puente, type Ran } from '../../run-cli.ts';

const SECRET = 'a webhook secret of the tests';

export interface TransferStand {
  /** @param url of the database; without it the file is used. */
  start(url?: string): Promise<App>;
  /** Runs the command as operators do; `env` is added to the settings of the installation. */
  migrate(url: string, argv?: string[], env?: Record<string, string>): Promise<Ran>;
  doctor(): Promise<Ran>;
  till(app: App, path: string, options?: Call): Promise<Answer>;
  sell(app: App, device: string, reference: string): Promise<string>;
  pay(device: string): Promise<Answer>;
  noticed(): number;
  close(): Promise<void>;
}

export async function openStand(): Promise<TransferStand> {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-transfer-'));
  const sandbox: Sandbox = await startSandbox({ host: '127.0.0.1', port: 0, settings: { extra_terminals: 50 } });
  const receiver = await startReceiver();
  const apps: App[] = [];
  const settings = {
    ...FAST,
    PUENTE_UPSTREAM: sandbox.url,
    PUENTE_DATA_DIR: data_dir,
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_SECRET_KEY: 'c7'.repeat(32),
    PUENTE_WEBHOOK_SECRET: SECRET,
    PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
    PUENTE_MERCHANTS_NOTICE_URL: receiver.url,
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_LOG_LEVEL: 'silent',
    PUENTE_LIMITS_LAG_MS: '600000', // as in test/kit.ts
  };
  const till = (app: App, path: string, options: Call = {}) =>
    call(app.public_url + path, { token: tokenOf(ARGENTINA), ...options });
  return {
    async start(url) {
      const env = { ...settings, PUENTE_SANDBOX_SETTINGS: undefined, PUENTE_POSTGRES_URL: url };
      const app = await startApp(loadConfig({ env, cwd: process.cwd() }), { tables: tables() });
      apps.push(app);
      sandbox.world.configure({ webhook_url: `${app.public_url}/webhooks/orders`, webhook_secret: SECRET });
      return app;
    },
    migrate: (url, argv = [], env = {}) =>
      puente(['migrate-store', '--from', 'sqlite', '--to', 'postgres', '--json', ...argv], {
        env: { ...settings, NODE_ENV: 'test', PUENTE_POSTGRES_URL: url, ...env },
      }),
    doctor: () => puente(['doctor', '--offline'], { env: settings }),
    till,
    async sell(app, device, external_reference) {
      const body = { amount: 1500, additional_info: { external_reference } };
      const answer = await till(app, `${POINT}/devices/${device}/payment-intents`, { body });
      if (answer.status !== 200 && answer.status !== 201) throw new Error(`not sold: ${answer.status} ${answer.text}`);
      return (answer.body as { id: string }).id; // a created intent has one
    },
    pay: (device) => call(`${sandbox.url}/_sandbox/terminals/${ARGENTINA}/${device}/pay`, { body: {} }),
    noticed: () => receiver.received.length,
    async close() {
      for (const app of apps) await app.close();
      await receiver.close();
      await sandbox.close();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

export function outcomeOf({ out, err }: Ran): MigrateStoreOutcome {
  if (out === '') throw new Error(`nothing was printed: ${err}`);
  return JSON.parse(out) as MigrateStoreOutcome; // the command's own form
}
