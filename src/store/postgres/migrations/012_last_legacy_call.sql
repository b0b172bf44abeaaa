-- A unit is decommissioned by its last call on legacy, whose operation is stored with it. For units until now it is a bound, without
-- an operation: the end of the last day on which their merchant called legacy, and no later than their own last call.

ALTER TABLE seen_units ADD COLUMN legacy_at BIGINT;
ALTER TABLE seen_units ADD COLUMN legacy_operation byte_text;
UPDATE seen_units SET legacy_at = least(called.ends_at, last_at) FROM (SELECT merchant_id, max(day) * 86400000 + 86399999 AS ends_at
  FROM traffic WHERE lane = 'legacy' GROUP BY merchant_id) AS called WHERE called.merchant_id = seen_units.merchant_id;
UPDATE seen_units SET legacy_at = last_at WHERE last_lane = 'legacy';
UPDATE seen_units SET legacy_at = NULL WHERE legacy_at < first_at;
