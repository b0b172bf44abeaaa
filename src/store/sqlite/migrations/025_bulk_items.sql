-- Each merchant of a bulk move or ramp has a row: a step writes one, and not a list of ten thousand.

ALTER TABLE bulk_moves RENAME TO bulk_runs;
CREATE TABLE bulk_items (
  bulk TEXT NOT NULL,
  place INTEGER NOT NULL,
  merchant_id TEXT NOT NULL,
  state TEXT NOT NULL,
  item TEXT NOT NULL,
  PRIMARY KEY (bulk, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX bulk_items_by_merchant ON bulk_items (merchant_id);
INSERT INTO bulk_items (bulk, place, merchant_id, state, item)
SELECT bulk_runs.id, item.key, item.value ->> 'merchant_id', item.value ->> 'state', item.value FROM bulk_runs, json_each(bulk_runs.items) AS item;
ALTER TABLE bulk_runs DROP COLUMN items;

-- Whole, as the table was; sorted by the key, and not once more: that takes as long as the rest.
CREATE VIEW bulk_moves AS
SELECT sequence, id, move, reason, who, per_day,
  '[' || coalesce((SELECT string_agg(item, ',') FROM (SELECT item FROM bulk_items WHERE bulk = bulk_runs.id ORDER BY place)), '') || ']' AS items,
  state, detail, created_at, updated_at, revision, ramp
FROM bulk_runs;
