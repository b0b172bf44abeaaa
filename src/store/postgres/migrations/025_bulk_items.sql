-- Each merchant of a bulk move or ramp has a row: a step writes one, and not a list of ten thousand.

ALTER TABLE bulk_moves RENAME TO bulk_runs;
CREATE TABLE bulk_items (
  bulk byte_text NOT NULL,
  place BIGINT NOT NULL,
  merchant_id byte_text NOT NULL,
  state byte_text NOT NULL,
  item byte_text NOT NULL,
  PRIMARY KEY (bulk, place)
);
CREATE INDEX bulk_items_by_merchant ON bulk_items (merchant_id);

CREATE FUNCTION write_bulk_items(TEXT, TEXT) RETURNS void LANGUAGE sql AS $$
  INSERT INTO bulk_items (bulk, place, merchant_id, state, item)
  SELECT $1, place - 1, value ->> 'merchant_id', value ->> 'state', value::text
  -- Escapes of NUL and of half a pair cannot be read here; older versions stored words with them.
  FROM json_array_elements(regexp_replace($2, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1' || chr(65533), 'g')::json)
    WITH ORDINALITY AS written (value, place)
  ON CONFLICT (bulk, place) DO UPDATE SET merchant_id = excluded.merchant_id, state = excluded.state, item = excluded.item
  WHERE bulk_items.item <> excluded.item
$$;
SELECT write_bulk_items(id, items) FROM bulk_runs;
ALTER TABLE bulk_runs DROP COLUMN items;

-- Whole, as the table was. Processes of the version before also write it, while both run.
CREATE VIEW bulk_moves AS
SELECT sequence, id, move, reason, who, per_day,
  CAST('[' || coalesce((SELECT string_agg(item, ',' ORDER BY place) FROM bulk_items WHERE bulk = bulk_runs.id), '') || ']' AS byte_text) AS items,
  state, detail, created_at, updated_at, revision, ramp
FROM bulk_runs;
CREATE FUNCTION write_bulk_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO bulk_runs (id, move, reason, who, per_day, state, detail, created_at, updated_at, revision, ramp)
    VALUES (new.id, new.move, new.reason, new.who, new.per_day, new.state, new.detail, new.created_at, new.updated_at, new.revision, new.ramp);
  ELSE
    UPDATE bulk_runs SET per_day = new.per_day, state = new.state, detail = new.detail, updated_at = new.updated_at,
      revision = new.revision, ramp = new.ramp
    WHERE id = old.id AND revision = old.revision;
    IF NOT FOUND THEN RETURN NULL; END IF;
  END IF;
  PERFORM write_bulk_items(new.id, new.items);
  RETURN new;
END $$;
CREATE TRIGGER bulk_moves_written INSTEAD OF INSERT OR UPDATE ON bulk_moves FOR EACH ROW EXECUTE FUNCTION write_bulk_move();
