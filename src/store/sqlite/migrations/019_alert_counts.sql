-- Growth is told to each receiver by what it acknowledged last.

-- What the incident counted when the alert was sent last, or the lowest count of a condition since.
ALTER TABLE alerts ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
UPDATE alerts SET count = max(1, coalesce((SELECT announced FROM incidents WHERE incidents.id = incident_id), 1));
ALTER TABLE incidents DROP COLUMN announced;
