-- Whether an event says what another says that nobody has read yet is asked for each one that comes: while the service is away
-- they are many. As much of the reference as others wrote is indexed.
CREATE INDEX events_unread ON events ((coalesce(order_id, '')), (left(coalesce(reference, ''), 200))) WHERE state = 'pending';
