-- The newest line about a subject is read while the audit is locked: without its order the planner may read the audit backwards instead,
-- all of it for a new subject.

DROP INDEX audit_by_subject;
CREATE INDEX audit_by_subject ON audit (subject, sequence);
