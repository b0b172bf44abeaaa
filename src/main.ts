/** The process: reads the settings, starts Puente, prints where its doors are, and stops cleanly. */
import cluster from 'node:cluster';
import { url as inspectorUrl } from 'node:inspector';
import { flushCompileCache } from 'node:module';
import { isatty } from 'node:tty';
import { type App, startApp } from './app/app.ts';
import { armedFailpoint } from './app/armed.ts';
import { type Circumstances, keepDiscreet, lastWords, refuseOnlookers } from './app/discretion.ts';
import { watchStart, welcome } from './app/welcome.ts';
import { joinWorkers, superviseWorkers } from './app/workers.ts';
import { type Config, loadConfig } from './config/config.ts';
import { PuenteError } from './error.ts';

/**
 * Runs until a signal. The exit code is 0 after a clean stop, 1 when the start is refused or the store fails.
 * @param option_of as for `loadConfig`.
 */
export async function serve(environment: NodeJS.ProcessEnv, option_of: Record<string, string> = {}): Promise<void> {
  // Files are readable for this user only: they contain references and amounts.
  process.umask(0o077);
  const watch = watchStart(() => performance.now());
  watch.ended('program');
  try {
    const config = loadConfig({ env: environment, cwd: process.cwd(), option_of });
    watch.ended('settings');
    refuseOnlookers(circumstances(environment, config));
    keepDiscreet();
    outliveRejections();
    if (config.workers > 1 && cluster.isPrimary)
      process.exit(await superviseWorkers(config, environment, (line) => process.stdout.write(line)));
    outliveReloads();
    const app = await startApp(config, {
      environment,
      ...(cluster.isWorker ? { joinWorkers } : {}),
      failpoint: armedFailpoint(environment, config),
      onStep: watch.ended,
      onFatal: (error) => {
        process.stderr.write(`Puente stops: ${error.message}\n`);
        process.exit(1);
      },
    });
    watch.ended('doors');
    // Before the ready text, since a stop may be requested as soon as it is read.
    stopOnSignals(app);
    const text = welcome(config, app, watch.took());
    if (app.worker === null) process.stdout.write(text);
    else app.worker.ready(text);
    await app.loadRest();
    // Now, because a kill leaves no time at the end: the next start would compile everything again, and the program
    // that reads TypeScript would stay in memory (27 MB).
    flushCompileCache();
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

/** A rejection without a handler leaves no state behind, so the process continues (`test/faults/README.md` F52). */
function outliveRejections(): void {
  process.on('unhandledRejection', (reason) => {
    process.stderr.write(`Puente goes on after an uncaught error; report it: ${lastWords(reason)}\n`);
  });
}

/**
 * A process alone cannot take new settings. systemd takes an end by this signal, as of `systemctl reload`, for a clean one and
 * starts nothing again: tills would have no Puente. A terminal that is closed still ends it, also where the output goes to a
 * file or another program. Under systemd and `nohup` no standard stream is a terminal.
 */
function outliveReloads(): void {
  const has_terminal = [0, 1, 2].some(isatty); // now: a terminal that is closed is none any more
  let is_closed = false; // a shell and the kernel each tell it
  process.on('SIGHUP', () => {
    if (has_terminal && !is_closed) process.kill(process.pid, 'SIGTERM');
    is_closed = has_terminal;
    if (!has_terminal)
      process.stdout.write(
        'A reload (SIGHUP) changes nothing here: settings are read at a start, so restart Puente.\n',
      );
  });
}

/** A second signal ends the process at once; interrupted work is recovered at the next start. */
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
  // A terminal signals the whole group: a worker stops on the message of the first process.
  process.on('SIGINT', app.worker === null ? stop : () => undefined);
}

/** Otherwise `node src/main.ts --help` would start a server. */
function refuseArguments(): void {
  process.stderr.write('This starts Puente and takes no arguments; commands and help: `npx puente --help`.\n');
  process.exit(1);
}

if (import.meta.main && process.argv.length > 2) refuseArguments();
if (import.meta.main) await serve(process.env);
