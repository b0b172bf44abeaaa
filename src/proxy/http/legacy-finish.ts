/** The end of a translated call: counted, logged, answered, and followed up. */
import type { Response } from 'express';
import type { Operation } from '../../mapping/tables.ts';
import type { ExchangeDraft } from '../evidence/exchange.ts';
import type { Runtime } from '../runtime.ts';
import type { Observe } from '../telemetry/metrics.ts';
import { sendAnswer } from './answer.ts';
import type { Answered } from './legacy-answer.ts';
import type { Ongoing } from './ongoing.ts';

interface Door {
  runtime: Runtime;
  observe: Observe;
}

/** Answers a call of the orders lane, and does what follows once the till has the answer, or has gone. */
export function finish(
  door: Door,
  operation: Operation,
  response: Response,
  answer: Answered,
  { draft }: Ongoing,
): void {
  const duration_ms = performance.now() - draft.started_tick_ms;
  door.observe(operation.name, `${Math.floor(answer.status / 100)}xx`, duration_ms);
  door.runtime.log.info('call', {
    operation: operation.name,
    status: answer.status,
    lane: 'orders',
    duration_ms: Math.round(duration_ms),
  });
  if (answer.over !== undefined) afterwards(door, operation, response, answer.over, draft);
  sendAnswer(response, answer);
  door.runtime.failpoint('answer.sent');
}

/** A client that has gone already is told nothing, and what follows knows it. */
function afterwards(
  door: Door,
  operation: Operation,
  response: Response,
  over: (whole: boolean) => Promise<void>,
  { legacy_id }: ExchangeDraft,
): void {
  const settle = (): void => {
    over(response.writableFinished).catch((error: unknown) =>
      door.runtime.log.error('what follows an answer failed', {
        ...(legacy_id === null ? {} : { legacy_id }),
        operation: operation.name,
        cause: String(error),
      }),
    );
  };
  if (response.closed) settle();
  else response.once('close', settle);
}
