-- Exchanges lie in spans of time, each a partition that goes as a whole when it is old: deleted row by row they would leave as
-- many dead rows and index entries behind as a busy installation writes, and the server would have to clear them away.

ALTER TABLE exchanges RENAME TO exchanges_before;
CREATE SEQUENCE exchanges_number;
SELECT setval('exchanges_number', last_value, is_called) FROM exchanges_sequence_seq;
ALTER TABLE exchanges_before ALTER COLUMN sequence DROP IDENTITY;
DROP TRIGGER exchanges_placed ON exchanges_before;
-- The time is part of what is unique, as it must be; an exchange that is told again has the same.
ALTER TABLE exchanges_before DROP CONSTRAINT exchanges_pkey, DROP CONSTRAINT exchanges_id_key,
  ADD CONSTRAINT exchanges_before_pkey PRIMARY KEY (sequence, at), ADD CONSTRAINT exchanges_before_id_at_key UNIQUE (id, at);
ALTER INDEX exchanges_by_merchant RENAME TO exchanges_before_by_merchant;
ALTER INDEX exchanges_by_legacy RENAME TO exchanges_before_by_legacy;
ALTER INDEX exchanges_by_time RENAME TO exchanges_before_by_time;
ALTER INDEX exchanges_captured RENAME TO exchanges_before_captured;
ALTER INDEX exchanges_captured_by_time RENAME TO exchanges_before_captured_by_time;

CREATE TABLE exchanges (LIKE exchanges_before INCLUDING CONSTRAINTS, PRIMARY KEY (sequence, at), UNIQUE (id, at))
  PARTITION BY RANGE (at);
-- Servers before 17 know no identity of a table with partitions.
ALTER TABLE exchanges ALTER COLUMN sequence SET DEFAULT nextval('exchanges_number');
ALTER SEQUENCE exchanges_number OWNED BY exchanges.sequence;
CREATE INDEX exchanges_by_merchant ON exchanges (merchant_id, sequence);
CREATE INDEX exchanges_by_legacy ON exchanges USING hash (legacy_id) WHERE legacy_id IS NOT NULL;
CREATE INDEX exchanges_by_time ON exchanges (at);
CREATE INDEX exchanges_captured ON exchanges (merchant_id, sequence) WHERE messages IS NOT NULL;
CREATE INDEX exchanges_captured_by_time ON exchanges (at) WHERE messages IS NOT NULL;
-- What no span was made for, because a clock was wrong or nobody was there to make one: it goes by rows.
CREATE TABLE exchanges_unplaced PARTITION OF exchanges DEFAULT;
-- Until two days from now everything goes where it went, by rows too: time enough to make the first span. A clock that was
-- wrong by years must not put that off by years.
DO $$
DECLARE
  day CONSTANT BIGINT := 86400000;
  limit_at CONSTANT BIGINT := (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) / day + 2) * day;
BEGIN
  WITH ahead AS (DELETE FROM exchanges_before WHERE at >= limit_at RETURNING *) INSERT INTO exchanges SELECT * FROM ahead;
  EXECUTE format('ALTER TABLE exchanges ATTACH PARTITION exchanges_before FOR VALUES FROM (MINVALUE) TO (%s)', limit_at);
END $$;
CREATE TRIGGER exchanges_placed AFTER INSERT ON exchanges FOR EACH ROW EXECUTE FUNCTION place_exchange();

CREATE VIEW exchange_spans AS
SELECT relname AS name, CAST(substring(bounds FROM 'FROM \(''?(-?\d+)') AS BIGINT) AS since,
  CAST(substring(bounds FROM 'TO \(''?(-?\d+)') AS BIGINT) AS until
FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid CROSS JOIN LATERAL pg_get_expr(relpartbound, inhrelid) AS bounds
WHERE inhparent = 'exchanges'::regclass AND bounds <> 'DEFAULT';

-- Drops the spans that ended before a moment; returns how many. One that somebody reads goes the next time.
CREATE FUNCTION drop_exchange_spans(before BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  names TEXT[];
  one TEXT;
BEGIN
  SELECT coalesce(array_agg(name), '{}') INTO names FROM exchange_spans WHERE since IS NOT NULL AND until <= before;
  FOREACH one IN ARRAY names LOOP
    EXECUTE format('DROP TABLE %I', one);
  END LOOP;
  RETURN cardinality(names);
EXCEPTION WHEN lock_not_available OR query_canceled THEN
  RETURN 0;
END $$;

-- Makes spans for now and two weeks or one span ahead, whichever is more: so long nobody has to be there, or may a dump keep
-- it out. Returns how many. Where rows have gone to the unplaced ones already, it begins with the day after them.
CREATE FUNCTION make_exchange_spans(now BIGINT, width BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  day CONSTANT BIGINT := 86400000;
  moment BIGINT := now;
  first BIGINT;
  ended BIGINT;
  made BIGINT := 0;
BEGIN
  WHILE moment <= now + greatest(width, 14 * day) LOOP
    SELECT until INTO ended FROM exchange_spans WHERE coalesce(since <= moment, TRUE) AND until > moment;
    IF ended IS NULL THEN
      SELECT greatest(max(until), moment / day * day) INTO first FROM exchange_spans WHERE until <= moment;
      SELECT least(min(since), first + width) INTO ended FROM exchange_spans WHERE since > moment;
      SELECT greatest(first, (max(at) / day + 1) * day) INTO first FROM exchanges_unplaced WHERE at >= first AND at < ended;
      IF first < ended THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF exchanges FOR VALUES FROM (%s) TO (%s)',
          'exchanges_' || to_char(to_timestamp(first / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD'), first, ended);
        made := made + 1;
      END IF;
    END IF;
    moment := ended;
  END LOOP;
  RETURN made;
EXCEPTION WHEN lock_not_available OR check_violation OR query_canceled THEN
  RETURN 0;
END $$;

-- One process at a time, and nobody waits long for it.
CREATE FUNCTION keep_exchange_spans(now BIGINT, width BIGINT, before BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('exchange spans', 0)) THEN RETURN 0; END IF;
  PERFORM set_config('lock_timeout', '1000', TRUE);
  RETURN drop_exchange_spans(before) + make_exchange_spans(now, width);
END $$;

-- A fiftieth of a large table is millions of rows: the fifth that the server waits for by itself would take it days to clear.
ALTER TABLE links SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE link_states SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE notices SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE notice_attempts SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE events SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
