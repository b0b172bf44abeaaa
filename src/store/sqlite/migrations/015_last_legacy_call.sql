-- A unit is decommissioned by its last call on legacy, whose operation is stored with it. For units until now it is a bound, without
-- an operation: the end of the last day on which their merchant called legacy, and no later than their own last call.

ALTER TABLE seen_units ADD COLUMN legacy_at INTEGER;
ALTER TABLE seen_units ADD COLUMN legacy_operation TEXT;
UPDATE seen_units SET legacy_at = (SELECT min(max(day) * 86400000 + 86399999, seen_units.last_at) FROM traffic
  WHERE traffic.merchant_id = seen_units.merchant_id AND traffic.lane = 'legacy');
UPDATE seen_units SET legacy_at = last_at WHERE last_lane = 'legacy';
UPDATE seen_units SET legacy_at = NULL WHERE legacy_at < first_at;
