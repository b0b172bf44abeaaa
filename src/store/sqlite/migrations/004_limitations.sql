-- Which numbered limitations a call met.

-- JSON list of their numbers, null when it is empty, as it is for every exchange of before.
ALTER TABLE exchanges ADD COLUMN limitations TEXT;
