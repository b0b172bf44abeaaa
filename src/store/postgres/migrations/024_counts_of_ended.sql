-- Only links that ended are counted as they change. Open ones are few, and counted in their index when somebody asks: a sale
-- changes one count, not five.

-- A sale of another process that is not committed yet would leave its count behind.
LOCK TABLE links IN ACCESS EXCLUSIVE MODE;
DROP VIEW link_counts;
DELETE FROM tallies WHERE what IN ('SENDING', 'IN_DOUBT', 'LIVE') AND part <> 0;
UPDATE tallies SET rows = 0 WHERE what IN ('SENDING', 'IN_DOUBT', 'LIVE');
CREATE VIEW link_counts AS
SELECT state, sum(links)::bigint AS links
FROM (
  SELECT what AS state, CASE WHEN what IN ('SENDING', 'IN_DOUBT', 'LIVE') THEN 0 ELSE rows END AS links
  FROM tallies WHERE what <> 'parked'
  UNION ALL
  SELECT state, 1 FROM links WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE')
) AS counted
GROUP BY state;

CREATE OR REPLACE FUNCTION count_link() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  came TEXT := CASE WHEN new.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE') THEN new.state END;
  went TEXT := CASE WHEN old.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE') THEN old.state END;
BEGIN
  IF went < came THEN -- in one order, so that two never wait for each other
    PERFORM tally(went, -1);
    went := NULL;
  END IF;
  IF came IS NOT NULL THEN PERFORM tally(came, 1); END IF;
  IF went IS NOT NULL THEN PERFORM tally(went, -1); END IF;
  RETURN NULL;
END $$;
DROP TRIGGER links_counted ON links;
DROP TRIGGER links_counted_over ON links;
CREATE TRIGGER links_counted_in AFTER INSERT ON links FOR EACH ROW
  WHEN (new.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE')) EXECUTE FUNCTION count_link();
CREATE TRIGGER links_counted_over AFTER UPDATE OF state ON links FOR EACH ROW
  WHEN (new.state <> old.state
    AND NOT (old.state IN ('SENDING', 'IN_DOUBT', 'LIVE') AND new.state IN ('SENDING', 'IN_DOUBT', 'LIVE')))
  EXECUTE FUNCTION count_link();
CREATE TRIGGER links_counted_out AFTER DELETE ON links FOR EACH ROW
  WHEN (old.state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE')) EXECUTE FUNCTION count_link();
