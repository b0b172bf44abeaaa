-- A ramp is a bulk move whose merchants go up in steps (`docs/playbook.md`, Many merchants). It may also wait for a second person or
-- be paused. The rule of the states is changed as in schema 9; the new column makes every connection read it anew.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (state IN (''running'', ''stopped'', ''done'', ''aborted''))',
  'CHECK (state IN (''proposed'', ''running'', ''paused'', ''stopped'', ''done'', ''aborted''))')
WHERE type = 'table' AND name = 'bulk_moves';
PRAGMA writable_schema = RESET;

ALTER TABLE bulk_moves ADD COLUMN ramp TEXT;
