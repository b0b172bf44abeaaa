-- The verdict on a merchant's next move, day by day: whether it grew ready can't be told from what holds today.
CREATE TABLE readiness_days (
  merchant_id byte_text NOT NULL,
  -- Days since 1970-01-01 UTC.
  day BIGINT NOT NULL,
  verdict byte_text NOT NULL,
  PRIMARY KEY (merchant_id, day)
);
CREATE INDEX readiness_by_day ON readiness_days (day, verdict);
