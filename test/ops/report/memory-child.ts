/** A child process with a small heap that sums up generated exchanges, page by page as the store returns them. */
import { tallyOf } from '../../../src/ops/report/gather.ts';
import { latencyLines } from '../../../src/ops/report/tally.ts';
import type { StoredExchange } from '../../../src/proxy/records/evidence.ts';

const COUNT = Number(process.argv[2]);

function exchange(sequence: number): StoredExchange {
  const orders = sequence % 2 === 0;
  const lost = sequence % 10 === 0;
  return {
    sequence,
    id: `0199d2a5-0000-7000-8000-${String(sequence).padStart(12, '0')}`,
    at: Date.UTC(2026, 0, 1) + sequence * 60,
    merchant_id: '700100200',
    operation: sequence % 5 === 0 ? 'point.get_intent' : 'point.create_intent',
    kind: 'intents',
    lane: orders ? 'orders' : 'legacy',
    stage: 'canary',
    unit: 'point:A1',
    legacy_id: `sale-${sequence}`,
    status: sequence % 100 === 0 ? 409 : 200,
    error: sequence % 100 === 0 ? '2205' : null,
    outcome: sequence % 100 === 0 ? 'business' : 'ok',
    duration_ms: sequence % 300,
    tables_revision: 'r',
    upstream: [],
    fired: [],
    losses: [],
    unknown: [],
    limitations: orders && lost ? ['LIM-25', 'LIM-27'] : [],
    lost: lost
      ? [{ operation: 'point.create_intent', table: 't', path: 'body.x', why: 'w', weight: 'other', would_be: !orders }]
      : [],
    signatures: [],
    shadow: null,
    messages: null,
  };
}

const reader = {
  lastExchange: async () => COUNT,
  exchanges: async (_filter: object, after: number, limit: number) =>
    Array.from({ length: Math.min(limit, COUNT - after) }, (_, index) => exchange(after + index + 1)),
};
const tally = await tallyOf(reader, { merchant_id: null, since: 0, until: Number.MAX_SAFE_INTEGER });
const calls = [...tally.traffic.values()].reduce((sum, line) => sum + line.calls, 0);
const lost = [...tally.losses.values()].reduce((sum, line) => sum + line.count + line.would_be_count, 0);
const errors = [...tally.errors.values()].reduce((sum, line) => sum + line.calls, 0);
const [longest] = latencyLines(tally);
process.stdout.write(JSON.stringify({ count: tally.count, calls, lost, errors, longest: longest?.max_ms }));
