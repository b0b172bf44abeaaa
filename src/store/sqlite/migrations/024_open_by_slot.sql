-- The other index of open sales, `legacy_sales_holding`, begins with the merchant, too, and every sale on legacy wrote both.
DROP INDEX legacy_sales_until;
