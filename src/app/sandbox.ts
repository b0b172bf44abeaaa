/** `puente sandbox`: runs the stand-in for both upstream APIs alone, without a proxy and a database. */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { startSandbox } from '../sandbox/server.ts';

export interface SandboxOrder {
  port?: string;
  host?: string;
  profile?: string;
  /** File that stores the sandbox's world between starts. */
  data?: string;
}

/** Serves until SIGTERM or SIGINT. @throws PuenteError bad_setting for a wrong option, a taken port or a bad file. */
export async function serveSandbox(environment: NodeJS.ProcessEnv, cwd: string, order: SandboxOrder): Promise<void> {
  const options = (['port', 'host', 'profile'] as const).flatMap((name) =>
    order[name] === undefined ? [] : [{ variable: `PUENTE_SANDBOX_${name.toUpperCase()}`, name, value: order[name] }],
  );
  const env = { ...environment, ...Object.fromEntries(options.map(({ variable, value }) => [variable, value])) };
  const option_of = Object.fromEntries(options.map(({ variable, name }) => [variable, `--${name}`]));
  const { settings, local_notification_urls, keeps_world: _, ...rest } = loadConfig({ env, cwd, option_of }).sandbox;
  const data = order.data === undefined ? null : resolve(cwd, order.data);
  const sandbox = await startSandbox({ ...rest, data, settings: { local_notification_urls, ...settings } });
  process.stdout.write(
    welcome(sandbox.url, rest.profile, [...sandbox.world.merchants.values()][0]?.access_token ?? ''),
  );
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await sandbox.close();
}

function welcome(url: string, profile: string, token: string): string {
  return `The sandbox stands in for both APIs at ${url} (profile ${profile}); it moves no money.

A first call:
  curl -s ${url}/terminals/v1/list -H 'Authorization: Bearer ${token}'

What there is:  curl -s ${url}/_sandbox/state
Side by side:   the header X-Sandbox-World: <name>, or paths below ${url}/_world/<name>/, make worlds that share nothing
`;
}
