/** What is said of a collector that takes nothing: one line a minute, without anything of what was sent. */
import type { Clock, Log } from '../runtime.ts';

/** A collector that is gone refuses every few seconds; one line a minute shows it. */
const TELL_EVERY_MS = 60_000;

export type Signal = 'traces' | 'metrics';
export type TellFault = (signal: Signal, error: unknown) => void;

/** Each signal has its own minute. Names the error's code, because a message may quote an address or an answer. */
export function createFaultLog(log: Log, clock: Required<Pick<Clock, 'monotonic'>>): TellFault {
  const told = new Map<Signal, number>();
  return (signal, error) => {
    const now = clock.monotonic();
    if (now - (told.get(signal) ?? Number.NEGATIVE_INFINITY) < TELL_EVERY_MS) return;
    told.set(signal, now);
    log.warn('telemetry was not taken and is dropped', { action: signal, cause: codeOf(error) });
  };
}

interface Exporting<Items, Result> {
  export(items: Items, done: (result: Result) => void): void;
}

/** The same exporter, whose failures are told. */
export function watched<Items, Result extends { code: number; error?: Error }, E extends Exporting<Items, Result>>(
  exporter: E & Exporting<Items, Result>,
  signal: Signal,
  tell: TellFault,
): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items: Items, done: (result: Result) => void) =>
    send(items, (result) => {
      if (result.code !== 0) tell(signal, result.error);
      done(result);
    });
  return exporter;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && error.code !== undefined ? String(error.code) : error.name;
}
