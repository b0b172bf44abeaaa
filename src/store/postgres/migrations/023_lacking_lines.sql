-- Earlier builds stored a sale that was not approved exactly once without a line in the audit trail. Where there are sales, they are read
-- once, before the next verdict (`addLackingLines` in `src/ops/reconcile/mismatches.ts`).
INSERT INTO meta (name, value) SELECT 'lacks_lines', 'approvals' WHERE EXISTS (SELECT 1 FROM links);
