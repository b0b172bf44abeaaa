/** The trace of a sale is its legacy id: both have 128 bits, so that every process finds the same one, days apart. */
import { createHash } from 'node:crypto';
import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace';

export interface SteeredIds extends IdGenerator {
  /** Runs `start` so that the root span it starts is of this trace; null: of a new one. */
  inTrace<Started>(trace_id: string | null, start: () => Started): Started;
}

/** The library asks for a trace id while a root span is started, and nothing else runs meanwhile. */
export function createIds(): SteeredIds {
  const random = new RandomIdGenerator();
  let steered: string | null = null;
  return {
    generateTraceId: () => steered ?? random.generateTraceId(),
    generateSpanId: () => random.generateSpanId(),
    inTrace(trace_id, start) {
      steered = trace_id;
      try {
        return start();
      } finally {
        steered = null;
      }
    },
  };
}

/** A UUID without its dashes; an id of another form, as some sales on legacy have, by its digest. */
export function traceIdOf(id: string): string {
  const hex = id.replaceAll('-', '').toLowerCase();
  if (/^[0-9a-f]{32}$/.test(hex) && /[1-9a-f]/.test(hex)) return hex;
  return createHash('sha256').update(id).digest('hex').slice(0, 32);
}
