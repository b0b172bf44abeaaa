-- Where the exchanges of an hour lie is written once a batch by the statement `place_exchanges`; for each row it was a fifth of what
-- the row took.
DROP TRIGGER exchanges_placed;
