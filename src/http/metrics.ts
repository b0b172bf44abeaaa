/** Numbers for Prometheus; labels are closed sets, never ids (`reliability.md` F102). */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Count } from '../core/runtime.ts';
import type { Store } from '../core/store.ts';

/** Seconds; tills wait 10, and a local translation takes a few milliseconds. */
const DURATION_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Notes one answered call: operation name, outcome class, duration. */
export type Observe = (operation: string, outcome: string, duration_ms: number) => void;

export interface Metrics {
  count: Count;
  observe: Observe;
  /** Notes one upstream call: its name, how it came out, the status class. */
  upstream(name: string, outcome: string, duration_ms: number): void;
  /** One attempt at a notice. */
  notice(outcome: string): void;
  /** The page in Prometheus's text format. */
  render(store: Store): Promise<{ type: string; text: string }>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counters = new Counter({
    name: 'puente_total',
    help: 'What the stories counted',
    labelNames: ['what', 'label'],
    registers: [registry],
  });
  const calls = histogram(registry, 'puente_call_seconds', 'Legacy calls answered on the orders lane', [
    'operation',
    'outcome',
  ]);
  const upstream = histogram(registry, 'puente_upstream_seconds', 'Calls to the orders API', ['call', 'outcome']);
  const notices = new Counter({
    name: 'puente_notice_attempts_total',
    help: 'Attempts at notices',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const links = new Gauge({
    name: 'puente_links',
    help: 'Links by state',
    labelNames: ['state'],
    registers: [registry],
  });
  const waiting = new Gauge({
    name: 'puente_waiting',
    help: 'Work waiting in the store',
    labelNames: ['kind'],
    registers: [registry],
  });
  return {
    count: (name, label = '') => counters.inc({ what: name, label }),
    observe: (operation, outcome, duration_ms) => calls.observe({ operation, outcome }, duration_ms / 1000),
    upstream: (name, outcome, duration_ms) => upstream.observe({ call: name, outcome }, duration_ms / 1000),
    notice: (outcome) => notices.inc({ outcome }),
    async render(store) {
      const counts = await store.counts();
      links.reset();
      for (const [state, count] of Object.entries(counts.links)) links.set({ state }, count);
      waiting.set({ kind: 'notices' }, counts.notices_pending);
      waiting.set({ kind: 'events' }, counts.events_waiting);
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

function histogram<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[],
): Histogram<Label> {
  return new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS_S, registers: [registry] });
}
