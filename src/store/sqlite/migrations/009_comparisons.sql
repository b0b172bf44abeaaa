-- Lists of three values and more in the rules of what every sale writes are said as comparisons: for a list SQLite fills a table in
-- memory, for each rule and each row that is written (a fifth of the writer's work for a create). A table may hold what it might, so
-- only its text is changed (https://sqlite.org/lang_altertable.html#otheralter); the indexes below make every connection read it anew.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (state IN (''SENDING'', ''IN_DOUBT'', ''LIVE'', ''DONE'', ''REJECTED'', ''NOT_SENT'', ''LOST''))',
  'CHECK (state = ''SENDING'' OR state = ''IN_DOUBT'' OR state = ''LIVE'' OR state = ''DONE'' OR state = ''REJECTED'' OR state = ''NOT_SENT'' OR state = ''LOST'')')
WHERE type = 'table' AND name = 'links';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (client_answer IN (''none'', ''maybe'', ''error''))',
  'CHECK (client_answer = ''none'' OR client_answer = ''maybe'' OR client_answer = ''error'')')
WHERE type = 'table' AND name = 'links';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (outcome IN (''ok'', ''business'', ''auth'', ''fault''))',
  'CHECK (outcome = ''ok'' OR outcome = ''business'' OR outcome = ''auth'' OR outcome = ''fault'')')
WHERE type = 'table' AND name = 'exchanges';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (state IN (''pending'', ''parked'', ''done'', ''expired''))',
  'CHECK (state = ''pending'' OR state = ''parked'' OR state = ''done'' OR state = ''expired'')')
WHERE type = 'table' AND name = 'events';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (state IN (''pending'', ''delivered'', ''dead''))',
  'CHECK (state = ''pending'' OR state = ''delivered'' OR state = ''dead'')')
WHERE type = 'table' AND name = 'notices';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (topic IN (''point'', ''payment'', ''merchant_order''))',
  'CHECK (topic = ''point'' OR topic = ''payment'' OR topic = ''merchant_order'')')
WHERE type = 'table' AND name = 'notices';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (form IN (''point'', ''ipn'', ''webhook''))',
  'CHECK (form = ''point'' OR form = ''ipn'' OR form = ''webhook'')')
WHERE type = 'table' AND name = 'notices';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (outcome IN (''delivered'', ''theirs'', ''ours''))',
  'CHECK (outcome = ''delivered'' OR outcome = ''theirs'' OR outcome = ''ours'')')
WHERE type = 'table' AND name = 'notice_attempts';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (state IN (''SENDING'', ''IN_DOUBT'', ''OPEN'', ''ENDED'', ''REFUSED''))',
  'CHECK (state = ''SENDING'' OR state = ''IN_DOUBT'' OR state = ''OPEN'' OR state = ''ENDED'' OR state = ''REFUSED'')')
WHERE type = 'table' AND name = 'legacy_sales';
PRAGMA writable_schema = RESET;

DROP INDEX links_live;
CREATE UNIQUE INDEX links_live ON links (merchant_id, slot) WHERE (state = 'SENDING' OR state = 'IN_DOUBT' OR state = 'LIVE');
DROP INDEX links_live_request;
CREATE INDEX links_live_request ON links (merchant_id, fingerprint)
  WHERE slot IS NULL AND (state = 'SENDING' OR state = 'IN_DOUBT' OR state = 'LIVE');
DROP INDEX links_finished;
CREATE INDEX links_finished ON links (merchant_id, legacy_state_at)
  WHERE (legacy_state = 'FINISHED' OR legacy_state = 'CONFIRMATION_REQUIRED' OR legacy_state = 'CANCELED' OR legacy_state = 'ERROR' OR legacy_state = 'ABANDONED');
DROP INDEX legacy_sales_holding;
CREATE INDEX legacy_sales_holding ON legacy_sales (merchant_id, slot, ends_at)
  WHERE slot IS NOT NULL AND (state = 'SENDING' OR state = 'IN_DOUBT' OR state = 'OPEN');
DROP INDEX legacy_sales_until;
CREATE INDEX legacy_sales_until ON legacy_sales (merchant_id, ends_at)
  WHERE slot IS NOT NULL AND (state = 'SENDING' OR state = 'IN_DOUBT' OR state = 'OPEN');
