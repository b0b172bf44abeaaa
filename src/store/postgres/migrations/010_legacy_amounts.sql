-- Reports sum what was sold on legacy too: the amount as the till wrote it, in decimal, and the final state that legacy showed. Null where
-- Puente does not know it, as for the rows until now.

ALTER TABLE legacy_sales ADD COLUMN amount byte_text;
ALTER TABLE legacy_sales ADD COLUMN end_state byte_text;
CREATE INDEX legacy_sales_by_merchant ON legacy_sales (merchant_id, created_at);
CREATE INDEX refunds_by_merchant ON refunds (merchant_id, created_at);
