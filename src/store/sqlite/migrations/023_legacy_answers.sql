-- Refunds of payments that were requested from legacy have rows as its sales have, of the family `payments`: reports have their amounts.
-- The rule of the families is changed as in schema 9; the new column makes every connection read it anew.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (family IN (''point'', ''qr''))', 'CHECK (family IN (''point'', ''qr'', ''payments''))')
WHERE type = 'table' AND name = 'legacy_sales';
PRAGMA writable_schema = RESET;

-- Calls of a verdict that legacy refused, too: a move to orders changes nothing for them.
ALTER TABLE verdicts ADD COLUMN refused_on_legacy INTEGER NOT NULL DEFAULT 0;
