-- With statistics of a quiet time the server believes that no row is open. It then takes any index of open rows for empty, and reads a
-- backlog whole for each row that it looks for.

-- So statistics are renewed after 1,000 changes, not after a fiftieth or a tenth of the table (PostgreSQL 18, 19.10).
ALTER TABLE links SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000);
ALTER TABLE notices SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000);
ALTER TABLE events SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000);
ALTER TABLE legacy_sales SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000);
ALTER TABLE refunds SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000);

-- And these serve only the reads that name them: each has its condition in a spelling of its own (store/postgres/dialect.ts).
DROP INDEX events_due, notices_due, notices_due_by_merchant, notices_stuck;
CREATE INDEX events_due ON events (next_attempt_at, sequence) WHERE state || '' = 'pending';
CREATE INDEX notices_due ON notices (next_attempt_at, created_at, sequence) WHERE '' || state = 'pending';
CREATE INDEX notices_due_by_merchant ON notices (merchant_id, next_attempt_at, created_at, sequence) WHERE state || '' = 'pending';
CREATE INDEX notices_stuck ON notices (merchant_id, created_at) WHERE '' || state || '' = 'pending' AND replayed = 0;
