/** The trace id of a sale, derived from its id only. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { createIds, traceIdOf } from '../../../src/proxy/telemetry/otel-spans.ts';

it('a UUID is its own trace', () => {
  expect(traceIdOf('019539A0-0000-7000-8000-00000000dead')).toBe('019539a000007000800000000000dead');
});

it.each(['1234567890', '', 'g19539a0-0000-7000-8000-00000000dead', '00000000-0000-0000-0000-000000000000'])(
  'another id, as %j, is known by the first half of its SHA-256',
  (id) => {
    expect(traceIdOf(id)).toBe(createHash('sha256').update(id).digest('hex').slice(0, 32));
  },
);

it('a root is steered while it is started, and never the next one', () => {
  const ids = createIds();
  const trace = 'a'.repeat(32);
  expect(ids.inTrace(trace, () => ids.generateTraceId())).toBe(trace);
  expect(ids.generateTraceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(ids.generateTraceId()).not.toBe(trace);
  const fail = (): never => {
    throw new Error('not started');
  };
  expect(() => ids.inTrace(trace, fail)).toThrow('not started');
  expect(ids.generateTraceId()).not.toBe(trace);
  expect(ids.inTrace(null, () => ids.generateTraceId())).not.toBe(trace);
});
