/** The process: reads the settings, starts Puente, says where its doors are, and stops cleanly. */
import cluster from 'node:cluster';
import { url as inspectorUrl } from 'node:inspector';
import { armedFailpoint } from './app/armed.ts';
import { type Circumstances, keepDiscreet, lastWords, refuseOnlookers } from './app/discretion.ts';
import { joinWorkers } from './app/worker.ts';
import { superviseWorkers } from './app/workers.ts';
import { type App, hasNoPeople, startApp } from './app.ts';
import { type Config, loadConfig } from './config.ts';
import { PuenteError } from './error.ts';
import { listAssumptions } from './sandbox/assumptions.ts';

/** A first merchant and terminal of the sandbox, for the call that the start prints. */
const FIRST_CALL = {
  token: 'APP_USR-4004001-112026-00000000000000000000000000000a01-700100200',
  device: 'PAX_A910__SMARTPOS0000000001',
};

/** Calls come more often than this on a connection that is in use. */
const WORKER_FAREWELL_MS = 1_000;

/**
 * Starts and runs until a signal. The exit code is 0 after a clean stop, 1 when the start is refused or the store fails.
 * @param environment usually `process.env`.
 */
export async function serve(environment: NodeJS.ProcessEnv): Promise<void> {
  // What is written belongs to this user alone: references and amounts are nobody else's business.
  process.umask(0o077);
  try {
    const config = loadConfig({ env: environment, cwd: process.cwd() });
    refuseOnlookers(circumstances(environment, config));
    keepDiscreet();
    outliveRejections();
    if (config.workers > 1 && cluster.isPrimary)
      process.exit(await superviseWorkers(config, environment, (line) => process.stdout.write(line)));
    const app = await startApp(cluster.isWorker ? asWorker(config) : config, {
      environment,
      ...(cluster.isWorker ? { joinWorkers } : {}),
      failpoint: armedFailpoint(environment, config),
      onFatal: (error) => {
        process.stderr.write(`Puente stops: ${error.message}\n`);
        process.exit(1);
      },
    });
    // Whoever reads that it is ready may ask it to end at once.
    stopOnSignals(app);
    if (app.worker === null) process.stdout.write(banner(config, app));
    else app.worker.ready(banner(config, app));
  } catch (error) {
    const message = error instanceof PuenteError ? error.message : lastWords(error);
    process.stderr.write(`Puente did not start: ${message}\n`);
    process.exit(1);
  }
}

function circumstances(environment: NodeJS.ProcessEnv, config: Config): Circumstances {
  return {
    is_production: environment.NODE_ENV === 'production' || config.upstream !== 'sandbox',
    options: [...process.execArgv, environment.NODE_OPTIONS ?? ''],
    inspector_url: inspectorUrl(),
  };
}

/** A promise whose end nobody waits for holds no state that others need: the process lives on (`reliability.md` F52). */
function outliveRejections(): void {
  process.on('unhandledRejection', (reason) => {
    process.stderr.write(`Puente goes on after an error that nobody caught; report it: ${lastWords(reason)}\n`);
  });
}

/** A second signal ends the process at once; what was running is recovered at the next start. */
function stopOnSignals(app: App): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    app.close().then(
      () => {
        if (app.worker === null) process.stdout.write('Puente has stopped.\n');
        process.exit(0);
      },
      (error: unknown) => {
        process.stderr.write(`Puente did not stop cleanly: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  // A terminal signals the whole group: a worker stops when the first process says so.
  process.on('SIGINT', app.worker === null ? stop : () => undefined);
}

/** Whoever is connected to a worker that leaves learns so from an answer, and finds the others by the same door. */
function asWorker(config: Config): Config {
  const { grace_ms, farewell_ms } = config.shutdown;
  return { ...config, shutdown: { grace_ms, farewell_ms: Math.max(farewell_ms, WORKER_FAREWELL_MS) } };
}

function banner(config: Config, app: App): string {
  const lines = [
    'Puente is ready.',
    `  public door   ${app.public_url}      tills, and POST /webhooks/orders`,
    `  ops door      ${app.ops_url}      /api /metrics /healthz /readyz`,
    `  ops token     ${opsToken(config, app)}`,
    `  upstream      ${app.sandbox === null ? config.upstream : `the sandbox, ${app.sandbox.url}`}`,
    `  legacy        ${app.sandbox !== null && config.legacy_upstream === 'sandbox' ? 'the sandbox' : config.legacy_upstream}`,
    `  new merchants ${config.routing.default_stage} (routing.default_stage)`,
    ...(config.outbound.allow_private
      ? ['  Notices may go to private and loopback addresses (outbound.allow_private).']
      : []),
    ...app.remarks.map((remark) => `  ${remark}`),
  ];
  if (app.sandbox !== null) lines.push(...sandboxLines(app, app.sandbox));
  return `${lines.join('\n')}\n`;
}

function opsToken(config: Config, app: App): string {
  if (app.ops_token_made) return `${app.ops_token?.reveal()}  (made at this start; set PUENTE_OPS_TOKEN to keep one)`;
  if (!hasNoPeople(config)) return 'as set';
  return 'none is set, so that the ops door lets nobody in: set PUENTE_OPS_TOKEN and start again';
}

function sandboxLines(app: App, sandbox: NonNullable<App['sandbox']>): string[] {
  const path = `/point/integration-api/devices/${FIRST_CALL.device}/payment-intents`;
  // A private authority's certificate is not known to curl, and the sandbox has nothing to steal.
  const curl = app.public_url.startsWith('https:') ? 'curl -sk' : 'curl -s';
  return [
    '',
    'What the specification leaves open, as the sandbox assumes it (change with PUT /_sandbox/settings):',
    ...listAssumptions(sandbox.world.settings).map(({ name, value, sentence }) => `  ${name} = ${value}: ${sentence}`),
    '',
    'A first payment, as a legacy till would ask for it:',
    `  ${curl} ${app.public_url}${path} -H 'Authorization: Bearer ${FIRST_CALL.token}' -H 'Content-Type: application/json' -d '{"amount":1500,"additional_info":{"external_reference":"sale-1","print_on_terminal":true}}'`,
    'Then act as the customer at the terminal:',
    `  curl -s -X POST ${sandbox.url}/_sandbox/terminals/700100200/${FIRST_CALL.device}/pay`,
  ];
}

if (import.meta.main) await serve(process.env);
