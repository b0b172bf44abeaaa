-- Once for each statement, which inserts many exchanges now, instead of once for each row. What a process of the version before
-- inserts one by one is placed as well.

-- The table before its spans, as whoever reads or writes it locks them: a trigger is dropped from the spans first, and with a
-- process of the version before at work each would wait for the other.
LOCK TABLE exchanges IN ACCESS EXCLUSIVE MODE;
DROP TRIGGER exchanges_placed ON exchanges;
DROP FUNCTION place_exchange();
CREATE FUNCTION place_exchanges() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO exchange_hours (hour, first_sequence, last_sequence)
  SELECT at / 3600000, min(sequence), max(sequence) FROM fresh GROUP BY 1 ORDER BY 1
  ON CONFLICT (hour) DO UPDATE SET last_sequence = excluded.last_sequence;
  RETURN NULL;
END $$;
CREATE TRIGGER exchanges_placed AFTER INSERT ON exchanges REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION place_exchanges();
