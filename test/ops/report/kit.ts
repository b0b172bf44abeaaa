/** Small reports for tests, in the shape that the core makes. */
import { changeOf } from '../../../src/ops/audit.ts';
import { REPORT_SCHEMA, type Report } from '../../../src/ops/report/report.ts';

/** One week of a merchant, with three calls. */
export function reportOf(changes: Partial<Report> = {}): Report {
  return {
    schema: REPORT_SCHEMA,
    made_at: '2026-03-08T00:00:00.000Z',
    merchant_id: '700100200',
    period: { since: '2026-03-01T00:00:00.000Z', until: '2026-03-08T00:00:00.000Z' },
    deleted_before: null,
    lost_between: null,
    tables_revision: 'aaaaaaaaaaaa',
    tables: [{ revision: 'aaaaaaaaaaaa', calls: 3 }],
    exchanges: { count: 3, first_sequence: 1, last_sequence: 3, uncounted: 0, shed: { shadow: 0, evidence: 0 } },
    sums: [],
    move_sums: [],
    unmatched: [],
    approvals: [],
    traffic: [
      {
        operation: 'point.create_intent',
        lane: 'orders',
        calls: 3,
        outcomes: { ok: 2, business: 1, auth: 0, fault: 0 },
      },
    ],
    latency: [{ operation: 'all', lane: 'orders', calls: 3, p50_ms: 20, p95_ms: 40, p99_ms: 40, max_ms: 40 }],
    waits: [{ from_ms: 16, up_to_ms: 31, legacy: 0, orders: 3 }],
    errors: [],
    days: [{ day: '2026-03-01', legacy: 0, orders: 3, faults: 0 }],
    losses: [],
    differences: [],
    shadow: [],
    notices: [],
    receivers: [],
    notice_days: [],
    incidents: [],
    decisions: [],
    assumptions: [],
    limitations: [],
    readiness: null,
    completion: null,
    certificate: null,
    certificate_since: null,
    merchants: [],
    verdicts: { ready: 0, blocked: 0, inconclusive: 1 },
    readiness_days: [],
    findings: [],
    left_out: { differences: 0, incidents: 0, decisions: 0, findings: 0, move_sums: 0, approvals: 0, unmatched: 0 },
    audit_head: { sequence: 4, hash: 'f'.repeat(64) },
    audit: { intact: true, lines: 4, head: { sequence: 4, hash: 'f'.repeat(64) }, broken: null },
    ...changes,
  };
}

const MOVE = { before: { stage: 'shadow', share: 0 }, after: { stage: 'canary', share: 5 } };

export const decision = (sequence: number, reason: string) => ({
  sequence,
  at: '2026-03-02T00:00:00.000Z',
  who: 'ana',
  action: 'stage',
  subject: '700100200',
  reason,
  said: null,
  ...changeOf({ action: 'stage', detail: MOVE }),
  ...MOVE,
  evidence: {
    judgement: { overridden: false, missing: [] },
    evidence: { verdict: 'ready', samples: { intents: 120 } },
  },
});
