-- What a till wrote and shows a card number or a token is covered from here on (`cover`), and so is what stands there already.

DROP TRIGGER links_fixed;
UPDATE links SET client_reference = cover(client_reference), reference_sent = cover(reference_sent), held = cover(held),
  order_json = cover_order(order_json)
WHERE cover(client_reference) IS NOT client_reference OR cover(reference_sent) <> reference_sent OR cover(held) <> held
  OR cover_order(order_json) IS NOT order_json;
CREATE TRIGGER links_fixed BEFORE UPDATE OF
  legacy_id, merchant_id, lane, family, unit, slot, client_key, fingerprint, reference_sent, client_reference, held,
  amount_minor, merchant_order_id, sealed_notice_url, idempotency_key, tables_revision, boot_id, created_at ON links
BEGIN
  SELECT RAISE(ABORT, 'a fixed column of a link can not be changed');
END;
UPDATE legacy_sales SET client_reference = cover(client_reference)
WHERE cover(client_reference) IS NOT client_reference;
UPDATE notices SET body = cover(body) WHERE cover(body) <> body;
UPDATE events SET reference = cover(reference) WHERE cover(reference) IS NOT reference;
