/** Starts, watches and replaces several worker processes that share the doors of one host. */
import cluster, { type Worker } from 'node:cluster';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import type { Config } from '../config/config.ts';
import { PuenteError } from '../error.ts';
import type { Reading } from '../proxy/telemetry/telemetry.ts';

/** Pause before a worker that ended unexpectedly is replaced; doubled each time until one runs `STEADY_MS`. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A worker that ran this long did not end because of its start. */
const STEADY_MS = 60_000;
/** Metrics of a worker that does not answer within this time are left out. */
const READINGS_MS = 1_000;

/**
 * Starts the workers and runs until SIGTERM or SIGINT. SIGHUP replaces the workers one by one, while others take calls.
 * @param environment of the workers. @param say writes a line to standard output. @returns the exit code.
 * @throws PuenteError bad_setting when the settings allow one process only.
 */
export async function superviseWorkers(
  config: Config,
  environment: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<number> {
  refuseAlone(config);
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const crew = createCrew(environment, say);
  const stopped = crew.untilSignal();
  const banners = await Promise.all(Array.from({ length: config.workers }, () => crew.start()));
  if (banners.includes(null)) {
    await crew.stop();
    return 1;
  }
  say(`${banners[0]?.trimEnd()}\n  workers       ${config.workers}; SIGHUP replaces them one after the other\n`);
  crew.watch(config.workers);
  await stopped;
  const isClean = await crew.stop();
  say(isClean ? 'Puente has stopped.\n' : 'Puente has stopped; a worker did not end cleanly.\n');
  return isClean ? 0 : 1;
}

function refuseAlone({ postgres, upstream, public: door, ops, health, data_dir }: Config): void {
  const why =
    postgres.url === null
      ? `the file in ${data_dir} belongs to one process; set PUENTE_POSTGRES_URL, or leave workers at 1`
      : upstream === 'sandbox'
        ? 'the sandbox runs in one process; name an upstream, or leave workers at 1'
        : door.port === 0 || ops.port === 0 || health.port === 0
          ? 'workers share a door by its number; give public.port and ops.port one, and health.port if it is set'
          : null;
  if (why !== null) throw new PuenteError('bad_setting', `workers: ${why}`);
}

interface Crew {
  /**
   * Starts one worker. @param has_place false: it gets one when it is ready, and until then nothing replaces it.
   * @returns its start text once it is ready; null when it ended before.
   */
  start(has_place?: boolean): Promise<string | null>;
  /**
   * From now on replaces workers that end unexpectedly, and all workers at SIGHUP, which does nothing before.
   * @param count how many there should be: one that has died since it was ready is replaced at once.
   */
  watch(count: number): void;
  /** Resolves at the first SIGTERM or SIGINT. */
  untilSignal(): Promise<void>;
  /** Stops all workers. @returns true when each ended cleanly. */
  stop(): Promise<boolean>;
}

function createCrew(environment: NodeJS.ProcessEnv, say: (line: string) => void): Crew {
  const wanted = new Set<Worker>();
  const ready = new WeakSet<Worker>();
  /** How many there should be; zero before `watch`. */
  let count = 0;
  let is_watching = false;
  let is_stopping = false;
  let pause_ms = FIRST_PAUSE_MS;
  let renewal: Promise<void> = Promise.resolve();

  const start = (has_place = true): Promise<string | null> => {
    const worker = cluster.fork(environment);
    const began = performance.now();
    if (has_place) wanted.add(worker);
    return new Promise((resolve) => {
      worker.on('message', (raw) => {
        const message = readMessage<FromWorker>(raw);
        if (message?.puente === 'ready') {
          ready.add(worker);
          wanted.add(worker);
          resolve(message.banner);
        }
        if (message?.puente === 'asks') void tellAll(worker, message.id);
      });
      const onEnd = (code: number | null, cause: string | null): void => {
        resolve(null);
        if (wanted.delete(worker) && is_watching && !is_stopping) void replace(code, cause, performance.now() - began);
      };
      worker.once('exit', onEnd);
      // Of a message to one that has just died, which must not end this process; or of one that could not be started.
      worker.on('error', ({ message }) => {
        if (worker.process.pid === undefined) onEnd(null, message);
      });
    });
  };
  const replace = async (code: number | null, cause: string | null, lived_ms: number): Promise<void> => {
    pause_ms = lived_ms >= STEADY_MS ? FIRST_PAUSE_MS : Math.min(pause_ms * 2, LONGEST_PAUSE_MS);
    say(`A worker ended (${cause ?? `code ${code}`}); another one starts in ${pause_ms} ms.\n`);
    await pause(pause_ms);
    if (!is_stopping && wanted.size < count) await start();
  };
  /** Stops an old worker only after its successor is ready; without a ready successor it stays. */
  const renew = async (): Promise<void> => {
    for (const worker of [...wanted]) {
      if (is_stopping) return;
      if (!wanted.has(worker)) continue; // it has died, and was replaced
      if ((await start(false)) === null) return say('A new worker did not get ready; the others stay as they are.\n');
      // Where it died meanwhile, the new one has its place, unless another one took it.
      const leaving = wanted.has(worker) ? worker : wanted.size > count ? [...wanted].at(-1) : undefined;
      if (leaving === undefined) continue;
      wanted.delete(leaving);
      await end(leaving, () => leaving.send({ puente: 'replaced' } satisfies ToWorker));
    }
    say('All workers were replaced.\n');
  };
  process.on('SIGHUP', () => {
    if (is_watching) renewal = renewal.then(renew);
  });
  return {
    start,
    watch(wanted_count) {
      is_watching = true;
      count = wanted_count;
      for (let missing = count - wanted.size; missing > 0; missing--) void start();
    },
    untilSignal: () =>
      new Promise((resolve) => {
        let signals = 0;
        const note = (): void => {
          // A second signal kills all workers; the next start recovers the calls that were in flight.
          if (++signals > 1) for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
          is_stopping = true;
          resolve();
        };
        process.on('SIGTERM', note);
        process.on('SIGINT', note);
      }),
    stop() {
      is_stopping = true;
      return endAll(ready);
    },
  };
}

/** @returns true when each worker ended cleanly. */
async function endAll(ready: WeakSet<Worker>): Promise<boolean> {
  const ends = Object.values(cluster.workers ?? {}).map(async (worker) => {
    if (worker === undefined) return true;
    // A worker that is still starting has no calls to finish: the signal kills it, which counts as clean.
    const isReady = ready.has(worker);
    return (await end(worker)) === 0 || !isReady;
  });
  return (await Promise.all(ends)).every(Boolean);
}

/** @param ask requests the stop. @returns the worker's exit code; null when a signal ended it. */
function end(worker: Worker, ask = (): unknown => worker.process.kill('SIGTERM')): Promise<number | null> {
  if (worker.isDead()) return Promise.resolve(worker.process.exitCode);
  const ended = new Promise<number | null>((resolve) => worker.once('exit', (code) => resolve(code)));
  if (worker.isConnected()) ask();
  else worker.process.kill('SIGTERM');
  return ended;
}

/** Collects the metrics of every worker, and sends all of them to the worker that requested them. */
async function tellAll(asking: Worker, id: number): Promise<void> {
  const readings = await Promise.all(
    Object.values(cluster.workers ?? {}).map((worker) => worker && readingsOf(worker)),
  );
  const message: ToWorker = { puente: 'all', id, readings: readings.filter((one) => one !== undefined) };
  if (asking.isConnected()) asking.send(message);
}

let read = 0;
function readingsOf(worker: Worker): Promise<Reading[] | undefined> {
  const id = ++read;
  return new Promise((resolve) => {
    const limit = setTimeout(() => over(undefined), READINGS_MS);
    const hear = (raw: unknown): void => {
      const message = readMessage<FromWorker>(raw);
      if (message?.puente === 'readings' && message.id === id) over(message.readings);
    };
    const over = (readings: Reading[] | undefined): void => {
      clearTimeout(limit);
      worker.off('message', hear);
      resolve(readings);
    };
    worker.on('message', hear);
    if (worker.isConnected()) worker.send({ puente: 'read', id } satisfies ToWorker);
    else over(undefined);
  });
}

// A worker's side: reports that it is ready, and serves the metrics of all workers.

export interface WorkerSide {
  /** Reports to the primary process that the doors are open, with the text that `npm start` prints. */
  ready(banner: string): void;
  /** True once another worker has taken its place, so that a load balancer needs no warning. */
  isReplaced(): boolean;
  /** The page of `/metrics` over all workers; a worker that does not answer in time is left out. */
  pageOfAll(): Promise<{ type: string; text: string }>;
}

/** @param read reads this worker's own metrics. */
export function joinWorkers(read: () => Promise<Reading[]>): WorkerSide {
  const waiting = new Map<number, (readings: Reading[][]) => void>();
  let asked = 0;
  let is_replaced = false;
  const tell = (message: FromWorker): void => void process.send?.(message);
  process.on('message', (raw) => {
    const message = readMessage<ToWorker>(raw);
    if (message?.puente === 'replaced') {
      is_replaced = true;
      process.kill(process.pid, 'SIGTERM');
    }
    if (message?.puente === 'read') {
      // A failed read sends nothing; the primary process then leaves these metrics out.
      read().then(
        (readings) => tell({ puente: 'readings', id: message.id, readings }),
        () => undefined,
      );
    }
    if (message?.puente === 'all') {
      waiting.get(message.id)?.(message.readings);
      waiting.delete(message.id);
    }
  });
  return {
    isReplaced: () => is_replaced,
    ready: (banner) => tell({ puente: 'ready', banner }),
    async pageOfAll() {
      const id = ++asked;
      const all = new Promise<Reading[][]>((resolve) => waiting.set(id, resolve));
      tell({ puente: 'asks', id });
      const registry = AggregatorRegistry.aggregate(await all);
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

// Messages between the primary process and its workers.

type FromWorker =
  /** Its doors are open; `banner`: the start text. */
  | { puente: 'ready'; banner: string }
  /** Requests the metrics of all workers, for this worker's `/metrics`. */
  | { puente: 'asks'; id: number }
  | { puente: 'readings'; id: number; readings: Reading[] };

type ToWorker =
  /** Stop without a warning to load balancers, because another worker has taken your place. */
  | { puente: 'replaced' }
  /** Send your metrics. */
  | { puente: 'read'; id: number }
  /** The metrics of all workers that answered. */
  | { puente: 'all'; id: number; readings: Reading[][] };

/** Null for a message that is not Puente's. */
function readMessage<Message extends FromWorker | ToWorker>(message: unknown): Message | null {
  const isOurs = message !== null && typeof message === 'object' && 'puente' in message;
  return isOurs ? (message as Message) : null; // both sides run the same build
}
