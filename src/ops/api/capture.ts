/** Exchanges on the ops door, as a capture file for `puente assess` and `puente replay`. */
import { exchangeLines, exchangesQuery } from '../capture/export.ts';
import { type OpsRoute, opsRoute, type Streamed, streamed } from './route.ts';

const NDJSON = 'application/x-ndjson';

export const captureRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/exchanges',
    role: 'viewer',
    summary: 'Exchanges of a merchant or the fleet as a capture file, JSON lines, redacted as they were captured.',
    query: exchangesQuery,
    answer: { streams: [NDJSON] },
    command: 'capture export',
    run: async ({ runtime }, { query }) =>
      streamed({
        content_type: NDJSON,
        file_name: `puente-capture-${query.merchant ?? 'all-merchants'}.jsonl`,
        parts: exchangeLines(runtime, query),
      } satisfies Streamed),
  }),
];
