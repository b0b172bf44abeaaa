-- Rows that fired are kept in a short form from here on (`point.get.answer#1-4,6`) beside the JSON lists of before. The number
-- keeps a build away that could not read them.
COMMENT ON COLUMN exchanges.fired IS 'rows as table#row, in their order: point.get.answer#1-4,6; a JSON list in older exchanges';
