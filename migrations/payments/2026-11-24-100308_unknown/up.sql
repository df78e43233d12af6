-- For the metrics: payments and refunds whose outcome is not known. A row leaves the index when its outcome is known.
CREATE INDEX payment_unknown ON payment (id) WHERE state = 'unknown';
CREATE INDEX refund_unknown ON refund (id) WHERE state = 'unknown';
