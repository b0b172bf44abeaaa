-- Only links that ended are counted as they change. Open ones are few, and counted in their index when somebody asks: a sale
-- changes one count, not five.

DROP TRIGGER links_counted_in;
DROP TRIGGER links_counted_over;
DROP TRIGGER links_counted_out;
ALTER TABLE link_counts RENAME TO ended_counts;
UPDATE ended_counts SET links = 0 WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE');
CREATE TRIGGER links_counted_in AFTER INSERT ON links WHEN new.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE')
BEGIN
  UPDATE ended_counts SET links = links + 1 WHERE state = new.state;
END;
CREATE TRIGGER links_counted_to AFTER UPDATE OF state ON links
WHEN new.state <> old.state AND new.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE')
BEGIN
  UPDATE ended_counts SET links = links + 1 WHERE state = new.state;
END;
CREATE TRIGGER links_counted_from AFTER UPDATE OF state ON links
WHEN new.state <> old.state AND old.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE')
BEGIN
  UPDATE ended_counts SET links = links - 1 WHERE state = old.state;
END;
CREATE TRIGGER links_counted_out AFTER DELETE ON links WHEN old.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE')
BEGIN
  UPDATE ended_counts SET links = links - 1 WHERE state = old.state;
END;
CREATE VIEW link_counts (state, links) AS
SELECT state, sum(links)
FROM (
  SELECT state, links FROM ended_counts
  UNION ALL
  SELECT state, 1 FROM links INDEXED BY links_live WHERE state = 'SENDING' OR state = 'IN_DOUBT' OR state = 'LIVE'
)
GROUP BY state;
