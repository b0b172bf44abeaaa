-- A ramp is a bulk move whose merchants go up in steps (`docs/playbook.md`, Many merchants). It may also wait for a second person or
-- be paused.

ALTER TABLE bulk_moves DROP CONSTRAINT bulk_moves_state_check,
  ADD CONSTRAINT bulk_moves_state_check CHECK (state IN ('proposed', 'running', 'paused', 'stopped', 'done', 'aborted'));
ALTER TABLE bulk_moves ADD COLUMN ramp byte_text;
