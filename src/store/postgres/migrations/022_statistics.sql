-- Statistics of tables where few rows are open, renewed after some changes and not after a tenth of the table (PostgreSQL 18, 19.10): with
-- those of a quiet time the server believes that no row is open, and reads a whole backlog for each row that it looks for.
ALTER TABLE links SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 250);
ALTER TABLE notices SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 250);
ALTER TABLE events SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 250);
ALTER TABLE legacy_sales SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 250);
ALTER TABLE refunds SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 250);
