-- Who takes leases, and when it was last heard of: what a process that died had taken is free long before its leases end.
-- A process of the version before is not listed, and its leases hold until they end.
CREATE TABLE lease_holders (
  name byte_text PRIMARY KEY,
  seen_at TIMESTAMPTZ NOT NULL,
  -- Since when it was heard of without a gap.
  since TIMESTAMPTZ NOT NULL
);
