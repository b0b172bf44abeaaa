-- With it PostgreSQL reads all open sales of a merchant for the one of a unit, when the statistics know of no backlog; the other index of
-- open sales, `legacy_sales_holding`, begins with the merchant, too.
DROP INDEX legacy_sales_until;
